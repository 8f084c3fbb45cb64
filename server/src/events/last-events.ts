import { sql } from 'kysely'
import { type Db, many, prepared } from '../db/index.ts'
import { idTime } from '../lib/id.ts'

/** `humanOnly`: for `email.open` and `email.click`, leaves out those that a machine caused. */
export type EventQuery = { name: string; humanOnly: boolean }

type Question = { projectId: string; contactIds: string[]; events: EventQuery[] }
type Found = { contact: number; event: number; id: string }

/** Look-ups in one statement: each takes a probe of an index in every partition, and a statement may take 5 s. */
const MAX_LOOKUPS = 10_000

/** Reads when an event last happened for a contact, for many contacts and events. The time is that of the event's id. */
export async function readLastEvents(db: Db, { projectId, contactIds, events }: Question) {
  const last = new Map<string, Date>()
  for (const humanOnly of [false, true]) {
    const names = [...new Set(events.filter((event) => event.humanOnly === humanOnly).map(({ name }) => name))]
    const perStatement = Math.max(1, Math.floor(MAX_LOOKUPS / Math.max(1, names.length)))
    for (let start = 0; names.length && start < contactIds.length; start += perStatement) {
      const page = contactIds.slice(start, start + perStatement)
      const found = await many(db, lastEventsSql({ projectId, contactIds: page, names, humanOnly }))
      for (const { contact, event, id } of found) last.set(keyOf(page[contact - 1]!, { name: names[event - 1]!, humanOnly }), idTime(id))
    }
  }
  return (contactId: string, event: EventQuery): Date | undefined => last.get(keyOf(contactId, event))
}

const keyOf = (contactId: string, { name, humanOnly }: EventQuery) => `${contactId} ${humanOnly} ${name}`

/** SQL condition of human opens and clicks: that of the index `events_by_human`, word by word. */
export const CAUSED_BY_HUMAN = sql`name in ('email.open', 'email.click') and data ->> 'machine' is distinct from 'true'`

type LookUp = { projectId: string; contactIds: string[]; names: string[]; humanOnly: boolean }

/**
 * Each look-up reads the end of an index that has contact and name in front of the id, not the history of the contact. Planning for all
 * partitions takes longer than a look-up, so it is prepared.
 */
export const lastEventsSql = ({ projectId, contactIds, names, humanOnly }: LookUp) => sql<Found>`${prepared}
  select c.n::int as contact, e.n::int as event, last.id
  from unnest(${contactIds}::uuid[]) with ordinality as c(id, n)
  cross join unnest(${names}::text[]) with ordinality as e(name, n)
  cross join lateral (
    select id from events
    where project_id = ${projectId} and contact_id = c.id and name = e.name ${humanOnly ? sql`and ${CAUSED_BY_HUMAN}` : sql``}
    order by id desc limit 1
  ) as last
`
