import { sql } from 'kysely'
import { type Db, many } from '../../db/index.ts'
import { given, prepared } from '../../db/prepared.ts'
import { fewRows, recordset } from '../../db/rows.ts'
import { findVerified, type SenderDomain } from '../../domains/verified.ts'
import { NIL_ID } from '../../lib/id.ts'
import { DAY } from '../../lib/text/units.ts'
import type { TrackingSetting } from '../message/links/tracking.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { Content, Contents } from '../outbox/contents/content.ts'
import { EXPIRES_AFTER_DAYS } from '../outbox/outcomes/ended.ts'
import type { EmailErrorCode } from '../outbox/outcomes/error-code.ts'
import type { ContactVariables } from '../outbox/own-variables.ts'
import { addressFactsSql, type RecipientFacts, verdict } from '../rules/may-send.ts'

/** An email that may be sent, with everything needed to build it. `address`: where it goes. */
export type Admitted = {
  email: ClaimedEmail
  address: string
  content: Content
  contact: ContactVariables
  signer: SenderDomain
  tracking: TrackingSetting
}
export type RefusedByGate = {
  email: ClaimedEmail
  address: string
  state: 'skipped' | 'failed' | 'deferred'
  error: EmailErrorCode
  waitSeconds?: number
}

type Facts = {
  projectId: string
  id: string
  disabled: boolean | null
  tracking: TrackingSetting
  /** The address of the contact, if the email follows it; else the address that it was given. */
  address: string
  invalid: boolean
  suppressed: boolean
  /** The address belongs to another contact by now, which is not subscribed. */
  heldByUnsubscribed: boolean
} & (ContactRow | { contactId: null })
/** A column each: making one JSON value of them takes PostgreSQL longer than reading them. */
type ContactRow = { contactId: string; contactEmail: string; subscribed: boolean; createdAt: Date; data: Record<string, unknown> }

const DISABLED_WAIT_SECONDS = 300
/** For emails of a campaign that were in hand when its domain lost its verification. The others are not claimed meanwhile. */
const UNVERIFIED_WAIT_SECONDS = 60

/**
 * Checks right before sending whether each email may leave: project, contact, suppression and domain may have changed since it was queued.
 * One query for all emails. A refused email gets the error code that the project will see.
 */
export async function passGate(db: Db, emails: ClaimedEmail[], findContents: Contents['find']) {
  const [contentOf, rows, testContactOf] = await Promise.all([findContents(emails), readFacts(db, emails), findTestContacts(db, emails)])
  const facts = new Map(rows.map((fact) => [fact.id, fact]))
  const signers = await findSigners(db, emails, contentOf)
  const admitted: Admitted[] = []
  const refused: RefusedByGate[] = []
  for (const email of emails) {
    const content = contentOf(email)
    const fact = facts.get(email.id)
    const seen = fact && email.test ? { ...fact, ...seenByTester(email, testContactOf(email)) } : fact
    const decision = judge(email, { content, facts: seen, signer: content && signers.get(content) })
    const address = fact?.address ?? email.toAddress
    if ('error' in decision) refused.push({ email, address, ...decision })
    else admitted.push({ email, address, ...decision })
  }
  return { admitted, refused }
}

/** An email of a campaign may have waited for its rate, or for a person. So its time starts with the first failure; `expire.ts` does the rest. */
function isExpired({ campaignId, createdAt, firstFailedAt }: ClaimedEmail) {
  const from = campaignId ? firstFailedAt : createdAt
  return from !== null && Date.now() - from.getTime() > EXPIRES_AFTER_DAYS * DAY
}

type Known = { content: Content | undefined; facts: Facts | undefined; signer: SenderDomain | undefined }
type Decision = Omit<Admitted, 'email' | 'address'> | Omit<RefusedByGate, 'email' | 'address'>

/** Reasons about the recipient come first: what is wrong with us may pass, and the email would still not be sent. */
function judge(email: ClaimedEmail, { content, facts, signer }: Known): Decision {
  const reason = facts && verdict(recipientFacts(email, facts), content?.type)
  if (reason) return { state: 'skipped', error: reason }
  if (isExpired(email)) return { state: 'failed', error: 'expired' }
  if (!content || !facts || facts.contactId === null || facts.disabled === null) return { state: 'skipped', error: 'project_deleted' }
  if (facts.disabled) return { state: 'deferred', error: 'project_disabled', waitSeconds: DISABLED_WAIT_SECONDS }
  if (!signer && email.campaignId !== null && !email.test)
    return { state: 'deferred', error: 'domain_not_verified', waitSeconds: UNVERIFIED_WAIT_SECONDS }
  if (!signer) return { state: 'failed', error: 'domain_not_verified' }
  const { contactId: id, contactEmail, subscribed, createdAt, data, tracking } = facts
  return { content, contact: { id, email: contactEmail, subscribed, createdAt: createdAt.toISOString(), data }, signer, tracking }
}

/** A test email needs no consent. */
const recipientFacts = ({ test }: ClaimedEmail, facts: Facts): RecipientFacts => ({
  hasContact: facts.contactId !== null,
  invalid: facts.invalid,
  suppressed: facts.suppressed,
  subscribed: test || (facts.contactId !== null && facts.subscribed && !facts.heldByUnsubscribed),
})

/** A test email is sent whether or not its recipient is a contact, and is not tracked. */
const seenByTester = ({ toAddress }: ClaimedEmail, contact: ContactRow | undefined): ContactRow & { tracking: TrackingSetting } => ({
  tracking: 'DISABLED',
  ...(contact ?? { contactId: NIL_ID, contactEmail: toAddress, subscribed: true, createdAt: new Date(), data: {} }),
})

/** The contacts with the addresses of test emails. */
async function findTestContacts(db: Db, emails: ClaimedEmail[]) {
  const tests = emails.filter(({ test }) => test)
  const rows = tests.length ? await many(db, testContactsSql(tests)) : []
  const found = new Map(rows.map(({ projectId, ...contact }) => [`${projectId} ${contact.contactEmail}`, contact]))
  return ({ projectId, toAddress }: ClaimedEmail) => found.get(`${projectId} ${toAddress}`)
}

const testContactsSql = (emails: ClaimedEmail[]) => sql<{ projectId: string } & ContactRow>`
  select c.project_id as "projectId", ${CONTACT_COLUMNS}
  from contacts c join unnest(${emails.map(({ projectId }) => projectId)}::uuid[], ${emails.map(({ toAddress }) => toAddress)}::text[]) as t(project, address)
    on c.project_id = t.project and c.email = t.address`

const CONTACT_COLUMNS = sql`c.id as "contactId", c.email as "contactEmail", c.subscribed, c.created_at as "createdAt", c.data`

/** An email that follows its contact goes to the address that the contact has now. */
const ADDRESS = sql`case when m."followsContact" and c.id is not null then c.email else m."toAddress" end`

type Asked = { emails: ReturnType<typeof keysOf>[]; count: number }
const asked = given<Asked>()

const FACTS = prepared<Facts, Asked>`
    select m."projectId", m.id, p.disabled, p.tracking, ${ADDRESS} as address,
      ${addressFactsSql(sql`m."projectId"`, ADDRESS)},
      not m."followsContact" and c.email <> m."toAddress" and exists (
        select from contacts o where o.project_id = m."projectId" and o.email = m."toAddress" and not o.subscribed) as "heldByUnsubscribed",
      ${CONTACT_COLUMNS}
    from ${fewRows(recordset('emails', asked.emails, ['projectId', 'id', 'contactId', 'toAddress', 'followsContact']), asked.count)} as m
    left join projects p on p.id = m."projectId" and p.deleted_at is null
    left join contacts c on c.project_id = m."projectId" and c.id = m."contactId"`

const readFacts = (db: Db, emails: ClaimedEmail[]) => many(db, FACTS.with({ emails: emails.map(keysOf), count: emails.length }))

/** An email whose refusal is held is sent again to the address that was refused: another one would prove nothing. */
const keysOf = ({ projectId, id, contactId, toAddress, followsContact, wasHeld }: ClaimedEmail) => ({
  projectId,
  id,
  contactId,
  toAddress,
  followsContact: followsContact && !wasHeld,
})

async function findSigners(db: Db, emails: ClaimedEmail[], contentOf: (email: ClaimedEmail) => Content | undefined) {
  const contents = [...new Set(emails.flatMap((email) => contentOf(email) ?? []))]
  const senderOf = ({ projectId, fromAddress }: Content) => ({ projectId, address: fromAddress })
  const domainOf = await findVerified(db, contents.map(senderOf))
  return new Map(contents.map((content) => [content, domainOf(senderOf(content))]))
}
