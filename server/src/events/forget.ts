import { sql } from 'kysely'
import { many, type Pool, type Tx, transact } from '../db/index.ts'
import { databaseTime, olderTransactionsEnded } from '../db/running.ts'
import { createdInScope, type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { lowestId } from '../lib/id.ts'
import { HOUR } from '../lib/units.ts'
import { lockEventCounts } from './counts.ts'
import { removeEvents } from './remove.ts'

const CHUNK = 5_000

type Forgotten = { projectId: string; contactIds: string[]; since?: string }

const LOOK_AGAIN_SECONDS = 1

/**
 * Removes the events of contacts that are gone, a chunk at a time; what is left after each is a job of its own. The last pass comes
 * after every transaction that may have seen the contacts, because those may have recorded something of them.
 */
export async function continueForgetting(db: Pool, { projectId, contactIds, since }: Forgotten) {
  const seen = { projectId, contactIds, since: since ?? (await databaseTime(db)) }
  const mayGrow = !(await olderTransactionsEnded(db, seen.since))
  await transact(db, async (tx) => {
    const removed = await removeEvents(tx, { projectId, which: sql`contact_id = any(${contactIds}::uuid[])`, limit: CHUNK })
    if (removed) await enqueue(tx, 'events.forget-contacts', seen)
    else if (mayGrow) await enqueue(tx, 'events.forget-contacts', seen, { delaySeconds: LOOK_AGAIN_SECONDS })
  })
}

/** For a project reset or deletion. */
export const wipeEvents = (tx: Tx, { projectId, before, limit }: WipeScope) =>
  removeEvents(tx, { projectId, which: sql`created_at <= ${before}::timestamptz`, limit })

/** Also those to contacts that are gone. */
export function wipeReactions(tx: Tx, scope: WipeScope) {
  const isOrphan = sql`t.contact_id is not null
    and not exists (select from contacts c where c.project_id = t.project_id and c.id = t.contact_id)`
  return wipeRows(tx, 'reactions', scope, { which: sql`${createdInScope(scope)} or ${isOrphan}` })
}

/** Counts of a project without events; with events left, they are still true. Both halves at one moment, or one would be wrong. */
export async function wipeEventCounts(tx: Tx, { projectId }: WipeScope) {
  await lockEventCounts(tx)
  const none = sql`not exists (select from events where project_id = ${projectId})`
  await sql`
    with deltas as (delete from event_count_deltas where project_id = ${projectId} and ${none})
    delete from event_counts where project_id = ${projectId} and ${none}
  `.execute(tx)
  return 0
}

/** Of a deleted project; after a reset, whoever listens is still there or has taken its leave. */
export async function wipeListeners(tx: Tx, { projectId, before }: WipeScope) {
  await sql`delete from listeners where project_id = ${projectId} and ${before}::timestamptz = 'infinity'`.execute(tx)
  return 0
}

const PAGE = 5_000
/** Ids have the time of the machine that made them. */
const CLOCKS_DIFFER_MS = HOUR

type Stray = { id: string; isStray: boolean; lostContact: boolean }

/**
 * Removes events since a reset that are about an email or contact of before it: recorded while those still existed. An event of a newer
 * email stays, without the contact.
 */
export async function sweepEvents(db: Pool, { projectId, before }: { projectId: string; before: string }): Promise<number> {
  let swept = 0
  for (let after: string | undefined = lowestId(new Date(Date.parse(before) - CLOCKS_DIFFER_MS)); after; ) {
    const page: Stray[] = await many(db, strays({ projectId, before, after }))
    const ids = page.filter(({ isStray }) => isStray).map(({ id }) => id)
    const lost = page.filter(({ isStray, lostContact }) => !isStray && lostContact).map(({ id }) => id)
    if (ids.length) await transact(db, (tx) => removeEvents(tx, { projectId, which: sql`id = any(${ids}::uuid[])`, limit: ids.length }))
    if (lost.length) await transact(db, (tx) => unlinkContacts(tx, { projectId, ids: lost }))
    swept += ids.length + lost.length
    after = page.length === PAGE ? page.at(-1)!.id : undefined
  }
  return swept
}

const strays = ({ projectId, before, after }: { projectId: string; before: string; after: string }) => sql<Stray>`
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
