import { type RawBuilder, sql } from 'kysely'
import { type Db, many } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'

/** Whether a recipient may get an email: one rule for requests, campaigns, workflows and sending, as a function and as SQL. */

export type EmailType = 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'

/** Emails of these types go to subscribers only. */
export const needsConsent = (type: EmailType) => type !== 'TRANSACTIONAL'

/** Reasons about the recipient, in the order in which they count. Reasons about us (project, domain, caps) come after all of them. */
const REASONS = ['contact_deleted', 'invalid', 'suppressed', 'unsubscribed', 'topic_unsubscribed'] as const

/** Topics do not exist yet; only their place in the order does. */
export type SkipReason = Exclude<(typeof REASONS)[number], 'topic_unsubscribed'>

type Holds<Truth> = { [Reason in (typeof REASONS)[number]]?: Truth | undefined }
const inOrder = (holds: Holds<unknown>) => REASONS.filter((reason): reason is SkipReason => Boolean(holds[reason]))

/** Facts about a recipient. A fact that is not given is not asked: suppression, for example, only when an email is sent. */
export type RecipientFacts = { hasContact?: boolean; invalid?: boolean; suppressed?: boolean; subscribed?: boolean }

/**
 * Why a recipient does not get an email; undefined if it does. A contact that bounced is suppressed and unsubscribed: suppression counts.
 * Without a type, because the content is gone, no consent is missing.
 */
export const verdict = ({ hasContact, invalid, suppressed, subscribed }: RecipientFacts, type: EmailType | undefined) =>
  inOrder({
    contact_deleted: hasContact === false,
    invalid,
    suppressed,
    unsubscribed: type && needsConsent(type) && subscribed === false,
  })[0]

/** The verdict on each row of `contacts`, which SUPPRESSION_JOINS follow; null if it gets the email. */
export function verdictSql(type: EmailType): RawBuilder<SkipReason | null> {
  const holds: Holds<RawBuilder<unknown>> = {
    invalid: isInvalidSql(sql`contacts.email`),
    suppressed: sql`by_address.address is not null or by_domain.address is not null`,
    unsubscribed: needsConsent(type) ? sql`not contacts.subscribed` : undefined,
  }
  const cases = inOrder(holds).map((reason) => sql`when ${holds[reason]} then ${sql.lit(reason)}`)
  return sql`(case ${sql.join(cases, sql` `)} end)`
}

export const maySendSql = (type: EmailType) => sql<boolean>`${verdictSql(type)} is null`

/** The entry that suppresses the domain of an address. */
const wholeDomainSql = (address: RawBuilder<unknown>) => sql`'@' || split_part(${address}, '@', 2)`

/**
 * Follows `from contacts`. Joined, so that the planner can hash the few suppressions of a project instead of looking up each contact. Those of whole
 * domains are a range of the index, in byte order, and mostly none.
 */
export const SUPPRESSION_JOINS = sql`
  left join suppressions by_address on by_address.project_id = contacts.project_id and by_address.address = contacts.email
  left join suppressions by_domain on by_domain.project_id = contacts.project_id and by_domain.address = ${wholeDomainSql(sql`contacts.email`)}
    and by_domain.address >= '@' and by_domain.address < 'A'`

/** Addresses are checked when they are stored; this finds those stored by other means. */
const isInvalidSql = (address: RawBuilder<unknown>) => sql`(${address} not like '_%@_%._%' or octet_length(${address}) > 254)`

/** Whether a row `s` of suppressions is of the address, or of its whole domain. */
export const suppressesSql = (address: RawBuilder<unknown>) => sql`s.address in (${address}, ${wholeDomainSql(address)})`

export const isSuppressedSql = (projectId: RawBuilder<unknown>, address: RawBuilder<unknown>) =>
  sql<boolean>`exists (select from suppressions s where s.project_id = ${projectId} and ${suppressesSql(address)})`

type AddressFacts = Required<Pick<RecipientFacts, 'invalid' | 'suppressed'>>

/** The columns of `AddressFacts`. */
export const addressFactsSql = (projectId: RawBuilder<unknown>, address: RawBuilder<unknown>) =>
  sql`${isInvalidSql(address)} as invalid, ${isSuppressedSql(projectId, address)} as suppressed`

/** Returns a lookup of the facts about addresses. */
export async function readAddressFacts(db: Db, projectId: string, addresses: string[]) {
  const given = [...new Set(addresses)]
  const rows = given.length ? await many(db, factsOfSql(projectId, given)) : []
  const found = new Map(rows.map(({ address, ...facts }) => [address, facts]))
  return (address: string) => found.get(address)!
}

const factsOfSql = (projectId: string, addresses: string[]) => sql<AddressFacts & { address: string }>`
  select address, ${addressFactsSql(sql`${projectId}::uuid`, sql`given.address`)} from unnest(${addresses}::text[]) as given(address)`

type Recipient = { projectId: string; email: string }

/** Returns a lookup of the recipients that are subscribed contacts. Takes no lock: the subscription is checked again on delivery. */
export async function findSubscribers(db: Db, recipients: Recipient[]) {
  const keyOf = ({ projectId, email }: Recipient) => `${projectId} ${email}`
  const rows = recipients.length ? await many(db, subscribersSql(recipients)) : []
  const found = new Set(rows.map(keyOf))
  return (recipient: Recipient) => found.has(keyOf(recipient))
}

const subscribersSql = (recipients: Recipient[]) => sql<Recipient>`
  select c.project_id as "projectId", c.email from contacts c
  join ${recordset('contacts', recipients, ['projectId', 'email'])} as r on c.project_id = r."projectId" and c.email = r.email
  where c.subscribed`
