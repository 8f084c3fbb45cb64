import { type RawBuilder, sql } from 'kysely'
import { scalars, type Tx } from '../db/index.ts'
import type { Schema } from '../db/schema.ts'
import { addSql } from '../ledger/ledger-sql.ts'
import { factsOfEntriesSql, ROLLUPS } from './rollup.ts'

/**
 * Adds entries of the email ledger to the roll-ups. Returns the projects that it left out: those that are being wiped, since no row may be
 * added to their roll-ups meanwhile.
 */
export async function addToRollups(tx: Tx, entries: RawBuilder<unknown>): Promise<string[]> {
  const leftOut = await scalars<string>(tx)`
    select project_id from project_wipes where project_id in (select project_id from ${entries} as e)
  `
  const taken = sql`select * from ${entries} as e where email_ids is not null and project_id <> all(${leftOut}::uuid[])`
  const additions = Object.entries(ROLLUPS).map(([table, { key, values, rowsOf }]) => {
    const changes = sql.ref(`changes_of_${table}`)
    const sums = { name: table as keyof Schema, key: ['project_id', ...key], summed: values }
    return sql`${changes} as materialized (${rowsOf(sql`select * from facts`)}), ${sql.ref(`added_to_${table}`)} as (${addSql(sums, changes, values)})`
  })
  await sql`with facts as materialized (${factsOfEntriesSql(taken)}), ${sql.join(additions)} select`.execute(tx)
  return leftOut
}
