import type { Workflow, WorkflowExecutionDetails } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { executionQuery } from '../../../data/workflows.ts'
import { ContactLink } from '../../../people/contact-link.tsx'
import { useProject } from '../../../projects/current.ts'
import { Fact, Facts } from '../../../ui/dialog/peek-panel.tsx'
import { ErrorState } from '../../../ui/page/error-state.tsx'
import { CopyText } from '../../../ui/text/copy-field.tsx'
import { Status } from '../../../ui/text/status.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { describeReason } from '../steps/describe.ts'
import { STEP_VIEWS } from '../steps/views.ts'
import { statusOfVisit } from './executions-query.ts'
import { tookOf } from './took.ts'

type StepExecution = WorkflowExecutionDetails['stepExecutions'][number]

/** One execution: its contact, its state, and each step with input, output, error and times. */
export function ExecutionPeek({ workflow, id }: { workflow: Workflow; id: string }) {
  const project = useProject()
  const query = useQuery(executionQuery(project.id, workflow.id, id))
  if (query.isLoadingError) return <ErrorState title="Could not load this execution" error={query.error} retry={query.refetch} />
  const execution = query.data
  if (!execution) return null
  return (
    <div className="space-y-4">
      <ExecutionFacts execution={execution} workflow={workflow} />
      <section aria-labelledby="visited" className="border-line border-t pt-4">
        <h3 id="visited" className="mb-2 font-semibold text-sm">
          Steps
        </h3>
        <ol className="space-y-3">
          {execution.stepExecutions.map((step) => (
            <VisitedStep key={step.id} visited={step} />
          ))}
        </ol>
        {execution.stepExecutions.length === 0 && <p className="text-muted text-ui">It has just begun.</p>}
      </section>
    </div>
  )
}

function ExecutionFacts({ execution, workflow }: { execution: WorkflowExecutionDetails; workflow: Workflow }) {
  const project = useProject()
  const took = tookOf(execution)
  const event = execution.event as { name?: string } | null
  return (
    <Facts>
      <Fact label="Contact">
        <ContactLink contact={execution.contact} />
      </Fact>
      <Fact label="Status">
        <Status kind="execution" status={execution.status} />
        {execution.exitReason && <span className="text-muted">, because {describeReason(execution.exitReason)}</span>}
      </Fact>
      {execution.currentStep && (execution.dueAt || execution.awaits) && (
        <Fact label="Waits">
          at {execution.currentStep.name}
          {execution.awaits && ` for ${execution.awaits}`}
          {execution.dueAt && (
            <>
              , until <Time value={execution.dueAt} />
            </>
          )}
        </Fact>
      )}
      <Fact label="Started">
        <Time value={execution.startedAt} />
        <span className="text-muted">
          {event?.name ? ` by ${event.name}` : ' by request or schedule'}
          {took && ` · took ${took}`}
        </span>
      </Fact>
      <Fact label="Version">
        {execution.version}
        {execution.version !== workflow.version && <span className="text-muted"> of {workflow.version}</span>}
      </Fact>
      {Object.keys(execution.context).length > 0 && (
        <Fact label="Variables">
          <Json value={execution.context} />
        </Fact>
      )}
      <Fact label="Id">
        <CopyText value={execution.id} label="Id" mono />
      </Fact>
      {execution.contact && (
        <Fact label="Why">
          <Link
            to="/app/p/$projectId/workflows/$workflowId/try"
            params={{ projectId: project.id, workflowId: workflow.id }}
            search={{ person: execution.contact.id }}
            className="link"
          >
            Why is this contact in here?
          </Link>
        </Fact>
      )}
    </Facts>
  )
}

function VisitedStep({ visited }: { visited: StepExecution }) {
  const project = useProject()
  const { Icon } = STEP_VIEWS[visited.step?.type ?? 'EXIT']
  const took = tookOf(visited)
  return (
    <li className="rounded-lg border border-line p-3">
      <p className="flex items-center gap-2 text-ui">
        <Icon className="size-4 shrink-0 text-muted" aria-hidden="true" />
        <span className="min-w-0 flex-1 truncate font-medium">{visited.step?.name ?? 'Removed step'}</span>
        <Status kind="stepExecution" status={statusOfVisit(visited)} />
      </p>
      <p className="mt-1 text-muted text-xs">
        <Time value={visited.startedAt} />
        {took && ` · took ${took}`}
        {!visited.completedAt && visited.scheduledFor && (
          <>
            {' '}
            · until <Time value={visited.scheduledFor} />
          </>
        )}
      </p>
      {visited.error && <p className="mt-1 text-danger text-ui">{describeReason(visited.error)}</p>}
      {visited.emailId && (
        <Link
          to="/app/p/$projectId/emails/$emailId"
          params={{ projectId: project.id, emailId: visited.emailId }}
          className="link mt-1 inline-block text-ui"
        >
          Open the email
        </Link>
      )}
      <Part title="Input" value={visited.input} />
      <Part title="Output" value={visited.output} />
    </li>
  )
}

const isEmpty = (value: unknown) =>
  value === null || value === undefined || (typeof value === 'object' && Object.keys(value as object).length === 0)

function Part({ title, value }: { title: string; value: unknown }) {
  if (isEmpty(value)) return null
  return (
    <details className="mt-1">
      <summary className="w-fit rounded-sm py-1 text-muted text-xs hover:text-ink">{title}</summary>
      <div className="mt-1">
        <Json value={value} />
      </div>
    </details>
  )
}

/** Data of a customer, as text. */
export function Json({ value }: { value: unknown }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
    <pre className="max-h-60 overflow-auto rounded-md bg-sunken p-2 font-mono text-code" tabIndex={0}>
      {JSON.stringify(value, null, 2)}
    </pre>
  )
}
