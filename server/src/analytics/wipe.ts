import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { collectedUnder } from './recount.ts'

const DIMENSIONS = ['source', 'campaign_id', 'template_id', 'workflow_id']

/** For a project reset or deletion: all rows, since no fact is added while a project is wiped (`addToRollups`). Also those of a recount. */
export async function wipeRollups(tx: Tx, scope: WipeScope) {
  let removed = 0
  for (const projectId of [scope.projectId, collectedUnder(scope.projectId)]) {
    const all = { ...scope, projectId }
    const which = sql`true`
    removed += await wipeRows(tx, 'email_hours', all, { key: ['hour', ...DIMENSIONS], which })
    removed += await wipeRows(tx, 'email_days', all, { key: ['day', ...DIMENSIONS], which })
    removed += await wipeRows(tx, 'email_domain_days', all, { key: ['day', 'domain'], which })
  }
  await wipeRows(tx, 'rollup_recounts', scope, { key: ['project_id'], which: sql`true` })
  return removed
}
