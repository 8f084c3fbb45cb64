import { type RawBuilder, sql } from 'kysely'
import { type Db, many } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { recordset } from '../db/rows.ts'
import { lowestId, NIL_ID } from '../lib/id.ts'
import { HOUR } from '../lib/text/units.ts'
import { CAUSED_BY_HUMAN } from './last-events.ts'

/** A place in the order of events: by time, then by id. Without an event it is before all events of that time. */
export type EventPosition = { at: string; eventId: string | null }

/** `before`: null without an end. */
type FirstEventQuery = { contactId: string; name: string; after: EventPosition; before: Date | null }
export type FirstEvent = { id: string; name: string; data: Record<string, unknown>; createdAt: string; position: EventPosition }

/** A time as text, to the microsecond: a `Date` would lose the order of events within a millisecond. */
export const exactTime = (column: RawBuilder<unknown>) => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** SQL condition: opens and clicks by machines neither start nor continue anything. */
export const COUNTS_FOR_WORKFLOWS = sql`(name not in ('email.open', 'email.click') or ${CAUSED_BY_HUMAN})`

/** Events are ordered by the clock of the database; their ids have the time of the node that made them. */
const MAX_CLOCK_SKEW_MS = HOUR
const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** Reads the first event of a name after a position, for many contacts. Returns the answers in order; undefined: there is none. */
export async function readFirstEvents(db: Db, projectId: string, queries: FirstEventQuery[]): Promise<(FirstEvent | undefined)[]> {
  if (!queries.length) return []
  const rows = await many(db, firstEventsSql(projectId, queries))
  const found = new Map(
    rows.map(({ n, at, createdAt, ...event }): [number, FirstEvent] => [
      n,
      { ...event, createdAt: createdAt.toISOString(), position: { at, eventId: event.id } },
    ]),
  )
  return queries.map((_, index) => found.get(index + 1))
}

type Row = { n: number; id: string; name: string; data: Record<string, unknown>; createdAt: Date; at: string }

/**
 * Each look-up reads a range of the index that has contact and name in front of the id. The range of ids is wider than that of times, by what
 * clocks may differ. Prepared, and with JSON, as in last-events.ts. The project is a column: of a constant project that is newer than the
 * statistics, the planner would expect one event, and might read all events of the contact.
 */
export const firstEventsSql = (projectId: string, queries: FirstEventQuery[]) => {
  const lookUps = queries.map(({ contactId, name, after, before }, index) => ({
    n: index + 1,
    projectId,
    contactId,
    name,
    at: after.at,
    eventId: after.eventId ?? NIL_ID,
    before,
    lowest: lowestId(new Date(Math.max(0, Date.parse(after.at) - MAX_CLOCK_SKEW_MS))),
    highest: before ? lowestId(new Date(before.getTime() + MAX_CLOCK_SKEW_MS)) : HIGHEST_ID,
  }))
  return prepared<Row>`
    select w.n, first.id, first.name, first.data, first.created_at as "createdAt", ${exactTime(sql`first.created_at`)} as at
    from ${recordset('events', lookUps, ['projectId', 'contactId', 'name'], { n: 'int', at: 'timestamptz', eventId: 'uuid', before: 'timestamptz', lowest: 'uuid', highest: 'uuid' })} as w
    cross join lateral (
      select id, name, data, created_at from events
      where project_id = w."projectId" and contact_id = w."contactId" and name = w.name and id >= w.lowest and id <= w.highest
        and (created_at, id) > (w.at, w."eventId") and (w.before is null or created_at < w.before)
        and ${COUNTS_FOR_WORKFLOWS}
      order by created_at, id limit 1
    ) as first
  `
}
