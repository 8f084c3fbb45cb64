import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'

/** After the emails: opens and clicks of emails that no longer exist. */
export const wipeOpensAndClicks = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'email_hits', scope, {
    key: ['email_id'],
    which: sql`not exists (select from emails e where e.project_id = t.project_id and e.id = t.email_id)`,
  })
