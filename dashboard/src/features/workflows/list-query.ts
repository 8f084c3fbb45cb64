import type { Sterna } from '@sterna/sdk'
import type { ListRequest } from '../../list/list-search.ts'

type WorkflowsQuery = NonNullable<Parameters<Sterna['workflows']['list']>[0]>
type ExecutionsQuery = NonNullable<Parameters<Sterna['workflows']['listExecutions']>[1]>

export const EXECUTION_WORDS: Record<NonNullable<ExecutionsQuery['status']>, string> = {
  RUNNING: 'Running',
  WAITING: 'Waiting',
  COMPLETED: 'Finished',
  EXITED: 'Left early',
  FAILED: 'Failed',
  CANCELLED: 'Cancelled',
}

const SORTS = ['name', 'createdAt', 'updatedAt'] as const
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Anyone can edit a URL: what is no page number is the first page. */
const pageOf = (cursor: string | undefined) => (cursor && /^[1-9]\d{0,5}$/.test(cursor) ? Number(cursor) : 1)

/** The API pages by number: the number of the page is the cursor in the URL. */
export function workflowsQuery({ limit, cursor, q, sort, dir, filters: { status } }: ListRequest): WorkflowsQuery {
  return {
    page: pageOf(cursor),
    pageSize: limit,
    sort: SORTS.find((each) => each === sort) ?? 'updatedAt',
    dir: dir ?? 'desc',
    ...((status === 'active' || status === 'disabled') && { status }),
    ...(q && { search: q }),
  }
}

/** `contactId` is that of the person whose address is in the filter. */
export function executionsQuery({ limit, cursor, filters: { status, step } }: ListRequest, contactId: string | undefined): ExecutionsQuery {
  const known = (Object.keys(EXECUTION_WORDS) as (keyof typeof EXECUTION_WORDS)[]).find((each) => each === status)
  return {
    page: pageOf(cursor),
    pageSize: limit,
    ...(known && { status: known }),
    ...(step && UUID.test(step) && { stepId: step }),
    ...(contactId && { contactId }),
  }
}

type NumberedPage<Row> = { data: Row[]; total: number; page: number; totalPages: number }

export function toCursorPage<Row>({ data, total, page, totalPages }: NumberedPage<Row>) {
  const hasMore = page < totalPages
  return { data, total, hasMore, cursor: hasMore ? String(page + 1) : null }
}
