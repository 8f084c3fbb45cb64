import { sql } from 'kysely'
import { type Db, scalar, scalars, type Tx } from '../db/index.ts'
import { lock } from './locks.ts'

/** Creating or dropping a partition locks the table. Waiting for that lock blocks all later statements, so the wait is short. */
const LOCK_TIMEOUT_MS = 500

/** A partition of a table partitioned by a range of `column`, with a default partition `<table>_default`: values from `first` up to, not including, `next`. */
type RangePartition = { table: string; column: string; name: string; first: string; next: string }

export const listPartitions = (db: Db, table: string) =>
  scalars<string>(db)`
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = ${table}::regclass
  `

/** Also moves the rows of the range out of the default partition, where a wrong clock or a long downtime may have put them. */
export async function createRangePartition(tx: Tx, { table, column, name, first, next }: RangePartition) {
  await lock(tx, 'partitions', table)
  if (await scalar<boolean>(tx)`select to_regclass(${name}) is not null`) return
  await limitLockWait(tx)
  const [parent, strays, partition] = [table, `${table}_default`, name].map((each) => sql.table(each))
  const [from, to] = [first, next].map((bound) => sql.lit(bound))
  await sql`lock table ${parent} in access exclusive mode`.execute(tx)
  const range = sql`${sql.ref(column)} >= ${from} and ${sql.ref(column)} < ${to}`
  await sql`create table ${partition} (like ${parent} including all)`.execute(tx)
  await sql`with moved as (delete from ${strays} where ${range} returning *) insert into ${partition} select * from moved`.execute(tx)
  await sql`alter table ${parent} attach partition ${partition} for values from (${from}) to (${to})`.execute(tx)
}

export const dropTable = (tx: Tx, name: string) => sql`drop table if exists ${sql.table(name)}`.execute(tx)

export const limitLockWait = (tx: Tx) => sql`select set_config('lock_timeout', ${`${LOCK_TIMEOUT_MS}ms`}, true)`.execute(tx)
