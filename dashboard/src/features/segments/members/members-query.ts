import type { Query } from '@sterna/sdk'
import type { ListRequest } from '../../../list/list-search.ts'

type MembersQuery = NonNullable<Query<'GET /contacts'>>

export function segmentMembersRequest(
  segmentId: string,
  { q, sort, dir, filters: { subscribed } }: Omit<ListRequest, 'limit'>,
): MembersQuery {
  return {
    segmentId,
    ...(q && { search: q }),
    ...(sort && { sort }),
    ...(dir && { dir }),
    ...((subscribed === 'true' || subscribed === 'false') && { subscribed }),
  }
}
