import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'

/** Files are large, and of a mail that has ended nobody sends a second one. The record of it stays. */
export async function dropOldAttachments(tx: Tx, limit: number) {
  const { numAffectedRows = 0n } = await sql`
    delete from attachments where (project_id, content_id) in (
      select c.project_id, c.id from contents c
      where c.created_at < now() - interval '7 days'
        and exists (select from attachments a where a.project_id = c.project_id and a.content_id = c.id)
        and not exists (
          select from emails e where e.project_id = c.project_id and e.content_id = c.id
            and (e.state in ('queued', 'deferred', 'sending', 'unknown') or e.updated_at > now() - interval '7 days'))
      limit ${limit})
  `.execute(tx)
  return Number(numAffectedRows)
}
