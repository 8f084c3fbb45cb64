import { sql } from 'kysely'
import { type Db, many } from '../db/index.ts'
import { idTime } from '../lib/id.ts'

/** `humanOnly`: for `email.open` and `email.click`, leaves out those that a machine caused. */
export type EventQuery = { name: string; humanOnly: boolean }

type Question = { projectId: string; contactIds: string[]; events: EventQuery[] }
type Found = { contact: number; event: number; id: string }

/** Look-ups in one statement: each takes a few probes of an index, and a statement may take 5 s. */
const MAX_LOOKUPS = 10_000

/** Reads when an event last happened for a contact, for many contacts and events. The time is that of the event's id. */
export async function readLastEvents(db: Db, { projectId, contactIds, events }: Question) {
  const last = new Map<string, Date>()
  const perStatement = Math.max(1, Math.floor(MAX_LOOKUPS / Math.max(1, events.length)))
  for (let start = 0; events.length && start < contactIds.length; start += perStatement) {
    const page = contactIds.slice(start, start + perStatement)
    for (const { contact, event, id } of await many(db, lastEventsSql({ projectId, contactIds: page, events })))
      last.set(nameOf(page[contact - 1]!, events[event - 1]!), idTime(id))
  }
  return (contactId: string, event: EventQuery): Date | undefined => last.get(nameOf(contactId, event))
}

const nameOf = (contactId: string, { name, humanOnly }: EventQuery) => `${contactId} ${humanOnly} ${name}`

/** SQL condition of human opens and clicks: that of the index `events_by_human`, word by word. */
export const CAUSED_BY_HUMAN = sql`name in ('email.open', 'email.click') and data ->> 'machine' is distinct from 'true'`

/** Each look-up reads the end of an index that has contact and name in front of the id, not the history of the contact. */
export const lastEventsSql = ({ projectId, contactIds, events }: Question) => sql<Found>`
  with wanted as materialized (
    select c.id as contact_id, c.n::int as contact, e.name, e.n::int as event, e."humanOnly" as human_only
    from unnest(${contactIds}::uuid[]) with ordinality as c(id, n)
    cross join rows from (jsonb_to_recordset(${JSON.stringify(events)}::jsonb) as (name text, "humanOnly" boolean))
      with ordinality as e(name, "humanOnly", n)
  )
  select contact, event, last.id from wanted cross join lateral (
    select id from events
    where project_id = ${projectId} and contact_id = wanted.contact_id and name = wanted.name
    order by id desc limit 1
  ) as last where not human_only
  union all
  select contact, event, last.id from wanted cross join lateral (
    select id from events
    where project_id = ${projectId} and contact_id = wanted.contact_id and name = wanted.name and ${CAUSED_BY_HUMAN}
    order by id desc limit 1
  ) as last where human_only
`
