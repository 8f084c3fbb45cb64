import type { Result, Segment } from '@sterna/sdk'
import type { ListRequest } from '../../list/list-search.ts'
import { pageOf } from '../../list/numbered-pages.ts'
import { listUses } from '../../projects/uses.ts'

export type Uses = Result<'GET /segments/usage'>['data'][number]
export type SegmentRow = Segment & { uses: Uses | undefined }

const usesCount = (uses: Uses | undefined): number => (uses ? uses.segmentCount + uses.campaignCount + uses.workflowCount : 0)

const ORDERS: Record<string, (a: SegmentRow, b: SegmentRow) => number> = {
  name: (a, b) => a.name.localeCompare(b.name),
  members: (a, b) => a.memberCount - b.memberCount,
  updatedAt: (a, b) => a.updatedAt.localeCompare(b.updatedAt),
  createdAt: (a, b) => a.createdAt.localeCompare(b.createdAt),
}

/** The API lists all segments at once, at most 1,000: this is the page that the URL asks for. */
export function pageOfSegments(all: SegmentRow[], { q, sort = 'createdAt', dir = 'desc', limit, cursor, filters }: ListRequest) {
  const wanted = q?.toLowerCase()
  const rows = all
    .filter(({ name, description }) => !wanted || `${name} ${description ?? ''}`.toLowerCase().includes(wanted))
    .filter(({ type }) => !filters.kind || type === filters.kind)
    .filter(({ trackMembership }) => !filters.tracked || String(trackMembership) === filters.tracked)
    .filter(({ uses }) => !filters.used || String(usesCount(uses) > 0) === filters.used)
    .toSorted(ORDERS[sort] ?? ORDERS.createdAt)
  if (dir === 'desc') rows.reverse()
  const page = pageOf(cursor)
  const hasMore = rows.length > page * limit
  return { data: rows.slice((page - 1) * limit, page * limit), total: rows.length, hasMore, cursor: hasMore ? String(page + 1) : null }
}

/** `2 campaigns, 1 workflow` */
export function usedBy(uses: Uses | undefined): string {
  return uses ? listUses(uses) : '–'
}

/** `+12 −3`; undefined if the segment is not tracked. */
export function changeOf(uses: Uses | undefined): string | undefined {
  if (uses?.entered == null || uses.left == null) return undefined
  return uses.entered + uses.left === 0
    ? 'No change'
    : [uses.entered > 0 && `+${uses.entered}`, uses.left > 0 && `−${uses.left}`].filter(Boolean).join(' ')
}
