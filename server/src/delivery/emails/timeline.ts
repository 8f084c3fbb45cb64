import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, maybeOne, one } from '../../db/index.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { lowestId } from '../../lib/id.ts'
import { HOUR } from '../../lib/text/units.ts'
import { HELD } from '../outbox/refusals/hold.ts'
import type { ShownEmail } from './email.ts'

export const TimelineEntry = z.object({ at: Timestamp, what: z.string(), details: z.record(z.string(), z.unknown()) })
type Entry = z.output<typeof TimelineEntry>

/** Longer timelines are cut. */
const MAX_EVENTS = 200
/** Events are read from the creation of the email on, which skips older partitions. Ids have the clock of the node that made them. */
const MAX_CLOCK_SKEW_MS = HOUR

/** The history of an email, in order of time: from its row and its events. The events of a deleted contact are deleted: the row has their facts. */
export async function timelineOf(db: Db, projectId: string, email: ShownEmail): Promise<Entry[]> {
  const ofContact = email.contactId === null ? sql`contact_id is null` : sql`contact_id = ${email.contactId}`
  const since = new Date(new Date(email.createdAt).getTime() - MAX_CLOCK_SKEW_MS)
  const recorded = await many<Entry>(db)`
    select created_at as at, name as what, data as details from events
    where project_id = ${projectId} and ${ofContact} and id >= ${lowestId(since)} and email_id = ${email.id}
    order by id limit ${MAX_EVENTS}
  `
  const delays = await delaysOf(db, projectId, email.id)
  const { status, error, sendAt, createdAt, updatedAt } = email
  const queuedAt = email.sourceType === 'INBOUND' ? null : createdAt
  const queued = sendAt ? entry('scheduled', queuedAt, { sendAt }) : entry('queued', queuedAt)
  const unknown = entry('outcome unknown', email.outcomeUnknownSince)
  const isDeferred = status === 'PENDING' && error
  const deferred = isDeferred ? entry('deferred', updatedAt, { reason: error, ...(await heldReplyOf(db, projectId, email)) }) : []
  const skipped = entry('skipped', status === 'SKIPPED' ? updatedAt : null, { reason: error })
  const facts = email.test ? factsOf(email) : email.contactId === null ? await factsWithoutContact(db, projectId, email, recorded) : []
  const all = [...queued, ...recorded, ...facts, ...delays, ...unknown, ...deferred, ...skipped]
  return all.map((each) => ({ ...each, at: new Date(each.at) })).sort((a, b) => a.at.getTime() - b.at.getTime())
}

/** The reply of a server whose meaning is being checked. */
async function heldReplyOf(db: Db, projectId: string, { id, errorCode }: ShownEmail) {
  if (errorCode !== HELD) return {}
  return maybeOne<{ reply: string }>(db)`select reply from held_refusals where project_id = ${projectId} and email_id = ${id}`
}

/** Facts from the row of an email. A test email has no events, and those of a deleted contact are gone. */
function factsOf({ sentAt, deliveredAt, bouncedAt, complainedAt, status, updatedAt, error }: ShownEmail): Entry[] {
  const reason = error === null ? {} : { reason: error }
  return [
    ...entry('email.sent', sentAt, { sentAt }),
    ...entry('email.delivery', deliveredAt, { deliveredAt }),
    ...entry('email.bounce', bouncedAt, { bounceType: 'Permanent', ...reason }),
    ...entry('email.complaint', complainedAt),
    ...entry('email.failed', status === 'FAILED' ? updatedAt : null, reason),
  ]
}

const entry = (what: string, at: Entry['at'] | null, details: Entry['details'] = {}): Entry[] =>
  at === null ? [] : [{ at, what, details }]

/** Facts whose events were deleted with the contact. Events since then are recorded without a contact. */
async function factsWithoutContact(db: Db, projectId: string, email: ShownEmail, recorded: Entry[]): Promise<Entry[]> {
  const kept = await readKept(db, projectId, email)
  const { createdAt, sourceType, opens, openedAt, clicks, clickedAt } = email
  const facts = [
    ...(sourceType === 'INBOUND' ? entry('email.received', createdAt) : factsOf(email)),
    ...entry('email.open', opens ? openedAt : null, { opens, machine: false }),
    ...entry('email.click', clicks ? clickedAt : null, { clicks, machine: false }),
    ...entry('email.open', kept.machineOpenedAt, { machine: true }),
    ...entry('email.click', kept.machineClickedAt, { machine: true }),
    ...entry('email.bounce', kept.softBouncedAt, { bounceType: 'Transient' }),
  ]
  const known = new Set(recorded.map(kindOf))
  return facts.filter((fact) => !known.has(kindOf(fact)))
}

/** Bounces, opens and clicks are of two kinds each. */
const kindOf = ({ what, details: { bounceType = null, machine = null } }: Entry) => `${what} ${bounceType} ${machine}`

/** Reads facts of an email that are kept beside its row. */
const readKept = (db: Db, projectId: string, { id, to }: ShownEmail) =>
  one<{ machineOpenedAt: Date | null; machineClickedAt: Date | null; softBouncedAt: Date | null }>(db)`
    select h.machine_opened_at as "machineOpenedAt", h.machine_clicked_at as "machineClickedAt", b.created_at as "softBouncedAt"
    from (select) as email
    left join email_hits h on h.project_id = ${projectId} and h.email_id = ${id}
    left join soft_bounces b on b.project_id = ${projectId} and b.address = ${to} and b.email_id = ${id}
  `

/** Reports that the provider keeps trying, each once, even if it was repeated. They change nothing, so they have no event. */
const delaysOf = (db: Db, projectId: string, emailId: string) => many<Entry>(db)`
  select coalesce((details ->> 'at')::timestamptz, min(received_at)) as at, 'delayed' as what, details - 'at' as details from provider_notifications
  where project_id = ${projectId} and email_id = ${emailId} and kind = 'DeliveryDelay' and error is null
  group by details order by 1 limit ${MAX_EVENTS}
`
