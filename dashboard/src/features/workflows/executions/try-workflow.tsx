import type { Result, Workflow } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { simulationQuery, workflowExplanationQuery } from '../../../data/workflows.ts'
import { PersonPicker } from '../../../people/person-picker.tsx'
import { useProject } from '../../../projects/current.ts'
import { ListLink } from '../../../projects/record-page.tsx'
import { Card } from '../../../ui/page/card.tsx'
import { ErrorState } from '../../../ui/page/error-state.tsx'
import { PageHeader } from '../../../ui/page/page.tsx'
import { Status } from '../../../ui/text/status.tsx'
import { exactTime, Time } from '../../../ui/text/time.tsx'
import { describeReason } from '../editor/describe.ts'
import { STEP_VIEWS } from '../steps/views.ts'
import { WorkflowActions, WorkflowTabs } from '../workflow-header.tsx'
import { Json } from './execution-peek.tsx'
import { describeDuration } from './took.ts'

type Simulation = Result<'POST /workflows/{id}/simulate'>
type Explanation = Result<'GET /workflows/{id}/explain/{contactId}'>

/** The path of one person through the saved steps, and why the person is in the workflow or not. Nothing is sent. */
export function TryWorkflow({ workflow }: { workflow: Workflow }) {
  const { person } = useSearch({ from: '/app/p/$projectId/workflows/$workflowId/try' })
  const navigate = useNavigate()
  return (
    <>
      <PageHeader title={workflow.name} parent={<ListLink kind="Workflow" />} actions={<WorkflowActions workflow={workflow} />} />
      <WorkflowTabs id={workflow.id} />
      <div className="max-w-[1440px] space-y-4 px-4 py-6 sm:px-6 lg:px-8">
        <div className="flex flex-wrap items-center gap-3">
          <span className="text-ui">Try it as</span>
          <PersonPicker
            person={person}
            onPerson={(id) => navigate({ to: '.', search: (id ? { person: id } : {}) as never, replace: true, resetScroll: false })}
            placeholder="a subscribed sample person"
            canClear
          />
          <span className="text-muted text-ui">Nothing is sent or stored.</span>
        </div>
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,1fr)_24rem]">
          <Path workflow={workflow} person={person} />
          {person && <Why workflow={workflow} person={person} />}
        </div>
      </div>
    </>
  )
}

const ENDS: Record<Simulation['end'], string> = {
  COMPLETED: 'Finished, as there are no more steps',
  EXITED: 'Leaves the workflow',
  FAILED: 'Fails here',
  WAITING: 'Waits here',
}

function Path({ workflow, person }: { workflow: Workflow; person: string | undefined }) {
  const project = useProject()
  const eventName = workflow.triggerType === 'EVENT' ? String(workflow.triggerConfig.eventName) : ''
  const query = useQuery(simulationQuery(project.id, workflow, person, eventName))
  if (query.isLoadingError) return <ErrorState title="Could not try it" error={query.error} retry={query.refetch} />
  const simulation = query.data
  return (
    <Card
      title="The path"
      description={`Version ${workflow.version}, starting now. Every wait runs to its time limit, because no event arrives during a try.`}
    >
      {simulation && (
        <ol className="space-y-3" aria-label="Path">
          {simulation.path.map((item, index) => (
            // A loop comes to a step more than once.
            // biome-ignore lint/suspicious/noArrayIndexKey: the path is a sequence
            <PathStep key={index} item={item} begun={simulation.path[0]!.at} />
          ))}
          <li className="text-ui">
            <Status kind="execution" status={simulation.end}>
              {[ENDS[simulation.end], simulation.reason && describeReason(simulation.reason)].filter(Boolean).join(': ')}
            </Status>
          </li>
        </ol>
      )}
    </Card>
  )
}

function PathStep({ item, begun }: { item: Simulation['path'][number]; begun: string }) {
  const { Icon } = STEP_VIEWS[item.type]
  const after = Date.parse(item.at) - Date.parse(begun)
  const result = item.result as Record<string, unknown> | null
  return (
    <li className="flex gap-3">
      <Icon className="mt-0.5 size-4 shrink-0 text-muted" aria-hidden="true" />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-baseline gap-x-2 text-ui">
          <span className="font-medium">{item.name}</span>
          <time className="text-muted text-xs" dateTime={item.at} title={exactTime(item.at)}>
            {after < 1_000 ? 'at once' : `after ${describeDuration(after)}`}
          </time>
        </p>
        {item.branch && <p className="text-ui">Goes to “{item.branch}”.</p>}
        <StepResult type={item.type} result={result} />
      </div>
    </li>
  )
}

function StepResult({ type, result }: { type: Simulation['path'][number]['type']; result: Record<string, unknown> | null }) {
  const { Result } = STEP_VIEWS[type]
  if (!result) return null
  if (Result) return <Result result={result} />
  return (
    <details>
      <summary className="w-fit rounded-sm py-1 text-muted text-xs hover:text-ink">What it does</summary>
      <div className="mt-1">
        <Json value={result} />
      </div>
    </details>
  )
}

function Why({ workflow, person }: { workflow: Workflow; person: string }) {
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
