import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { recordset } from '../db/rows.ts'
import { newId } from '../lib/id.ts'
import { storeFactsCte, typeOfEventSql } from '../webhooks/facts.ts'
import { hasListenersSql, NOTIFY_REACTION } from './listen.ts'

/** `id`: given if the caller needs to know it in advance; its time decides the day that the event is counted for. */
export type NewEvent = { projectId: string; id?: string; name: string; contactId?: string | null; emailId?: string; data?: object }

/** Records any number of events in one statement, in the transaction that caused them. Returns their ids in order. */
export async function recordEvents(tx: Tx, events: NewEvent[]): Promise<string[]> {
  if (!events.length) return []
  const rows = events.map((event) => ({ ...event, id: event.id ?? newId() }))
  await prepared`
    with new_events as materialized (
      select "projectId" as project_id, id, name, "contactId" as contact_id, "emailId" as email_id, coalesce(data, '{}') as data
      from ${recordset('events', rows, ['projectId', 'id', 'name', 'contactId', 'emailId', 'data'])} as e
    ), ${recordEventsCte(sql`new_events`)}
    select
  `.execute(tx)
  return rows.map(({ id }) => id)
}

/**
 * CTEs that record events given as rows of (project_id, id, name, contact_id, email_id, data), their counts, reactions for listeners, and
 * facts for webhook endpoints. `contactEmail`: as in `storeFactsCte`.
 */
export const recordEventsCte = (events: RawBuilder<unknown>, facts: { contactEmail?: RawBuilder<unknown> } = {}) => sql`
    recorded as (
      insert into events (project_id, id, name, contact_id, email_id, data)
      select project_id, id, name, contact_id, email_id, data from ${events}
    ), counted_events as (
      insert into event_count_deltas (project_id, name, day, count)
      select project_id, name, id_day(id), count(*) from ${events} group by 1, 2, 3
    ), heard_events as materialized (
      -- Once per name: most requests of a batch record the same few events.
      select project_id, name, heard_topics(project_id, array['event:*', 'event:' || name]) as heard
      from (select distinct project_id, name from ${events}) as new where ${hasListenersSql(sql`new.project_id`)} offset 0
    ), reacted_to_events as (
      insert into reactions (project_id, id, contact_id, event_id, event_name, topics)
      select new.project_id, new.id, new.contact_id, new.id, new.name, heard
      from ${events} as new join heard_events as h on h.project_id = new.project_id and h.name = new.name
      where heard <> '{}'
      returning ${NOTIFY_REACTION}
    ), ${storeFactsCte('told', events, { ...facts, type: typeOfEventSql(sql`n.name`) })}`
