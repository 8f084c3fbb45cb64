import { sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Tx } from '../../db/index.ts'
import { type CsvExport, type ExportedRow, queueCsvExport } from '../../projects/csv/csv-export.ts'
import { SUPPRESSION_REASONS } from '../feedback/reports/suppress.ts'
import { type SuppressionFilter, suppressionMatchesSql } from './suppressions.ts'

/** Strict: a misspelt key must not export every suppression. */
export const SuppressionExportBody = z.object({
  filter: z
    .strictObject({ reason: z.enum(SUPPRESSION_REASONS).optional(), q: z.string().max(255).optional() })
    .optional()
    .describe('As in the list. Without it, every suppression is exported.'),
})

type Input = { filter: SuppressionFilter; total: number }

export const suppressionExport: CsvExport<Input> = {
  job: 'delivery.export-suppressions',
  type: 'suppression-export',
  columns: () => ['address', 'domain', 'reason', 'createdAt'],
  select: async (_db, { projectId, input: { filter }, after = '', limit }) => sql<ExportedRow>`
    select address as position, ${suppressionMatchesSql(filter)} as matches,
      case when address like '@%' then null else address end as address,
      case when address like '@%' then substr(address, 2) end as domain, upper(reason) as reason, created_at as "createdAt"
    from suppressions where project_id = ${projectId} and address > ${after} order by suppressions.address limit ${limit + 1}`,
  progressAt: ({ total }, { scanned }) => scanned / Math.max(1, total),
}

/** For the progress; counted up to this number. */
const COUNT_UP_TO = 100_000

/** In the order of the addresses. */
export async function queueSuppressionExport(tx: Tx, projectId: string, filter: SuppressionFilter = {}) {
  const total = await countRows(tx, sql`select 1 from suppressions where project_id = ${projectId} limit ${COUNT_UP_TO}`)
  return queueCsvExport(tx, suppressionExport, projectId, { filter, total })
}
