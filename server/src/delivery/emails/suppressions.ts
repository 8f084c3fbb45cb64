import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, one } from '../../db/index.ts'
import { CursorQuery, readCursor, writeCursor } from '../../http/paging.ts'
import { Timestamp } from '../../http/validate.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { SUPPRESSION_COLUMNS, SUPPRESSION_REASONS, type SuppressionRow } from '../feedback/suppress.ts'

export const Suppression = z
  .object({
    address: z.string().nullable().describe('Nobody writes to it; null for a whole domain.'),
    domain: z.string().nullable().describe('Nobody writes to any address there; null for a single address.'),
    reason: z.enum(SUPPRESSION_REASONS),
    createdAt: Timestamp,
  })
  .meta({ id: 'Suppression' })

export const showSuppression = ({ address, reason, createdAt }: SuppressionRow): z.output<typeof Suppression> => {
  const isDomain = address.startsWith('@')
  return { address: isDomain ? null : address, domain: isDomain ? address.slice(1) : null, reason, createdAt: createdAt.toISOString() }
}

export const SuppressionsQuery = CursorQuery.extend({ reason: z.enum(SUPPRESSION_REASONS).optional() })

/** Counted exactly up to here; a longer list is "many". */
const COUNT_UP_TO = 10_000

/** Newest first. */
export async function listSuppressions(db: Db, secrets: Secrets, projectId: string, query: z.output<typeof SuppressionsQuery>) {
  const { limit, cursor, reason } = query
  const scope = JSON.stringify(['suppressions', projectId, reason])
  const [at, address] = cursor === undefined ? [] : (readCursor(secrets, scope, cursor) as [string, string])
  const where = sql`project_id = ${projectId} ${reason === undefined ? sql`` : sql`and reason = ${reason.toLowerCase()}`}`
  const after = at === undefined ? sql`` : sql`and (created_at, address) < (${at}::timestamptz, ${address})`
  const rows = await many(
    db,
    sql<SuppressionRow>`
      select ${SUPPRESSION_COLUMNS} from suppressions where ${where} ${after} order by created_at desc, address desc limit ${limit + 1}
    `,
  )
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  const hasMore = rows.length > limit
  return {
    data: page.map(showSuppression),
    cursor: hasMore && last ? writeCursor(secrets, scope, [last.position, last.address]) : null,
    hasMore,
    total: cursor === undefined ? await countMatching(db, where) : 0,
  }
}

async function countMatching(db: Db, where: RawBuilder<unknown>) {
  const { count } = await one(
    db,
    sql<{ count: number }>`select count(*)::int as count from (select 1 from suppressions where ${where} limit ${COUNT_UP_TO}) as bounded`,
  )
  return count
}
