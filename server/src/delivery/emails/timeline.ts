import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, maybeOne } from '../../db/index.ts'
import { Timestamp } from '../../http/validate.ts'
import { lowestId } from '../../lib/id.ts'
import { HOUR } from '../../lib/units.ts'
import { HELD } from '../outbox/hold.ts'
import type { Email } from './email.ts'

export const TimelineEntry = z.object({ at: Timestamp, what: z.string(), details: z.record(z.string(), z.unknown()) })

/** Longer timelines are cut. */
const MAX_EVENTS = 200
/** Events are read from the creation of the email on, which skips older partitions. Ids have the clock of the node that made them. */
const MAX_CLOCK_SKEW_MS = HOUR

/** What happened to an email, in order of time: from its row and its events. */
export async function timelineOf(db: Db, projectId: string, email: z.output<typeof Email>): Promise<z.output<typeof TimelineEntry>[]> {
  const ofContact = email.contactId === null ? sql`contact_id is null` : sql`contact_id = ${email.contactId}`
  const since = new Date(Date.parse(email.createdAt) - MAX_CLOCK_SKEW_MS)
  const events = await many(
    db,
    sql<{ at: Date; what: string; details: Record<string, unknown> }>`
      select created_at as at, name as what, data as details from events
      where project_id = ${projectId} and ${ofContact} and id >= ${lowestId(since)} and email_id = ${email.id}
      order by id limit ${MAX_EVENTS}
    `,
  )
  const delays = await delaysOf(db, projectId, email.id)
  const recorded = events.map(({ at, what, details }) => ({ at: at.toISOString(), what, details }))
  const unknown = email.outcomeUnknownSince ? [{ at: email.outcomeUnknownSince, what: 'outcome unknown', details: {} }] : []
  const deferred =
    email.status === 'PENDING' && email.error
      ? [{ at: email.updatedAt, what: 'deferred', details: { reason: email.error, ...(await heldReplyOf(db, projectId, email)) } }]
      : []
  const skipped = email.status === 'SKIPPED' ? [{ at: email.updatedAt, what: 'skipped', details: { reason: email.error } }] : []
  const queued = email.sourceType === 'INBOUND' ? [] : [{ at: email.createdAt, what: 'queued', details: {} }]
  const all = [...queued, ...recorded, ...(email.test ? factsOf(email) : []), ...delays, ...unknown, ...deferred, ...skipped]
  return all.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
}

/** The reply of a server whose meaning is being checked. */
async function heldReplyOf(db: Db, projectId: string, { id, errorCode }: z.output<typeof Email>) {
  if (errorCode !== HELD) return {}
  return maybeOne(db, sql<{ reply: string }>`select reply from held_refusals where project_id = ${projectId} and email_id = ${id}`)
}

/** A test email has no events: its facts are in its row. */
function factsOf({ sentAt, deliveredAt, bouncedAt, complainedAt, status, updatedAt, error }: z.output<typeof Email>) {
  const times = { 'email.sent': sentAt, 'email.delivery': deliveredAt, 'email.bounce': bouncedAt, 'email.complaint': complainedAt }
  const facts = Object.entries(times).flatMap(([what, at]) => (at ? [{ at, what, details: {} }] : []))
  return status === 'FAILED' ? [...facts, { at: updatedAt, what: 'email.failed', details: { reason: error } }] : facts
}

/** Reports that the provider keeps trying, each once, even if it was repeated. They change nothing, so they have no event. */
async function delaysOf(db: Db, projectId: string, emailId: string) {
  const rows = await many(
    db,
    sql<{ at: Date; details: Record<string, unknown> }>`
      select coalesce((details ->> 'at')::timestamptz, min(received_at)) as at, details - 'at' as details from provider_notifications
      where project_id = ${projectId} and email_id = ${emailId} and kind = 'DeliveryDelay' and error is null
      group by details order by 1 limit ${MAX_EVENTS}
    `,
  )
  return rows.map(({ at, details }) => ({ at: at.toISOString(), what: 'delayed', details }))
}
