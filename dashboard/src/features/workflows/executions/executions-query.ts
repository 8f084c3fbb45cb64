import type { Sterna, WorkflowVisit } from '@sterna/sdk'
import { readChoices, readRange } from '../../../list/filters.ts'
import type { ListRequest } from '../../../list/list-search.ts'
import { pageOf } from '../../../list/numbered-pages.ts'

type ExecutionsQuery = NonNullable<Parameters<Sterna['workflows']['listExecutions']>[1]>

type ExecutionStatus = NonNullable<ExecutionsQuery['status']>[number]

export const EXECUTION_WORDS: Record<ExecutionStatus, string> = {
  RUNNING: 'Running',
  WAITING: 'Waiting',
  COMPLETED: 'Finished',
  EXITED: 'Left early',
  FAILED: 'Failed',
  CANCELLED: 'Cancelled',
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const isStatus = (value: string): value is ExecutionStatus => Object.hasOwn(EXECUTION_WORDS, value)

/** The API pages by number: the number of the page is the cursor in the URL. `contactId` is that of the person whose address is in the filter. */
export function executionsQuery(
  { limit, cursor, filters: { status, step, started } }: ListRequest,
  contactId: string | undefined,
): ExecutionsQuery {
  const known = readChoices(status).filter(isStatus)
  const { from, to } = readRange(started)
  return {
    page: pageOf(cursor),
    pageSize: limit,
    ...(known.length > 0 && { status: known }),
    ...(step && UUID.test(step) && { stepId: step }),
    ...(contactId && { contactId }),
    ...(from && { startedFrom: from }),
    ...(to && { startedTo: to }),
  }
}

type VisitsQuery = NonNullable<Parameters<Sterna['workflows']['stepVisits']>[2]>
type Visit = Pick<WorkflowVisit, 'status' | 'outcome'>

export const VISIT_WORDS: Record<Visit['outcome'], string> = {
  waiting: 'Here now',
  completed: 'Done',
  skipped: 'Skipped',
  failed: 'Failed',
  cancelled: 'Cancelled',
}
const isOutcome = (value: string): value is Visit['outcome'] => Object.hasOwn(VISIT_WORDS, value)

export function visitsQuery({ limit, cursor, filters: { outcome, next } }: ListRequest): VisitsQuery {
  const known = readChoices(outcome).filter(isOutcome)
  return {
    limit,
    ...(known.length > 0 && { outcome: known }),
    ...(next && UUID.test(next) && { nextStepId: next }),
    ...(cursor && { cursor }),
  }
}

/** A visit that ended with its execution has the status of a skipped one. */
export const statusOfVisit = ({ status, outcome }: Visit) => (outcome === 'cancelled' ? 'CANCELLED' : status)

type CancelFilter = NonNullable<Parameters<Sterna['workflows']['cancelAllExecutions']>[1]>

/** The filter for cancelling the executions that match the filters; undefined if none of them can be active. */
export function cancelFilter(filters: ListRequest['filters'], contactId: string | undefined): CancelFilter | undefined {
  const { status, page: _, pageSize: __, ...others } = executionsQuery({ limit: 1, filters }, contactId)
  const active = (['RUNNING', 'WAITING'] as const).filter((each) => !status || status.includes(each))
  if (active.length === 0) return undefined
  return { ...others, ...(active.length === 1 && { status: active[0] }) }
}
