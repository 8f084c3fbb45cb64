import type { Result, Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { workflowExplanationQuery } from '../../../data/workflows.ts'
import { useProject } from '../../../projects/current.ts'
import { Card } from '../../../ui/page/card.tsx'
import { ErrorState } from '../../../ui/page/error-state.tsx'
import { Status } from '../../../ui/text/status.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { describeReason } from '../steps/describe.ts'

type Explanation = Result<'GET /workflows/{id}/explain/{contactId}'>

/** Why a person is in the workflow, or not. */
export function WhyInHere({ workflow, person }: { workflow: Workflow; person: string }) {
  const project = useProject()
  const query = useQuery(workflowExplanationQuery(project.id, workflow.id, person))
  if (query.isLoadingError) return <ErrorState title="Could not explain" error={query.error} retry={query.refetch} />
  const found = query.data
  return (
    <Card title={found?.isActive ? 'Why in here?' : 'Why not in here?'}>
      {found && (
        <div className="space-y-3 text-ui">
          <p>{found.message}</p>
          {found.triggeredAt && (
            <p className="text-muted">
              What starts it last happened <Time value={found.triggeredAt} />.
            </p>
          )}
          <History workflow={workflow} found={found} />
        </div>
      )}
    </Card>
  )
}

function History({ workflow, found }: { workflow: Workflow; found: Explanation }) {
  const project = useProject()
  return (
    <>
      {found.executions.length > 0 && (
        <ul className="divide-y divide-line border-line border-y">
          {found.executions.map(({ id, status, exitReason, startedAt }) => (
            <li key={id} className="flex items-center gap-3 py-1.5">
              <Link
                to="/app/p/$projectId/workflows/$workflowId/executions"
                params={{ projectId: project.id, workflowId: workflow.id }}
                search={{ peek: id }}
                className="min-w-0 flex-1 rounded-sm hover:text-accent hover:underline"
              >
                <Status kind="execution" status={status} />
                {exitReason && <span className="text-muted"> · {describeReason(exitReason)}</span>}
              </Link>
              <span className="shrink-0 text-muted text-xs">
                <Time value={startedAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {found.refusals.map(({ reason, hour, count }) => (
        <p key={`${reason} ${hour}`} className="text-muted">
          {count} {count === 1 ? 'start was' : 'starts were'} refused <Time value={hour} />: {describeReason(reason)}
        </p>
      ))}
    </>
  )
}
