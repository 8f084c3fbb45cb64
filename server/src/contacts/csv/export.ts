import { sql } from 'kysely'
import { z } from 'zod'
import { scalars, type Tx } from '../../db/index.ts'
import { NIL_ID } from '../../lib/id.ts'
import { ownValue } from '../../lib/own-value.ts'
import { csvCell } from '../../lib/text/csv-cell.ts'
import { type CsvExport, type ExportedRow, queueCsvExport } from '../../projects/csv/csv-export.ts'
import { countContacts } from '../record/counts.ts'
import { inIdRangeSql, JobFilter, rowMatchesSql, withNameFields } from '../selection/filter.ts'
import { type SegmentAccess, selectMembers } from '../selection/segment-access.ts'

const MAX_COLUMNS = 1_000

export const ContactExportBody = z.object({ filter: JobFilter.optional().describe('Without it, every contact is exported.') })

type Input = { filter: z.output<typeof JobFilter>; keys: string[]; total: number }

const STANDARD = ['email', 'subscribed', 'createdAt', 'updatedAt']

export const contactExport = (segments: SegmentAccess): CsvExport<Input> => ({
  job: 'contacts.export',
  type: 'export',
  columns: ({ keys }) => [...STANDARD, ...keys].map(csvCell),
  cellsOf: ({ data, ...row }, { keys }) => [...STANDARD.map((column) => row[column]), ...keys.map((key) => ownValue(data, key))],
  /** Contacts that do not match are read without their data. */
  async select(db, { projectId, input: { filter }, after = NIL_ID, limit }) {
    const inSegment = await segments.select(db, projectId, filter)
    if (!inSegment) return { failure: 'The segment was deleted.' }
    return sql<ExportedRow>`
      select id as position, matches, email, subscribed, created_at as "createdAt", updated_at as "updatedAt",
        case when matches then data end as data
      from (
        select *, ${rowMatchesSql(filter)} and ${inSegment} as matches from contacts
        where ${inIdRangeSql(projectId, filter)} and id > ${after} order by id limit ${limit + 1}
      ) as scanned
      order by id`
  },
  progressAt: ({ total }, { scanned }) => scanned / Math.max(1, total),
})

/** The columns are the fields that the project has now. */
export async function queueContactExport(tx: Tx, segments: SegmentAccess, projectId: string, filter: Input['filter'] = {}) {
  await selectMembers(segments, tx, projectId, { ...filter, path: 'filter.condition' })
  const named = await withNameFields(tx, projectId, filter)
  const keys = await scalars<string>(tx)`select key from contact_fields where project_id = ${projectId} order by key limit ${MAX_COLUMNS}`
  const { total } = await countContacts(tx, projectId)
  return queueCsvExport(tx, contactExport(segments), projectId, { filter: named, keys, total })
}
