import type { Workflow, WorkflowExecutionItem } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Users } from 'lucide-react'
import { useState } from 'react'
import { meQuery } from '../../../data/account.ts'
import { invalidateExecutions } from '../../../data/workflows.ts'
import type { Filter } from '../../../list/filters.ts'
import { ListPage } from '../../../list/list-page.tsx'
import { toCursorPage } from '../../../list/numbered-pages.ts'
import { useList } from '../../../list/use-list.ts'
import { findByAddress } from '../../../people/people.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { ListLink } from '../../../projects/record-page.tsx'
import { Confirm } from '../../../ui/dialog/dialog.tsx'
import { MenuItem } from '../../../ui/dialog/menu.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import { FirstRun } from '../../../ui/page/first-run.tsx'
import type { Column } from '../../../ui/table/data-table.tsx'
import { countOf } from '../../../ui/text/count.tsx'
import { curl } from '../../../ui/text/curl.ts'
import { Status } from '../../../ui/text/status.tsx'
import { Time } from '../../../ui/text/time.tsx'
import { describeReason } from '../steps/describe.ts'
import { TurnOnOff } from '../workflow/turn-on.tsx'
import { WorkflowActions, WorkflowTabs } from '../workflow/workflow-header.tsx'
import { ExecutionPeek } from './execution-peek.tsx'
import { cancelFilter, EXECUTION_WORDS, executionsQuery } from './executions-query.ts'
import { StartExecution } from './start-execution.tsx'
import { tookOf } from './took.ts'

const NOUN = { one: 'execution', many: 'executions' }
const LIVE_MS = 10_000
/** The server counts up to here. */
const EXACT_UP_TO = 10_000
const rowId = ({ id }: WorkflowExecutionItem) => id
const isActive = ({ status }: Pick<WorkflowExecutionItem, 'status'>) => status === 'RUNNING' || status === 'WAITING'

const COLUMNS: Column<WorkflowExecutionItem>[] = [
  { id: 'contact', heading: 'Contact', cell: ({ contact }) => <span title={contact?.email}>{contact?.email ?? 'Deleted contact'}</span> },
  { id: 'status', heading: 'Status', width: 'w-32', cell: ({ status }) => <Status kind="execution" status={status} /> },
  {
    id: 'step',
    heading: 'Step',
    width: 'sm:w-[22%]',
    cell: ({ currentStep }) => (currentStep ? <span title={currentStep.name}>{currentStep.name}</span> : <None />),
  },
  {
    id: 'reason',
    heading: 'Reason',
    width: 'w-44',
    from: 'xl',
    cell: ({ exitReason }) => (exitReason ? <span title={exitReason}>{describeReason(exitReason)}</span> : <None />),
  },
  { id: 'waits', heading: 'Waits for', width: 'w-36', from: 'xl', cell: (row) => <Waits {...row} /> },
  { id: 'startedAt', heading: 'Started', width: 'w-28', cell: ({ startedAt }) => <Time value={startedAt} /> },
  { id: 'took', heading: 'Took', width: 'w-24', numeric: true, from: 'lg', cell: (row) => tookOf(row) ?? <None /> },
  { id: 'version', heading: 'Version', width: 'w-20', numeric: true, from: 'xl', optional: true, cell: ({ version }) => version },
]

/** An event, a time, or an event until a time. */
function Waits({ awaits, dueAt }: Pick<WorkflowExecutionItem, 'awaits' | 'dueAt'>) {
  if (!awaits && !dueAt) return <None />
  return (
    <>
      {awaits && <span title={awaits}>{awaits}</span>}
      {awaits && dueAt && ' until '}
      {dueAt && <Time value={dueAt} />}
    </>
  )
}

function None() {
  return <span className="text-muted">–</span>
}

/** Executions of one workflow, with each step of the one that is peeked at. */
export function Executions({ workflow }: { workflow: Workflow }) {
  const [cancelling, setCancelling] = useState<{ one?: WorkflowExecutionItem }>()
  const steps = Object.fromEntries(workflow.steps.map(({ id, name }) => [id, name]))
  const filters: Filter[] = [
    { name: 'status', label: 'Status', kind: 'choices', options: EXECUTION_WORDS },
    { name: 'step', label: 'Step', kind: 'choice', options: steps },
    { name: 'person', label: 'Contact', kind: 'text', hint: 'ada@example.com' },
    { name: 'started', label: 'Started', kind: 'range' },
  ]
  const list = useList<WorkflowExecutionItem>({
    name: 'executions',
    scope: workflow.id,
    filters,
    load: async (api, request) => {
      const { person } = request.filters
      const found = person ? await findByAddress(api, person) : undefined
      if (person && !found) return { data: [], total: 0, hasMore: false, cursor: null }
      return toCursorPage(await api.workflows.listExecutions(workflow.id, executionsQuery(request, found?.id)))
    },
    rowId,
    live: LIVE_MS,
    isEstimate: (total) => total >= EXACT_UP_TO,
  })
  return (
    <>
      <ListPage
        title={workflow.name}
        parent={<ListLink kind="Workflow" />}
        noun={NOUN}
        list={list}
        columns={COLUMNS}
        rowLabel={({ contact }) => contact?.email ?? 'Deleted contact'}
        peek={(id) => <ExecutionPeek key={id} workflow={workflow} id={id} />}
        rowMenu={(row) => (
          <MenuItem disabled={!isActive(row)} onSelect={() => setCancelling({ one: row })}>
            {isActive(row) ? 'Cancel…' : 'It has ended'}
          </MenuItem>
        )}
        byTime
        actions={
          <>
            <Button size="sm" onClick={() => setCancelling({})} className="max-sm:hidden">
              {list.isFiltered ? 'Cancel those that match…' : 'Cancel all…'}
            </Button>
            <WorkflowActions workflow={workflow} />
            <StartExecution workflow={workflow} />
          </>
        }
        call={curl('GET', `/workflows/${workflow.id}/executions`)}
        above={<WorkflowTabs id={workflow.id} />}
        firstRun={
          <FirstRun
            icon={Users}
            title="No executions yet"
            action={<FirstEntry workflow={workflow} />}
            call={{
              title: 'Or by the API',
              code: curl('POST', `/workflows/${workflow.id}/executions`, { body: { contactId: '<id of a contact>' } }),
            }}
          >
            Every contact that enters shows up here, with each step, what it did and when.
          </FirstRun>
        }
      />
      {cancelling && (
        <CancelExecutions
          workflow={workflow}
          one={cancelling.one}
          filters={list.request.filters}
          isFiltered={list.isFiltered}
          onClose={() => setCancelling(undefined)}
        />
      )}
    </>
  )
}

/** The button of the empty list: the event for the user's own address, or a start by hand. */
function FirstEntry({ workflow }: { workflow: Workflow }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const me = useQuery(meQuery).data
  const eventName = workflow.triggerType === 'EVENT' ? String(workflow.triggerConfig.eventName) : undefined
  const track = useMutation({
    mutationFn: () => api.events.record({ email: me!.email, event: eventName! }),
    onSuccess: async () => {
      toast(`${eventName} was tracked for ${me!.email}`)
      await invalidateExecutions(queries, project.id)
    },
    onError: (error) => toast(explain(error), { tone: 'danger' }),
  })
  if (!workflow.enabled) return <TurnOnOff workflow={workflow} />
  if (!eventName || !me) return <StartExecution workflow={workflow} />
  return (
    <Button variant="primary" size="sm" busy={track.isPending} onClick={() => track.mutate()}>
      Track {eventName} for {me.email}
    </Button>
  )
}

type CancelProps = {
  workflow: Workflow
  one: WorkflowExecutionItem | undefined
  filters: Record<string, string>
  isFiltered: boolean
  onClose: () => void
}

const CANCELLED = { one: 'execution was cancelled', many: 'executions were cancelled' }

/** Cancels one execution, or all active ones that match the filters. */
function CancelExecutions({ workflow, one, filters, isFiltered, onClose }: CancelProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  async function cancel() {
    if (one) await api.workflows.cancelExecution(workflow.id, one.id)
    const { cancelled } = one ? { cancelled: 1 } : await cancelMatching()
    await invalidateExecutions(queries, project.id)
    toast(countOf(cancelled, CANCELLED))
  }
  async function cancelMatching() {
    const { person } = filters
    const found = person ? await findByAddress(api, person) : undefined
    if (person && !found) return { cancelled: 0 }
    const which = cancelFilter(filters, found?.id)
    return which ? api.workflows.cancelAllExecutions(workflow.id, which) : { cancelled: 0 }
  }
  const whom = one ? (one.contact?.email ?? 'this execution') : isFiltered ? 'all that match the filters' : 'all executions'
  return (
    <Confirm
      title={`Cancel ${whom}?`}
      description="They stop where they are. Emails that are already queued are sent."
      action={one ? 'Cancel the execution' : 'Cancel the executions'}
      onConfirm={cancel}
      open
      onOpenChange={(open) => !open && onClose()}
    />
  )
}
