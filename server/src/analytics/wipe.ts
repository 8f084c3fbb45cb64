import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { collectedUnder } from './recount.ts'
import { ROLLUPS } from './rollup.ts'

/** For a project reset or deletion: all rows, since no fact is added while a project is wiped (`addToRollups`). Also those of a recount. */
export async function wipeRollups(tx: Tx, scope: WipeScope) {
  let removed = 0
  for (const projectId of [scope.projectId, collectedUnder(scope.projectId)]) {
    for (const { table, key } of Object.values(ROLLUPS))
      removed += await wipeRows(tx, table, { ...scope, projectId }, { key, which: sql`true` })
  }
  await wipeRows(tx, 'rollup_recounts', scope, { key: ['project_id'], which: sql`true` })
  return removed
}
