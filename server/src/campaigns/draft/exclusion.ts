import { type RawBuilder, sql } from 'kysely'
import type { EmailType } from '../../delivery/outbox/enqueue.ts'
import { isInvalidSql, needsConsent } from '../../delivery/outbox/sending-rules.ts'

export const EXCLUSION_REASONS = ['unsubscribed', 'suppressed', 'invalid'] as const
export type ExclusionReason = (typeof EXCLUSION_REASONS)[number]

/** Follows `from contacts`. Joined, so that the planner can hash the few suppressions of a project instead of looking up each contact. */
export const SUPPRESSION_JOINS = sql`
  left join suppressions by_address on by_address.project_id = contacts.project_id and by_address.address = contacts.email
  left join suppressions by_domain
    on by_domain.project_id = contacts.project_id and by_domain.address = '@' || split_part(contacts.email, '@', 2)`

/**
 * Why a contact may not get the email; null if it may. A suppressed contact is often unsubscribed as well: suppression counts, as it does
 * when an email is claimed.
 */
export const exclusionSql = (type: EmailType): RawBuilder<ExclusionReason | null> => sql`case
  when ${isInvalidSql(sql`contacts.email`)} then 'invalid'
  when by_address.address is not null or by_domain.address is not null then 'suppressed'
  ${needsConsent(type) ? sql`when not contacts.subscribed then 'unsubscribed'` : sql``}
  end`
