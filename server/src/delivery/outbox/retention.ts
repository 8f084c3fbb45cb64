import { sql } from 'kysely'
import { countAffected, type Tx } from '../../db/index.ts'

/** Deletes the attachments of emails that ended long ago: files are large and no longer needed. The emails stay. */
export const dropOldAttachments = (tx: Tx, limit: number) =>
  countAffected(
    tx,
    sql`
      delete from attachments where (project_id, content_id) in (
        -- Starts at attachments, which are few: most contents have none, and contents are kept for ever.
        select a.project_id, a.content_id from attachments a join contents c on c.project_id = a.project_id and c.id = a.content_id
        where c.created_at < now() - interval '7 days'
          and not exists (
            select from emails e where e.project_id = a.project_id and e.content_id = a.content_id
              and (e.state in ('queued', 'deferred', 'sending', 'unknown') or e.updated_at > now() - interval '7 days'))
        limit ${limit})
    `,
  )
