import { sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, maybeOne } from '../../db/index.ts'
import { CursorQuery, readKeysetPage } from '../../http/core/paging.ts'
import { Timestamp } from '../../http/core/validate.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { likePattern } from '../../lib/text/like-pattern.ts'
import { MASK } from '../../lib/text/mask.ts'

export const SandboxMessage = z.object({
  id: z.uuid(),
  emailId: z.uuid(),
  to: z.string(),
  from: z.string(),
  subject: z.string(),
  createdAt: Timestamp,
})
export const SandboxMessageSource = SandboxMessage.extend({ source: z.string().describe('The message as it would have been sent.') })

export const SandboxQuery = CursorQuery.extend({ q: z.string().max(255).optional().describe('Part of the recipient or the subject.') })

type Row = z.output<typeof SandboxMessage>

const COLUMNS = sql`id, email_id as "emailId", recipient as "to", sender as "from", subject, created_at as "createdAt"`

type ListQuery = z.output<typeof SandboxQuery> & { isMasked: boolean }

export function listSandboxMessages(db: Db, secrets: Secrets, projectId: string, query: ListQuery) {
  const { isMasked } = query
  const q = query.q?.trim() ?? ''
  const pattern = likePattern(q)
  const where = sql`project_id = ${projectId} ${q ? sql`and (recipient ilike ${pattern} or (not ${isMasked} and subject ilike ${pattern}))` : sql``}`
  return readKeysetPage(db, secrets, {
    scope: JSON.stringify(['sandbox', projectId, q, isMasked]),
    query,
    select: ({ after, limit }) => sql<Row>`
      select ${COLUMNS} from sandbox_messages
      where ${where} ${after ? sql`and id < ${after[0]}` : sql``} order by id desc limit ${limit}
    `,
    positionOf: ({ id }) => [id],
    show: (row) => (isMasked ? { ...row, subject: MASK } : row),
    // Few are kept, so counting them is cheap.
    count: () => countRows(db, sql`select 1 from sandbox_messages where ${where}`),
  })
}

export async function findSandboxMessage(db: Db, projectId: string, id: string) {
  const row = await maybeOne<Row & { source: Buffer }>(db)`
    select ${COLUMNS}, source from sandbox_messages where project_id = ${projectId} and id = ${id}
  `
  return row && { ...row, source: row.source.toString() }
}
