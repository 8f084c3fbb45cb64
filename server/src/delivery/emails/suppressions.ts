import { Readable } from 'node:stream'
import { sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, many } from '../../db/index.ts'
import { CursorQuery, readKeysetPage } from '../../http/core/paging.ts'
import { Timestamp } from '../../http/core/validate.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { csvCell } from '../../lib/text/csv-cell.ts'
import { SUPPRESSION_COLUMNS, SUPPRESSION_REASONS, type SuppressionRow } from '../feedback/reports/suppress.ts'

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

export const SuppressionsQuery = CursorQuery.extend({
  reason: z.enum(SUPPRESSION_REASONS).optional(),
  q: z.string().max(255).optional().describe('Part of the address or domain.'),
})

export type SuppressionFilter = Omit<z.output<typeof SuppressionsQuery>, 'limit' | 'cursor'>

/** Condition on a suppression. */
export function suppressionMatchesSql({ reason, q = '' }: SuppressionFilter) {
  const byReason = reason === undefined ? sql`true` : sql`reason = ${reason.toLowerCase()}`
  return q.trim() === '' ? byReason : sql`${byReason} and position(${q.trim().toLowerCase()} in address) > 0`
}

/** Totals are exact up to this number, and stop there. */
const COUNT_UP_TO = 10_000

/** Newest first. */
export function listSuppressions(db: Db, secrets: Secrets, projectId: string, query: z.output<typeof SuppressionsQuery>) {
  const { reason, q = '' } = query
  const where = sql`project_id = ${projectId} and ${suppressionMatchesSql(query)}`
  return readKeysetPage(db, secrets, {
    scope: JSON.stringify(['suppressions', projectId, reason, ...(q.trim() === '' ? [] : [q])]),
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

const EXPORTED_AT_ONCE = 5_000

/** All suppressions as CSV, in the order of their addresses. Streamed page by page, as fast as the client reads. */
export const streamSuppressions = (db: Db, projectId: string) =>
  Readable.from(
    (async function* () {
      yield 'address,domain,reason,createdAt\r\n'
      for (let after = ''; ; ) {
        const rows = await many<SuppressionRow>(db)`
          select ${SUPPRESSION_COLUMNS} from suppressions where project_id = ${projectId} and address > ${after}
          order by address limit ${EXPORTED_AT_ONCE}
        `
        if (!rows.length) return
        yield rows.map(printSuppression).join('')
        after = rows.at(-1)!.address
      }
    })(),
    { objectMode: false },
  )

function printSuppression(row: SuppressionRow) {
  const { address, domain, reason } = showSuppression(row)
  return `${[address, domain, reason, row.createdAt.toISOString()].map((value) => (value === null ? '' : csvCell(value))).join(',')}\r\n`
}
