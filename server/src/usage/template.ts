import { sql } from 'kysely'
import { type Db, one } from '../db/index.ts'

/** Number of emails sent with a template, without test emails. */
export async function countSentWith(db: Db, projectId: string, templateId: string) {
  const { count } = await one(
    db,
    sql<{ count: number }>`
      select count(*)::int as count
      from contents c join emails e on e.project_id = c.project_id and e.content_id = c.id
      where c.project_id = ${projectId} and c.template_id = ${templateId} and e.sent_at is not null and not e.test
    `,
  )
  return count
}
