import type { Sterna, Suppression } from '@sterna/sdk'
import type { ListRequest } from '../../list/list-search.ts'

type Query = NonNullable<Parameters<Sterna['suppressions']['list']>[0]>

export const REASONS: Record<Suppression['reason'], string> = { BOUNCE: 'Bounce', COMPLAINT: 'Complaint', MANUAL: 'By hand' }

const isReason = (value: string | undefined): value is Suppression['reason'] => value !== undefined && Object.hasOwn(REASONS, value)

export const suppressionsQuery = ({ limit, cursor, ...request }: ListRequest): Query => ({
  limit,
  ...(cursor && { cursor }),
  ...suppressionFilter(request),
})

/** The filters of the URL as the API takes them. */
export const suppressionFilter = ({ q, filters: { reason } }: Pick<ListRequest, 'q' | 'filters'>) => ({
  ...(q && { q }),
  ...(isReason(reason) && { reason }),
})

export const suppressionName = ({ address, domain }: Pick<Suppression, 'address' | 'domain'>) => address ?? domain ?? ''
