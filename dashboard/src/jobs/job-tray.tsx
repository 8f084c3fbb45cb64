import { useQuery, useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useEffect } from 'react'
import { apiOf, projectKey } from '../api.ts'
import { useProject } from '../projects/current.ts'
import { IconButton } from '../ui/button.tsx'
import { explain } from '../ui/explain.ts'
import { Progress } from '../ui/progress.tsx'
import { saveFile } from '../ui/save-file.ts'
import { Status } from '../ui/status.tsx'
import { toast } from '../ui/toast.tsx'
import { describeResult, hasFailures, isOver } from './job-result.ts'
import { dismissJob, type TrackedJob, useTrackedJobs } from './tracked-jobs.ts'

const POLL_MS = 2_000

/** Imports and bulk jobs of this project, while they run and until they are dismissed. */
export function JobTray() {
  const project = useProject()
  const jobs = useTrackedJobs().filter(({ projectId }) => projectId === project.id)
  if (jobs.length === 0) return null
  return (
    <section
      aria-label="Jobs"
      className="max-h-[40dvh] space-y-2 overflow-y-auto rounded-lg border border-line bg-surface p-2 shadow-float"
    >
      {jobs.map((job) => (
        <TrayItem key={job.id} job={job} />
      ))}
    </section>
  )
}

async function downloadFailedRows({ id, projectId }: TrackedJob) {
  try {
    const file = await apiOf(projectId).contacts.importErrors(id)
    saveFile(await file.blob(), file.filename ?? 'failed-rows.csv')
  } catch (error) {
    toast(explain(error), { tone: 'danger' })
  }
}

const jobQuery = ({ id, projectId, kind }: TrackedJob) => ({
  queryKey: projectKey(projectId, 'jobs', id),
  queryFn: () => (kind === 'import' ? apiOf(projectId).contacts.importStatus(id) : apiOf(projectId).contacts.bulkStatus(id)),
})

function TrayItem({ job }: { job: TrackedJob }) {
  const queries = useQueryClient()
  const query = useQuery({
    ...jobQuery(job),
    refetchInterval: ({ state }) => (isOver(state.data) || state.status === 'error' ? false : POLL_MS),
    staleTime: 0,
  })
  const isDone = isOver(query.data)
  useEffect(() => {
    if (!isDone) return
    void queries.invalidateQueries({ queryKey: projectKey(job.projectId, 'contacts') })
    void queries.invalidateQueries({ queryKey: projectKey(job.projectId, 'fields') })
  }, [isDone, job.projectId, queries])

  return (
    <div className="space-y-1 text-xs">
      <div className="flex items-start gap-1">
        <p className="min-w-0 flex-1 wrap-break-word font-medium">{job.label}</p>
        <IconButton label={`Dismiss ${job.label}`} className="-my-1 size-6" onClick={() => dismissJob(job.id)}>
          <X />
        </IconButton>
      </div>
      {query.isError && <p className="text-danger">{explain(query.error)}</p>}
      {query.data && !isDone && <Progress value={query.data.progress} label={job.label} />}
      <p role="status" className="text-muted">
        {query.data && <Status kind="job" status={query.data.state} />}
        {isDone && <span className="block wrap-break-word">{describeResult(query.data!)}</span>}
      </p>
      {job.kind === 'import' && isDone && hasFailures(query.data!) && (
        <button type="button" className="link" onClick={() => downloadFailedRows(job)}>
          Download the failed rows
        </button>
      )}
    </div>
  )
}
