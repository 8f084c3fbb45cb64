import type { Workflow, WorkflowVisit } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleOff, Footprints } from 'lucide-react'
import { workflowStatsQuery } from '../../../data/workflows.ts'
import type { Filter } from '../../../list/filters.ts'
import { ListPage } from '../../../list/list-page.tsx'
import { useList } from '../../../list/use-list.ts'
import { useProject } from '../../../projects/current.ts'
import { buttonClass } from '../../../ui/form/button.tsx'
import { namesById } from '../../../ui/form/options.ts'
import { EmptyState } from '../../../ui/page/empty-state.tsx'
import { FirstRun } from '../../../ui/page/first-run.tsx'
import { Page } from '../../../ui/page/page.tsx'
import type { Column } from '../../../ui/table/data-table.tsx'
import { curl } from '../../../ui/text/curl.ts'
import { Status } from '../../../ui/text/status.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { describeReason } from '../steps/describe.ts'
import { WorkflowActions, WorkflowTabs } from '../workflow/workflow-header.tsx'
import { ExecutionPeek } from './execution-peek.tsx'
import { statusOfVisit, VISIT_WORDS, visitsQuery } from './executions-query.ts'
import { tookOf } from './took.ts'

const NOUN = { one: 'visit', many: 'visits' }
const LIVE_MS = 10_000
const filtersOf = ({ steps }: Workflow): Filter[] => [
  { name: 'outcome', label: 'Outcome', kind: 'choices', options: VISIT_WORDS },
  { name: 'next', label: 'Went on to', kind: 'choice', options: namesById(steps) },
]

/** With the execution in front, which the panel shows also if the visit is on another page. */
const rowId = ({ executionId, visit }: WorkflowVisit) => `${executionId}.${visit}`
const executionOf = (id: string) => id.split('.')[0]!
const nameOf = ({ contact }: WorkflowVisit) => contact?.email ?? 'Deleted contact'

const COLUMNS: Column<WorkflowVisit>[] = [
  { id: 'contact', heading: 'Contact', cell: (row) => <span title={nameOf(row)}>{nameOf(row)}</span> },
  { id: 'outcome', heading: 'Outcome', width: 'w-32', cell: (row) => <Status kind="stepExecution" status={statusOfVisit(row)} /> },
  {
    id: 'reason',
    heading: 'Reason',
    width: 'w-64',
    from: 'lg',
    cell: ({ reason }) => (reason ? <span title={reason}>{describeReason(reason)}</span> : <None />),
  },
  { id: 'startedAt', heading: 'Reached', width: 'w-28', cell: ({ startedAt }) => <Time value={startedAt} /> },
  { id: 'took', heading: 'Took', width: 'w-24', numeric: true, from: 'lg', cell: (row) => tookOf(row) ?? <None /> },
  { id: 'visit', heading: 'Visit', width: 'w-20', numeric: true, from: 'xl', optional: true, cell: ({ visit }) => visit },
]

function None() {
  return <span className="text-muted">–</span>
}

type VisitsProps = { workflow: Workflow; step: Pick<Workflow['steps'][number], 'id' | 'name'> }

/** Each time that a contact came to a step: the list behind the numbers of the step. */
export function Visits({ workflow, step }: VisitsProps) {
  const list = useList<WorkflowVisit>({
    name: 'visits',
    scope: `${workflow.id} ${step.id}`,
    filters: filtersOf(workflow),
    load: (api, request) => api.workflows.stepVisits(workflow.id, step.id, visitsQuery(request)),
    rowId,
    live: LIVE_MS,
  })
  return (
    <ListPage
      title={step.name}
      parent={<WorkflowLink workflow={workflow} />}
      noun={NOUN}
      list={list}
      columns={COLUMNS}
      rowLabel={nameOf}
      peek={(id) => <ExecutionPeek key={id} workflow={workflow} id={executionOf(id)} />}
      byTime
      actions={<WorkflowActions workflow={workflow} />}
      call={curl('GET', `/workflows/${workflow.id}/steps/${step.id}/visits`)}
      above={
        <>
          <WorkflowTabs id={workflow.id} />
          {list.request.filters.next !== undefined && <KeptOnly workflow={workflow} />}
        </>
      }
      firstRun={
        <FirstRun icon={Footprints} title="No contact has reached this step yet">
          Each visit appears here, with its outcome.
        </FirstRun>
      }
    />
  )
}

/** The number on an arrow counts everyone so far; the list behind it cannot. */
function KeptOnly({ workflow }: { workflow: Workflow }) {
  const project = useProject()
  const stats = useQuery(workflowStatsQuery(project.id, workflow.id)).data
  if (!stats || stats.started <= stats.executions) return null
  return (
    <p className="border-line border-b px-4 py-2 text-muted text-ui sm:px-6 lg:px-8">
      Ended executions are deleted by age. The number on the arrow also counts those; this list does not have them.
    </p>
  )
}

/** The step was removed from the workflow. */
export function NoSuchStep({ workflow }: { workflow: Workflow }) {
  const project = useProject()
  return (
    <Page title="Step" parent={<WorkflowLink workflow={workflow} />}>
      <EmptyState
        icon={CircleOff}
        title="No such step"
        action={
          <Link
            to="/app/p/$projectId/workflows/$workflowId"
            params={{ projectId: project.id, workflowId: workflow.id }}
            className={buttonClass('primary')}
          >
            All steps
          </Link>
        }
      >
        It was removed, or the link is wrong.
      </EmptyState>
    </Page>
  )
}

function WorkflowLink({ workflow }: { workflow: Pick<Workflow, 'id' | 'name'> }) {
  const project = useProject()
  return (
    <Link
      to="/app/p/$projectId/workflows/$workflowId"
      params={{ projectId: project.id, workflowId: workflow.id }}
      className="inline-block max-w-[9ch] truncate rounded-sm align-bottom hover:text-ink hover:underline sm:max-w-[32ch]"
      title={workflow.name}
    >
      {workflow.name}
    </Link>
  )
}
