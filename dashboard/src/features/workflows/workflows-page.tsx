import type { WorkflowItem } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Workflow as WorkflowIcon } from 'lucide-react'
import { useState } from 'react'
import { segmentNamesQuery } from '../../data/segments.ts'
import type { Filter } from '../../list/filters.ts'
import { ListPage } from '../../list/list-page.tsx'
import { toCursorPage } from '../../list/numbered-pages.ts'
import { useList } from '../../list/use-list.ts'
import { useProject } from '../../projects/current.ts'
import { FirstRun } from '../../ui/page/first-run.tsx'
import type { Column } from '../../ui/table/data-table.tsx'
import { Count, formatCount } from '../../ui/text/count.tsx'
import { curl } from '../../ui/text/curl.ts'
import { Status } from '../../ui/text/status.tsx'
import { Time } from '../../ui/text/time.tsx'
import { NewWorkflow } from './new-workflow.tsx'
import { describeTrigger } from './steps/describe.ts'
import { DeleteWorkflow, WorkflowMenu } from './workflow/workflow-menu.tsx'
import { type CountName, filtersOfCount, TRIGGER_WORDS, workflowsQuery } from './workflows-query.ts'

const NOUN = { one: 'workflow', many: 'workflows' }
const FILTERS: Filter[] = [
  { name: 'status', label: 'On or off', kind: 'choice', options: { active: 'On', disabled: 'Off' } },
  { name: 'trigger', label: 'Starts', kind: 'choice', options: TRIGGER_WORDS },
  { name: 'failed', label: 'Failures', kind: 'choice', options: { true: 'Some executions failed', false: 'No execution failed' } },
]
const LIVE_MS = 30_000
const rowId = ({ id }: WorkflowItem) => id

type CountColumn = { id: CountName; heading: string; width: string; from: 'md' | 'lg' | 'xl'; optional?: boolean }

/** A number of executions opens them. */
const countColumn = (projectId: string, { id: name, ...column }: CountColumn): Column<WorkflowItem> => ({
  id: name,
  ...column,
  numeric: true,
  cell: ({ id, enteredSince, _count }) => (
    <Link
      to="/app/p/$projectId/workflows/$workflowId/executions"
      params={{ projectId, workflowId: id }}
      search={filtersOfCount(name, enteredSince)}
      aria-label={`${formatCount(_count[name])} ${LABELS[name]}`}
      className={`relative z-10 rounded-sm hover:underline hover:underline-offset-4 ${name === 'failed' && _count.failed > 0 ? 'text-danger' : 'hover:text-accent'}`}
    >
      <Count value={_count[name]} />
    </Link>
  ),
})
const LABELS: Record<CountName, string> = {
  active: 'in it now',
  entered30Days: 'entered in 30 days',
  finished: 'finished',
  failed: 'failed',
  executions: 'executions',
}

const columnsOf = (projectId: string, segments: Record<string, string>): Column<WorkflowItem>[] => [
  { id: 'name', heading: 'Name', sort: 'name', cell: ({ name }) => <span title={name}>{name}</span> },
  {
    id: 'enabled',
    heading: 'Status',
    width: 'w-24',
    cell: ({ enabled }) => <Status kind="workflow" status={enabled ? 'enabled' : 'disabled'} />,
  },
  {
    id: 'trigger',
    heading: 'Starts',
    width: 'sm:w-[24%]',
    cell: (workflow) => {
      const words = describeTrigger(workflow, segments)
      return <span title={words}>{words}</span>
    },
  },
  countColumn(projectId, { id: 'active', heading: 'Active', width: 'w-24', from: 'md' }),
  countColumn(projectId, { id: 'entered30Days', heading: 'In 30 days', width: 'w-24', from: 'lg' }),
  countColumn(projectId, { id: 'finished', heading: 'Finished', width: 'w-24', from: 'xl' }),
  countColumn(projectId, { id: 'failed', heading: 'Failed', width: 'w-20', from: 'md' }),
  countColumn(projectId, { id: 'executions', heading: 'Executions', width: 'w-28', from: 'xl', optional: true }),
  {
    id: 'steps',
    heading: 'Steps',
    width: 'w-20',
    from: 'lg',
    numeric: true,
    optional: true,
    cell: ({ _count }) => <Count value={_count.steps - 1} />,
  },
  {
    id: 'updatedAt',
    heading: 'Last edited',
    sort: 'updatedAt',
    firstDir: 'desc',
    width: 'w-32',
    from: 'sm',
    cell: ({ updatedAt }) => <Time value={updatedAt} />,
  },
  {
    id: 'createdAt',
    heading: 'Created',
    sort: 'createdAt',
    firstDir: 'desc',
    width: 'w-32',
    from: 'lg',
    optional: true,
    cell: ({ createdAt }) => <Time value={createdAt} />,
  },
]

export function WorkflowsPage() {
  const project = useProject()
  const [deleting, setDeleting] = useState<WorkflowItem>()
  const segments = useQuery(segmentNamesQuery(project.id)).data ?? {}
  const list = useList<WorkflowItem>({
    name: 'workflows',
    filters: FILTERS,
    load: async (api, request) => toCursorPage(await api.workflows.list(workflowsQuery(request))),
    rowId,
    live: LIVE_MS,
  })
  return (
    <>
      <ListPage
        title="Workflows"
        noun={NOUN}
        list={list}
        columns={columnsOf(project.id, segments)}
        rowLabel={({ name }) => name}
        rowPath={({ id }) => `/app/p/${project.id}/workflows/${id}`}
        rowMenu={(workflow) => <WorkflowMenu workflow={workflow} onDelete={() => setDeleting(workflow)} />}
        searchHint="Search by name"
        defaultSort={{ sort: 'updatedAt', dir: 'desc' }}
        byTime={list.request.sort !== 'name'}
        actions={<NewWorkflow />}
        call={curl('GET', `/workflows?pageSize=${list.request.limit}`)}
        firstRun={
          <FirstRun
            icon={WorkflowIcon}
            title="No workflows yet"
            action={<NewWorkflow label="Build your first workflow" />}
            call={{ title: 'Or by the API', code: curl('POST', '/workflows', { body: { name: 'Welcome', eventName: 'signup' } }) }}
          >
            When something happens: do this, wait, then that. A workflow starts for a person with an event, by a schedule or by hand, and
            sends nothing until you turn it on.
          </FirstRun>
        }
      />
      {deleting && <DeleteWorkflow workflow={deleting} onClose={() => setDeleting(undefined)} />}
    </>
  )
}
