import { sql } from 'kysely'
import { type Db, many } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { recordset } from '../db/rows.ts'
import { idTime } from '../lib/id.ts'

/** `humanOnly`: for `email.open` and `email.click`, leaves out those that a machine caused. */
export type EventQuery = { name: string; humanOnly: boolean }

type Question = { projectId: string; contactIds: string[]; eventsFor: (contactId: string) => EventQuery[] }
type LookUp = { contactId: string; name: string }
type Found = { n: number; id: string }

/** In one statement: each look-up probes an index in every partition, and a statement may take 5 s. */
const MAX_LOOKUPS = 5_000

/** For this many event names or more, all events of a contact are read, if it has at most SHORT_HISTORY: that takes as long as one or two look-ups. */
const MANY_NAMES = 4
const SHORT_HISTORY = 20

/** Reads when an event last happened for a contact, for many contacts and events. The time is that of the event's id. */
export async function readLastEvents(db: Db, { projectId, contactIds, eventsFor }: Question) {
  const last = new Map<string, Date>()
  for (const humanOnly of [false, true]) {
    const asked = contactIds.map((contactId) => ({ contactId, names: namesOf(eventsFor(contactId), humanOnly) }))
    const withMany = humanOnly ? [] : asked.filter(({ names }) => names.length >= MANY_NAMES)
    const histories = await readShortHistories(db, {
      projectId,
      contactIds: withMany.map(({ contactId }) => contactId),
      names: [...new Set(withMany.flatMap(({ names }) => names))],
    })
    for (const { contactId, ids } of histories)
      for (const [name, id] of Object.entries(ids)) last.set(keyOf(contactId, { name, humanOnly }), idTime(id))
    const known = new Set(histories.map(({ contactId }) => contactId))
    const lookUps = asked.flatMap(({ contactId, names }) => (known.has(contactId) ? [] : names.map((name) => ({ contactId, name }))))
    for (let start = 0; start < lookUps.length; start += MAX_LOOKUPS) {
      const page = lookUps.slice(start, start + MAX_LOOKUPS)
      for (const { n, id } of await many(db, lastEventsSql(projectId, page, { humanOnly }))) {
        const { contactId, name } = page[n - 1]!
        last.set(keyOf(contactId, { name, humanOnly }), idTime(id))
      }
    }
  }
  return (contactId: string, event: EventQuery): Date | undefined => last.get(keyOf(contactId, event))
}

const namesOf = (events: EventQuery[], humanOnly: boolean) => [
  ...new Set(events.flatMap((event) => (event.humanOnly === humanOnly ? event.name : []))),
]

type Histories = { projectId: string; contactIds: string[]; names: string[] }

/** The last event of each of these names, for contacts with few events of any name. */
async function readShortHistories(db: Db, { projectId, contactIds, names }: Histories) {
  const histories: { contactId: string; ids: Record<string, string> }[] = []
  for (let start = 0; start < contactIds.length; start += MAX_LOOKUPS) {
    const page = JSON.stringify(contactIds.slice(start, start + MAX_LOOKUPS))
    histories.push(...(await many(db, shortHistoriesSql(projectId, page, names))))
  }
  return histories
}

/** `contactIds`: JSON, for the reason given below. */
const shortHistoriesSql = (projectId: string, contactIds: string, names: string[]) => prepared<{
  contactId: string
  ids: Record<string, string>
}>`
  select w.contact_id as "contactId", history.ids
  from (select value::uuid as contact_id from jsonb_array_elements_text(${contactIds}::jsonb) as value) as w
  cross join lateral (
    select coalesce(jsonb_object_agg(name, id order by id) filter (where name = any(${names}::text[])), '{}') as ids
    from (select name, id from events where project_id = ${projectId} and contact_id = w.contact_id limit ${SHORT_HISTORY + 1}) as events
    having count(*) <= ${SHORT_HISTORY}
  ) as history`

const keyOf = (contactId: string, { name, humanOnly }: EventQuery) => `${contactId} ${humanOnly} ${name}`

/** SQL condition of human opens and clicks: that of the index `events_by_human`, word by word. */
export const CAUSED_BY_HUMAN = sql`name in ('email.open', 'email.click') and data ->> 'machine' is distinct from 'true'`

/**
 * Each look-up reads the end of an index that has contact and name in front of the id, not the history of the contact. The statement is
 * prepared, since planning it for all partitions takes longer than many look-ups (27 months: 3 ms). The look-ups are JSON, because
 * PostgreSQL estimates an array by its length, and would make a new plan each time for short ones.
 */
export const lastEventsSql = (projectId: string, lookUps: LookUp[], { humanOnly }: { humanOnly: boolean }) => prepared<Found>`
  select w.n, last.id
  from ${recordset(
    'events',
    lookUps.map((lookUp, index) => ({ ...lookUp, n: index + 1 })),
    ['contactId', 'name'],
    { n: 'int' },
  )} as w
  cross join lateral (
    select id from events
    where project_id = ${projectId} and contact_id = w."contactId" and name = w.name ${humanOnly ? sql`and ${CAUSED_BY_HUMAN}` : sql``}
    order by id desc limit 1
  ) as last
`
