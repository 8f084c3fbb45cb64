import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import { importErrorsQuery, isOver, jobQuery } from '../../../data/jobs.ts'
import { downloadFailedRows } from '../../../jobs/job-files.ts'
import { describeJobResult, hasFailures } from '../../../jobs/job-result.ts'
import { useProject } from '../../../projects/current.ts'
import { Progress } from '../../../ui/chart/progress.tsx'
import { Button, buttonClass } from '../../../ui/form/button.tsx'
import { Banner } from '../../../ui/notice/banner.tsx'
import { Card } from '../../../ui/page/card.tsx'
import { ErrorState } from '../../../ui/page/error-state.tsx'
import { Skeleton } from '../../../ui/page/skeleton.tsx'
import { Status } from '../../../ui/text/status.tsx'
import { RowTable } from './import-check.tsx'

/** An import that runs or is over. The page can be left and opened again: the server does the work. */
export function ImportResult({ jobId, segmentId }: { jobId: string; segmentId: string | undefined }) {
  const project = useProject()
  const query = useQuery(jobQuery(project.id, jobId))
  if (query.isPending) return <Skeleton className="h-32" />
  if (query.isLoadingError) return <ErrorState title="Could not load this import" error={query.error} retry={query.refetch} />
  const job = query.data
  return (
    <>
      <Card title={TITLES[job.state]}>
        <div className="space-y-3">
          <p role="status" className="text-ui">
            <Status kind="job" status={job.state} />
            {isOver(job) ? ` · ${describeJobResult(job)}` : ' · You can leave this page: the import goes on.'}
          </p>
          {!isOver(job) && <Progress value={job.progress} label="Import" />}
          {job.state === 'failed' && (
            <Banner tone="danger">{job.failedReason ?? 'The import failed.'} The rows before it were imported.</Banner>
          )}
          {isOver(job) && (
            <div className="flex flex-wrap gap-2">
              <Link
                to="/app/p/$projectId/contacts"
                params={{ projectId: project.id }}
                search={segmentId ? { segment: segmentId } : {}}
                className={buttonClass('primary')}
              >
                See the contacts
              </Link>
              <Link to="/app/p/$projectId/contacts/import" params={{ projectId: project.id }} className={buttonClass('secondary')}>
                Import another file
              </Link>
            </div>
          )}
        </div>
      </Card>
      {isOver(job) && hasFailures(job) && <FailedRows jobId={jobId} total={Number(job.result?.failureCount)} />}
    </>
  )
}

const TITLES = { waiting: 'Waiting', active: 'Importing', completed: 'Imported', failed: 'The import stopped' }

function FailedRows({ jobId, total }: { jobId: string; total: number }) {
  const project = useProject()
  const errors = useQuery(importErrorsQuery(project.id, jobId)).data
  return (
    <Card
      title="Failed rows"
      description="They were left out. The file has the number, the address and the reason of each."
      actions={
        <Button size="sm" onClick={() => downloadFailedRows({ id: jobId, projectId: project.id })}>
          <Download aria-hidden="true" />
          Download
        </Button>
      }
    >
      {errors ? <RowTable caption="Failed rows" rows={errors} total={total} /> : <Skeleton className="h-24" />}
    </Card>
  )
}
