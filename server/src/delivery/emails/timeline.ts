import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, many } from '../../db/index.ts'
import { Timestamp } from '../../http/validate.ts'
import { lowestId } from '../../lib/id.ts'
import { HOUR } from '../../lib/units.ts'
import type { Email } from './email.ts'

export const TimelineEntry = z.object({ at: Timestamp, what: z.string(), details: z.record(z.string(), z.unknown()) })

/** Longer stories are cut; nobody reads so far. */
const MAX_EVENTS = 200
/** Older months need not be looked into; but an id has the time of the machine that made it. */
const MAX_CLOCK_SKEW_MS = HOUR

/** What happened to a mail, in order: from its row, and from the events that name it. */
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
  const told = events.map(({ at, what, details }) => ({ at: at.toISOString(), what, details }))
  const unknown = email.outcomeUnknownSince ? [{ at: email.outcomeUnknownSince, what: 'outcome unknown', details: {} }] : []
  const failing =
    email.status === 'PENDING' && email.error ? [{ at: email.updatedAt, what: 'deferred', details: { reason: email.error } }] : []
  const skipped = email.status === 'SKIPPED' ? [{ at: email.updatedAt, what: 'skipped', details: { reason: email.error } }] : []
  const queued = email.sourceType === 'INBOUND' ? [] : [{ at: email.createdAt, what: 'queued', details: {} }]
  const all = [...queued, ...told, ...delays, ...unknown, ...failing, ...skipped]
  return all.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
}

/** Told by the provider, perhaps twice: it has the mail and keeps trying. Nothing follows from it, so there is no event. */
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
