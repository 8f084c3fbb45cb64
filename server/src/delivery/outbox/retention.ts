import { sql } from 'kysely'
import { countAffected, type Tx } from '../../db/index.ts'

/** Files are large, and of a mail that has ended nobody sends a second one. The record of it stays. */
export const dropOldAttachments = (tx: Tx, limit: number) =>
  countAffected(
    tx,
    sql`
      delete from attachments where (project_id, content_id) in (
        -- From the files, which are few: most mails have none, and their contents are kept for ever.
        select a.project_id, a.content_id from attachments a join contents c on c.project_id = a.project_id and c.id = a.content_id
        where c.created_at < now() - interval '7 days'
          and not exists (
            select from emails e where e.project_id = a.project_id and e.content_id = a.content_id
              and (e.state in ('queued', 'deferred', 'sending', 'unknown') or e.updated_at > now() - interval '7 days'))
        limit ${limit})
    `,
  )
