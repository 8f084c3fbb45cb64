import { sql } from 'kysely'
import { many, type Pool, scalar, type Tx, transact } from '../db/index.ts'
import { recordset } from '../db/rows.ts'
import { createRangePartition, dropTable, limitLockWait, listPartitions } from '../ledger/partitions.ts'
import { lowestId, NIL_ID } from '../lib/id.ts'
import type { Log } from '../lib/process/log.ts'
import { insertReactionsSql } from './listen.ts'

const MONTHS = 3
const CHUNK = 5_000

type Month = { name: string; first: Date; next: Date }

const monthAt = (now: Date, offset: number): Month => {
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset))
  const next = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset + 1))
  return { name: `events_${first.toISOString().slice(0, 7).replace('-', '_')}`, first, next }
}

/** Creates the partitions of this month and the next ones. Safe to run on several nodes at once. */
export const createPartitions = (db: Pool, log: Log, now = new Date()) => createMonths(db, log, { now, from: 0, to: MONTHS - 1 })

/** Older events of an imported project stay in the default partition. */
const MAX_PAST_MONTHS = 60

/** Creates the partitions of past months, for the events of a project that is imported. */
export function createPastPartitions(db: Pool, log: Log, { since, now = new Date() }: { since: Date; now?: Date }) {
  const months = (now.getUTCFullYear() - since.getUTCFullYear()) * 12 + now.getUTCMonth() - since.getUTCMonth()
  return createMonths(db, log, { now, from: -Math.min(months, MAX_PAST_MONTHS), to: -1 })
}

async function createMonths(db: Pool, log: Log, { now, from, to }: { now: Date; from: number; to: number }) {
  const existing = await listPartitions(db, 'events')
  for (let offset = from; offset <= to; offset++) {
    const month = monthAt(now, offset)
    if (existing.includes(month.name)) continue
    // Without a partition the events of a month go to the default one, which is only slower: no reason not to start.
    await transact(db, (tx) => createPartition(tx, month)).catch((err: Error) =>
      log.error({ reason: err.message, partition: month.name }, 'could not create a partition of events; will retry'),
    )
  }
}

const createPartition = (tx: Tx, { name, first, next }: Month) =>
  createRangePartition(tx, { table: 'events', column: 'id', name, first: lowestId(first), next: lowestId(next) })

/** Drops a month's partition once all of it is older than the retention; deletes old rows of the default partition in chunks. */
export async function dropOldEvents(db: Pool, log: Log, { months, now = new Date() }: { months: number; now?: Date }) {
  if (months === 0) return
  const { name: kept, first } = monthAt(now, -months)
  const old = (await listPartitions(db, 'events')).filter((name) => /^events_\d{4}_\d\d$/.test(name) && name < kept)
  for (const name of old) {
    await transact(db, (tx) => dropPartition(tx, name))
    log.info({ partition: name }, 'dropped the events of a month older than EVENT_RETENTION_MONTHS')
  }
  let strays = 0
  for (let dropped = CHUNK; dropped === CHUNK; strays += dropped) dropped = await transact(db, (tx) => dropStrays(tx, first))
  // If nothing was dropped the counts are still correct, and need no scan.
  if (old.length || strays) await transact(db, (tx) => deleteCounts(tx, first))
}

async function dropPartition(tx: Tx, name: string) {
  await limitLockWait(tx)
  await reactToDrop(tx, name)
  await dropTable(tx, name)
}

type Wanted = { projectId: string; topic: string }

/** Tells those who listen to the deletion of events that this partition has. In pages: a statement may take 5 s. */
async function reactToDrop(tx: Tx, partition: string) {
  for (let last: Wanted | undefined = { projectId: NIL_ID, topic: '' }; last; ) {
    const page: Wanted[] = await many<Wanted>(tx)`
      select distinct project_id as "projectId", topic from listeners
      where (project_id, topic) > (${last.projectId}, ${last.topic}) and topic like ${`${DELETED}%`}
      order by 1, 2 limit ${CHUNK}
    `
    const affected = sql`(
      select "projectId" as project_id, null::uuid as contact_id, array_agg(topic) as topics
      from ${recordset('listeners', page, ['projectId', 'topic'])} as l
      -- A scalar subquery: a join could read the whole partition.
      where (select true from ${sql.table(partition)} e where e.project_id = "projectId" and e.name = substr(topic, ${DELETED.length + 1}) limit 1)
      group by 1)`
    if (page.length) await insertReactionsSql(affected).execute(tx)
    last = page.length === CHUNK ? page.at(-1) : undefined
  }
}
const DELETED = 'events-deleted:'

const dropStrays = (tx: Tx, before: Date) => scalar<number>(tx)`
  with deleted as (
    delete from events_default where ctid = any(array(select ctid from events_default where id < ${lowestId(before)} limit ${CHUNK}))
    returning project_id, name
  ), reacted as (${insertReactionsSql(sql`(
    select project_id, null::uuid as contact_id, array_agg(distinct ${DELETED} || name) as topics from deleted group by 1)`)}
  )
  select count(*)::int from deleted
`

async function deleteCounts(tx: Tx, before: Date) {
  await sql`delete from event_counts where day < ${before.toISOString().slice(0, 10)}::date`.execute(tx)
  await sql`delete from event_count_deltas where day < ${before.toISOString().slice(0, 10)}::date`.execute(tx)
}
