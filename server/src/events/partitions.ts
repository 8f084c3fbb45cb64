import { sql } from 'kysely'
import { many, type Pool, transact } from '../db/index.ts'
import type { Log } from '../lib/log.ts'

const AHEAD = 3

/** Makes the partitions of this month and the next ones. Several nodes may do it at once; one of them does. */
export async function createPartitions(db: Pool, log: Log, now = new Date()) {
  const existing = new Set(
    (await many(db, sql<{ name: string }>`select tablename as name from pg_tables where tablename like 'events\\_%'`)).map(
      ({ name }) => name,
    ),
  )
  for (let month = 0; month < AHEAD; month++) {
    const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + month))
    const to = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + month + 1))
    const name = `events_${from.toISOString().slice(0, 7).replace('-', '_')}`
    if (existing.has(name)) continue
    // Without its partition a month goes to the default one, which is slower and nothing worse: no reason not to start.
    await createPartition(db, { name, from: lowestId(from), to: lowestId(to) }).catch((err: Error) =>
      log.error({ reason: err.message, partition: name }, 'could not create a partition of events'),
    )
  }
}

const createPartition = (db: Pool, { name, from, to }: { name: string; from: string; to: string }) =>
  transact(db, async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtext('events partitions'))`.execute(tx)
    await sql`create table if not exists ${sql.table(name)} partition of events for values from (${sql.lit(from)}) to (${sql.lit(to)})`.execute(
      tx,
    )
  })

/** The smallest UUIDv7 of that moment: its first 48 bits are milliseconds. */
function lowestId(at: Date) {
  const hex = at.getTime().toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
