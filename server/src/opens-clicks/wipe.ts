import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'

/** After the emails: opens and clicks of emails that no longer exist. */
export const wipeOpensAndClicks = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'email_hits', scope, {
    key: ['email_id'],
    which: sql`not exists (select from emails e where e.project_id = t.project_id and e.id = t.email_id)`,
  })

/** Removes what is remembered of the opens and clicks of removed emails. Their links still redirect. */
export const forgetOpensAndClicks = (tx: Tx, projectId: string, emailIds: string[]) =>
  sql`delete from email_hits where project_id = ${projectId} and email_id = any(${emailIds}::uuid[])`.execute(tx)
