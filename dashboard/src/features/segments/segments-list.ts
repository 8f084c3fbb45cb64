import type { Query, Result, Segment } from '@sterna/sdk'
import { readRange } from '../../list/filters.ts'
import type { ListRequest } from '../../list/list-search.ts'
import { pageOf } from '../../list/numbered-pages.ts'
import { listUses } from '../../projects/uses.ts'
import { ownValue } from '../../ui/form/own-value.ts'
import { formatCount } from '../../ui/text/count.tsx'

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
    .toSorted(ownValue(ORDERS, sort) ?? ORDERS.createdAt)
  if (dir === 'desc') rows.reverse()
  const page = pageOf(cursor)
  const hasMore = rows.length > page * limit
  return { data: rows.slice((page - 1) * limit, page * limit), total: rows.length, hasMore, cursor: hasMore ? String(page + 1) : null }
}

/** `2 campaigns, 1 workflow` */
export function usedBy(uses: Uses | undefined): string {
  return uses ? listUses(uses) : '–'
}

type Change = { type: 'entry' | 'exit'; text: string; label: string }

/** `+12` and `−3`; undefined if the segment is not tracked. */
export function recentChanges(uses: Uses | undefined): Change[] | undefined {
  if (uses?.entered == null || uses.left == null) return undefined
  const { entered, left } = uses
  return [
    { type: 'entry' as const, count: entered, text: `+${formatCount(entered)}`, label: `${formatCount(entered)} entered in 7 days` },
    { type: 'exit' as const, count: left, text: `−${formatCount(left)}`, label: `${formatCount(left)} left in 7 days` },
  ]
    .filter(({ count }) => count > 0)
    .map(({ count: _, ...change }) => change)
}

/** Entries and exits are counted by days: a time in the URL is its day. */
export function historyQuery({ limit, cursor, filters: { type, when } }: ListRequest): NonNullable<Query<'GET /segments/{id}/history'>> {
  const { from, to } = readRange(when)
  return {
    limit,
    ...((type === 'entry' || type === 'exit') && { type }),
    ...(from && { from: from.slice(0, 10) }),
    ...(to && { to: to.slice(0, 10) }),
    ...(cursor && { cursor }),
  }
}
