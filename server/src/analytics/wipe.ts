import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import type { Schema } from '../db/schema.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { ROLLUPS } from './rollup.ts'

/** For a project reset or deletion: all rows, since no fact is added while a project is wiped (`addToRollups`). */
export async function wipeRollups(tx: Tx, scope: WipeScope) {
  let removed = 0
  for (const [table, { key }] of Object.entries(ROLLUPS))
    removed += await wipeRows(tx, table as keyof Schema, scope, { key, which: sql`true` })
  return removed
}
