import type { Campaign, Query } from '@sterna/sdk'
import { readRange } from '../../list/filters.ts'
import type { ListRequest } from '../../list/list-search.ts'
import { pageOf } from '../../list/numbered-pages.ts'

/** The tabs of the list. */
export const STATUS_TABS = { DRAFT: 'Drafts', SCHEDULED: 'Scheduled', SENDING: 'Sending', SENT: 'Sent', CANCELLED: 'Cancelled' } as const

const isStatus = (value: string | undefined): value is Campaign['status'] => value !== undefined && Object.hasOwn(STATUS_TABS, value)

export function campaignsQuery({
  limit,
  cursor,
  q,
  sort,
  dir,
  filters: { status, segment, date },
}: ListRequest): NonNullable<Query<'GET /campaigns'>> {
  const { from, to } = readRange(date)
  return {
    page: pageOf(cursor),
    pageSize: limit,
    sort: sort ?? 'createdAt',
    dir: dir ?? 'desc',
    ...(isStatus(status) && { status }),
    ...(segment && { segmentId: segment }),
    ...(from && { dateFrom: from }),
    ...(to && { dateTo: to }),
    ...(q && { search: q }),
  }
}
