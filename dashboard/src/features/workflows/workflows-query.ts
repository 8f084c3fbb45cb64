import type { Sterna } from '@sterna/sdk'
import { writeRange } from '../../list/filters.ts'
import type { ListRequest } from '../../list/list-search.ts'
import { pageOf } from '../../list/numbered-pages.ts'

type WorkflowsQuery = NonNullable<Parameters<Sterna['workflows']['list']>[0]>

const SORTS = ['name', 'createdAt', 'updatedAt'] as const

export const TRIGGER_WORDS = { EVENT: 'An event', SCHEDULE: 'A schedule', MANUAL: 'By request' } as const

const isTrigger = (value: string | undefined): value is keyof typeof TRIGGER_WORDS =>
  value !== undefined && Object.hasOwn(TRIGGER_WORDS, value)

/** The API pages by number: the number of the page is the cursor in the URL. */
export function workflowsQuery({ limit, cursor, q, sort, dir, filters: { status, trigger, failed } }: ListRequest): WorkflowsQuery {
  return {
    page: pageOf(cursor),
    pageSize: limit,
    sort: SORTS.find((each) => each === sort) ?? 'updatedAt',
    dir: dir ?? 'desc',
    ...((status === 'active' || status === 'disabled') && { status }),
    ...(isTrigger(trigger) && { triggerType: trigger }),
    ...((failed === 'true' || failed === 'false') && { failed }),
    ...(q && { search: q }),
  }
}

const COUNTED_STATUSES = { active: 'RUNNING,WAITING', finished: 'COMPLETED,EXITED', failed: 'FAILED' } as const
export type CountName = keyof typeof COUNTED_STATUSES | 'executions' | 'entered30Days'

/** The filters of the executions behind a count of the list of workflows. */
export function filtersOfCount(name: CountName, enteredSince: string): Record<string, string> {
  if (name === 'executions') return {}
  if (name === 'entered30Days') return { started: writeRange({ from: enteredSince })! }
  return { status: COUNTED_STATUSES[name] }
}
