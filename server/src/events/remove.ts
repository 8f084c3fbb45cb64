import { sql } from 'kysely'
import { many, type Pool, scalar, scalars, type Tx, transact } from '../db/index.ts'
import { databaseTime, olderTransactionsEnded } from '../db/running.ts'
import { createdInScope, type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { lowestId } from '../lib/id.ts'
import { HOUR } from '../lib/text/units.ts'
import { type RemovedRows, removeActivities } from './activities.ts'

/**
 * Removes the oldest matching events, at most `limit`, and subtracts them from the counts. Returns their number. The range of ids
 * restricts the scan to the partitions that hold them.
 */
export async function removeEvents(tx: Tx, { projectId, which, limit }: RemovedRows) {
  const ids = await scalars<string>(tx)`select id from events where project_id = ${projectId} and ${which} order by id limit ${limit}`
  if (!ids.length) return 0
  return scalar<number>(tx)`
    with deleted as (
      delete from events
      where project_id = ${projectId} and id >= ${ids[0]} and id <= ${ids.at(-1)} and id = any(${ids}::uuid[])
      returning name, id
    ), counted as (
      insert into event_count_deltas (project_id, name, day, count)
      select ${projectId}, name, id_day(id), -count(*) from deleted group by 2, 3
    )
    select count(*)::int from deleted
  `
}

const CHUNK = 5_000

type DeletedContacts = { projectId: string; contactIds: string[]; since?: string }

const RECHECK_SECONDS = 1

/**
 * Removes the events and activities of deleted contacts, one chunk per job. Events of emails stay without the contact, as the emails do: what
 * was sent is still shown and counted. The last job runs after every transaction that may have seen the contacts
 * has ended, because those may still record events of them.
 */
export async function removeContactEvents(db: Pool, { projectId, contactIds, since }: DeletedContacts) {
  const payload = { projectId, contactIds, since: since ?? (await databaseTime(db)) }
  const mayGrow = !(await olderTransactionsEnded(db, payload.since))
  await transact(db, async (tx) => {
    const which = sql`contact_id = any(${contactIds}::uuid[])`
    const removed =
      (await unlinkEmailEvents(tx, { projectId, which })) +
      (await removeEvents(tx, { projectId, which: sql`${which} and email_id is null`, limit: CHUNK })) +
      (await removeActivities(tx, { projectId, which, limit: CHUNK }))
    if (removed) await enqueue(tx, 'events.forget-contacts', payload)
    else if (mayGrow) await enqueue(tx, 'events.forget-contacts', payload, { delaySeconds: RECHECK_SECONDS })
  })
}

/** Returns the number of events. */
async function unlinkEmailEvents(tx: Tx, { projectId, which }: Omit<RemovedRows, 'limit'>) {
  const ids = await scalars<string>(tx)`
    select id from events where project_id = ${projectId} and ${which} and email_id is not null order by id limit ${CHUNK}
  `
  if (ids.length) await unlinkContacts(tx, { projectId, ids })
  return ids.length
}

/** For a project reset or deletion. */
export const wipeEvents = (tx: Tx, { projectId, before, limit }: WipeScope) =>
  removeEvents(tx, { projectId, which: sql`created_at <= ${before}::timestamptz`, limit })

/** Includes reactions to deleted contacts. */
export function wipeReactions(tx: Tx, scope: WipeScope) {
  const isOrphan = sql`t.contact_id is not null
    and not exists (select from contacts c where c.project_id = t.project_id and c.id = t.contact_id)`
  return wipeRows(tx, 'reactions', scope, { which: sql`${createdInScope(scope)} or ${isOrphan}` })
}

/** Only for a deleted project: after a reset each listener either still exists or has unsubscribed. */
export async function wipeListeners(tx: Tx, { projectId, before }: WipeScope) {
  await sql`delete from listeners where project_id = ${projectId} and ${before}::timestamptz = 'infinity'`.execute(tx)
  return 0
}

const PAGE = 5_000
/** An id has the time of the node that made it. */
const MAX_CLOCK_SKEW_MS = HOUR

type Stray = { id: string; isStray: boolean; lostContact: boolean }

/**
 * Removes events recorded after a reset that belong to an email or contact deleted by it. An event of a newer email stays, without the
 * contact.
 */
export async function sweepEvents(db: Pool, { projectId, before }: { projectId: string; before: string }): Promise<number> {
  let sweptCount = 0
  for (let after: string | undefined = lowestId(new Date(Date.parse(before) - MAX_CLOCK_SKEW_MS)); after; ) {
    const page: Stray[] = await many(db, selectStraysSql({ projectId, before, after }))
    const ids = page.filter(({ isStray }) => isStray).map(({ id }) => id)
    const lost = page.filter(({ isStray, lostContact }) => !isStray && lostContact).map(({ id }) => id)
    if (ids.length) await transact(db, (tx) => removeEvents(tx, { projectId, which: sql`id = any(${ids}::uuid[])`, limit: ids.length }))
    if (lost.length) await transact(db, (tx) => unlinkContacts(tx, { projectId, ids: lost }))
    sweptCount += ids.length + lost.length
    after = page.length === PAGE ? page.at(-1)!.id : undefined
  }
  return sweptCount
}

const selectStraysSql = ({ projectId, before, after }: { projectId: string; before: string; after: string }) => sql<Stray>`
  select e.id, e.created_at > ${before}::timestamptz and case when e.email_id is not null then m.id is null
      else e.contact_id is not null and c.id is null end as "isStray",
    e.created_at > ${before}::timestamptz and e.contact_id is not null and c.id is null as "lostContact"
  from (
    select id, created_at, contact_id, email_id from events where project_id = ${projectId} and id > ${after} order by id limit ${PAGE}
  ) as e
  left join emails m on m.project_id = ${projectId} and m.id = e.email_id
  left join contacts c on c.project_id = ${projectId} and c.id = e.contact_id
  order by e.id
`

const unlinkContacts = (tx: Tx, { projectId, ids }: { projectId: string; ids: string[] }) =>
  sql`
    update events set contact_id = null
    where project_id = ${projectId} and id >= ${ids[0]} and id <= ${ids.at(-1)} and id = any(${ids}::uuid[])
  `.execute(tx)
