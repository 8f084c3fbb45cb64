import { type RawBuilder, sql } from 'kysely'
import { many, type Tx } from '../../src/db/index.ts'
import { type Check, checkAgreement, checkRules, FLIPS } from '../support/check.ts'
import type { Sent } from '../support/load.ts'
import { checkSegments, isMembershipEvent } from './segments.ts'
import type { TrackAck, TrackCall } from './track.ts'

type Ledger = ReadonlyMap<string, Sent<TrackCall, TrackAck>>
type Keyed = { id: string; key: string; name: string; contactId: string; email: string | null }

export const LOST = 'acknowledged, but there is no event'
export const TWICE = 'more than one event'

export const trackChecks = (projectId: string, sent: Ledger): Check[] => [
  checkEvents(projectId, sent),
  checkKeys(projectId),
  checkAgreement(projectId),
  checkSegments(projectId),
]

/** Events that calls record, not those that follow from them. */
export const isTracked = (name: RawBuilder<unknown>) => sql`${name} not in ${FLIPS} and not ${isMembershipEvent(name)}`

/** Acknowledged calls took effect exactly once and as acknowledged, all others at most once. */
const checkEvents =
  (projectId: string, sent: Ledger): Check =>
  async (tx) => {
    const events = await listKeyed(tx, projectId)
    const counts = new Map<string, number>()
    for (const { key } of events) counts.set(key, (counts.get(key) ?? 0) + 1)
    const lost = [...sent.values()].filter(({ call, ack }) => ack && !counts.has(call.key))
    const twice = [...counts].filter(([, count]) => count > 1)
    const other = events.filter((event) => !isAsSent(event, sent.get(event.key)))
    return [
      { rule: LOST, cases: lost.map(({ call }) => call.key) },
      { rule: TWICE, cases: twice.map(([key]) => key) },
      { rule: 'not an event that was sent, or not the one that was acknowledged', cases: other.map(({ key, id }) => `${key} ${id}`) },
    ]
  }

const listKeyed = (tx: Tx, projectId: string) =>
  many(
    tx,
    sql<Keyed>`
      select e.id, coalesce(e.data ->> 'key', '') as key, e.name, e.contact_id as "contactId", c.email
      from events e left join contacts c on c.project_id = e.project_id and c.id = e.contact_id
      where e.project_id = ${projectId} and ${isTracked(sql`e.name`)}
    `,
  )

function isAsSent({ id, name, contactId, email }: Keyed, record: Sent<TrackCall, TrackAck> | undefined) {
  if (!record) return false
  const { call, ack } = record
  const asTold = !ack || (ack.event === id && (ack.contact ?? contactId) === contactId)
  return asTold && name === call.body.event && email === call.body.email
}

const checkKeys = (projectId: string) =>
  checkRules({
    'a key without its event, or an event without its key': sql`
      select k.key, e.data ->> 'key' as event_key, k.result, e.id, k.status_code
      from (select * from idempotency_keys where project_id = ${projectId}) k
      full join (select * from events where project_id = ${projectId} and ${isTracked(sql`name`)}) e on e.data ->> 'key' = k.key
      where k.result ->> 'event' is distinct from e.id::text or k.status_code is distinct from 200
    `,
    'a contact without an event, or with data of none of its events': sql`
      select c.email, c.data from contacts c
      where c.project_id = ${projectId} and not exists (
        select from events e
        where e.project_id = c.project_id and e.contact_id = c.id and e.data ->> 'key' = c.data ->> 'key')
    `,
  })
