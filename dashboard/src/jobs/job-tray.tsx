import type { Job } from '@sterna/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { invalidateManyContacts } from '../data/contacts.ts'
import { activeJobsQuery, isOver, jobQuery } from '../data/jobs.ts'
import { useProject } from '../projects/current.ts'
import { Progress } from '../ui/chart/progress.tsx'
import { IconButton } from '../ui/form/button.tsx'
import { explain } from '../ui/notice/explain.ts'
import { Status } from '../ui/text/status.tsx'
import { downloadExport, downloadFailedRows, hasFile } from './job-files.ts'
import { describeJobResult, hasFailures, labelOf } from './job-result.ts'
import { dismissJob, type OwnJob, useOwnJobs } from './own-jobs.ts'

/** Running jobs of this project, and the results of jobs that were started in this browser, until they are dismissed. */
export function JobTray() {
  const project = useProject()
  const own = useOwnJobs(project.id)
  const active = useQuery(activeJobsQuery(project.id)).data ?? []
  const [hidden, setHidden] = useState<readonly string[]>([])
  const others = active.filter((job) => labelOf(job) && !own.some(({ id }) => id === job.id) && !hidden.includes(job.id))
  if (own.length + others.length === 0) return null
  function dismiss(id: string) {
    // A job that runs would come back with the next poll.
    setHidden([...hidden, id])
    dismissJob(project.id, id)
  }
  return (
    <section aria-label="Jobs" className="max-h-[30dvh] shrink-0 space-y-2 overflow-y-auto rounded-lg border border-line bg-surface p-2">
      {own.map((job) => (
        <OwnItem key={job.id} job={job} onDismiss={dismiss} />
      ))}
      {others.map((job) => (
        <TrayItem key={job.id} label={labelOf(job)!} job={job} error={null} onDismiss={() => dismiss(job.id)} />
      ))}
    </section>
  )
}

function OwnItem({ job: { id, label }, onDismiss }: { job: OwnJob; onDismiss: (id: string) => void }) {
  const project = useProject()
  const queries = useQueryClient()
  const query = useQuery(jobQuery(project.id, id))
  const isDone = isOver(query.data)
  useEffect(() => {
    if (isDone) void invalidateManyContacts(queries, project.id)
  }, [isDone, project.id, queries])
  return <TrayItem label={label} job={query.data} error={query.error} onDismiss={() => onDismiss(id)} />
}

type TrayItemProps = { label: string; job: Job | undefined; error: Error | null; onDismiss: () => void }

function TrayItem({ label, job, error, onDismiss }: TrayItemProps) {
  const project = useProject()
  return (
    <div className="space-y-1 text-xs">
      <div className="flex items-start gap-1">
        <p className="min-w-0 flex-1 wrap-break-word font-medium">{label}</p>
        <IconButton label={`Dismiss ${label}`} className="-my-1 size-6" onClick={onDismiss}>
          <X />
        </IconButton>
      </div>
      {error && <p className="text-danger">{explain(error)}</p>}
      {job && !isOver(job) && <Progress value={job.progress} label={label} />}
      <p role="status" className="text-muted">
        {job && <Status kind="job" status={job.state} />}
        {job && isOver(job) && <span className="block wrap-break-word">{describeJobResult(job)}</span>}
      </p>
      {job?.type === 'import' && isOver(job) && hasFailures(job) && (
        <button type="button" className="link" onClick={() => downloadFailedRows({ id: job.id, projectId: project.id })}>
          Download the failed rows
        </button>
      )}
      {job && job.state === 'completed' && hasFile(job.type) && (
        <button type="button" className="link" onClick={() => downloadExport({ id: job.id, projectId: project.id, type: job.type })}>
          Download the file
        </button>
      )}
    </div>
  )
}
