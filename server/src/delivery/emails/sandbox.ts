import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, maybeOne, one } from '../../db/index.ts'
import { readCursor, writeCursor } from '../../http/paging.ts'
import { Timestamp } from '../../http/validate.ts'
import type { Secrets } from '../../lib/secrets.ts'

export const SandboxMessage = z.object({
  id: z.uuid(),
  emailId: z.uuid(),
  to: z.string(),
  from: z.string(),
  subject: z.string(),
  createdAt: Timestamp,
})
export const SandboxMessageSource = SandboxMessage.extend({ source: z.string().describe('The mail as it would have been sent.') })

type Row = Omit<z.output<typeof SandboxMessage>, 'createdAt'> & { createdAt: Date }

const COLUMNS = sql`id, email_id as "emailId", recipient as "to", sender as "from", subject, created_at as "createdAt"`

export async function listMessages(
  db: Db,
  secrets: Secrets,
  projectId: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
) {
  const scope = JSON.stringify(['sandbox', projectId])
  const after = cursor === undefined ? sql`` : sql`and id < ${readCursor(secrets, scope, cursor)[0] as string}`
  const rows = await many(
    db,
    sql<Row>`select ${COLUMNS} from sandbox_messages where project_id = ${projectId} ${after} order by id desc limit ${limit + 1}`,
  )
  const page = rows.slice(0, limit)
  const hasMore = rows.length > limit
  return {
    data: page.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() })),
    cursor: hasMore ? writeCursor(secrets, scope, [page.at(-1)!.id]) : null,
    hasMore,
    total: cursor === undefined ? await countMessages(db, projectId) : 0,
  }
}

/** Few are kept, so counting them is cheap. */
async function countMessages(db: Db, projectId: string) {
  const { count } = await one(
    db,
    sql<{ count: number }>`select count(*)::int as count from sandbox_messages where project_id = ${projectId}`,
  )
  return count
}

export async function findMessage(db: Db, projectId: string, id: string) {
  const row = await maybeOne(
    db,
    sql<Row & { source: Buffer }>`select ${COLUMNS}, source from sandbox_messages where project_id = ${projectId} and id = ${id}`,
  )
  return row && { ...row, createdAt: row.createdAt.toISOString(), source: row.source.toString() }
}
