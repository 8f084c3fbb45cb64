import { sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db } from '../../db/index.ts'
import { CursorQuery, readKeysetPage } from '../../http/paging.ts'
import { Timestamp } from '../../http/validate.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { SUPPRESSION_COLUMNS, SUPPRESSION_REASONS, type SuppressionRow } from '../feedback/suppress.ts'

export const Suppression = z
  .object({
    address: z.string().nullable().describe('The suppressed address. Null for a suppressed domain.'),
    domain: z.string().nullable().describe('The suppressed domain, with all its addresses. Null for a suppressed address.'),
    reason: z.enum(SUPPRESSION_REASONS),
    createdAt: Timestamp,
  })
  .meta({ id: 'Suppression' })

export const showSuppression = ({ address, reason, createdAt }: SuppressionRow): z.output<typeof Suppression> => {
  const isDomain = address.startsWith('@')
  return { address: isDomain ? null : address, domain: isDomain ? address.slice(1) : null, reason, createdAt: createdAt.toISOString() }
}

export const SuppressionsQuery = CursorQuery.extend({ reason: z.enum(SUPPRESSION_REASONS).optional() })

/** Totals are exact up to this number, and stop there. */
const COUNT_UP_TO = 10_000

/** Newest first. */
export function listSuppressions(db: Db, secrets: Secrets, projectId: string, query: z.output<typeof SuppressionsQuery>) {
  const { reason } = query
  const where = sql`project_id = ${projectId} ${reason === undefined ? sql`` : sql`and reason = ${reason.toLowerCase()}`}`
  return readKeysetPage(db, secrets, {
    scope: JSON.stringify(['suppressions', projectId, reason]),
    query,
    select: ({ after, limit }) => sql<SuppressionRow>`
      select ${SUPPRESSION_COLUMNS} from suppressions
      where ${where} ${after ? sql`and (created_at, address) < (${after[0]}::timestamptz, ${after[1]})` : sql``}
      order by created_at desc, address desc limit ${limit}
    `,
    positionOf: ({ position, address }) => [position, address],
    show: showSuppression,
    count: () => countRows(db, sql`select 1 from suppressions where ${where} limit ${COUNT_UP_TO}`),
  })
}
