import type { Sterna, Suppression } from '@sterna/sdk'
import type { ListRequest } from '../../list/list-search.ts'

type Query = NonNullable<Parameters<Sterna['suppressions']['list']>[0]>

export const REASONS: Record<Suppression['reason'], string> = { BOUNCE: 'Bounce', COMPLAINT: 'Complaint', MANUAL: 'By hand' }

const isReason = (value: string | undefined): value is Suppression['reason'] => value !== undefined && Object.hasOwn(REASONS, value)

/** The filters of the URL as the API takes them. */
export const suppressionsQuery = ({ q, limit, cursor, filters: { reason } }: ListRequest): Query => ({
  limit,
  ...(cursor && { cursor }),
  ...(q && { q }),
  ...(isReason(reason) && { reason }),
})

export const nameOf = ({ address, domain }: Pick<Suppression, 'address' | 'domain'>) => address ?? domain ?? ''
