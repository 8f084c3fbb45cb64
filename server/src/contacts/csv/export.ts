import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, type Pool, type Tx, transact } from '../../db/index.ts'
import { readPage } from '../../http/paging.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { advanceJob, completeJob, countUnfinished, failJob, type JobId, lockJob, queueJob } from '../../jobs/job.ts'
import { dropPiecesBeyond, savePiece } from '../../jobs/pieces.ts'
import { fail } from '../../lib/errors.ts'
import { NIL_ID } from '../../lib/id.ts'
import { ownValue } from '../../lib/own-value.ts'
import { csvCell } from '../../lib/text/csv-cell.ts'
import { MB } from '../../lib/text/units.ts'
import type { ContactRow } from '../contact.ts'
import { countContacts } from '../counts.ts'
import { type ContactFilter, FilterField, FilterSearch, FilterTime, inIdRangeSql, requireFieldWithValue, rowMatchesSql } from '../filter.ts'
import { type SegmentAccess, selectInSegment } from '../segment-access.ts'

/** Contacts scanned by one statement, matching or not: bounds it when few contacts of a large project match. */
const SCANNED_CONTACTS = 2_000
/** About a second of work; then a new job continues, so that a killed worker costs at most one attempt of it. */
const CHUNKS_PER_JOB = 10
const MAX_BYTES = 500 * MB
const MAX_COLUMNS = 1_000
const MAX_UNFINISHED = 2
/** Files kept per project, besides the one being made. */
const MAX_KEPT = 4
const RETRY_AFTER_SECONDS = 10

export const EXPORT_JOB = 'export'

/** Strict: a misspelt key must not export every contact. */
export const ExportBody = z.object({
  filter: z
    .strictObject({
      search: FilterSearch.optional(),
      subscribed: z.boolean().optional(),
      segmentId: z.uuid().optional(),
      field: FilterField.optional(),
      value: z.union([z.string().max(1_024), z.number(), z.boolean()]).optional(),
      createdFrom: FilterTime.optional(),
      createdTo: FilterTime.optional(),
    })
    .check(requireFieldWithValue)
    .meta({ dependentRequired: { field: ['value'], value: ['field'] } })
    .optional()
    .describe('Without it, every contact is exported.'),
})

type ExportFilter = ContactFilter & { segmentId?: string | undefined }
type Input = { filter: ExportFilter; keys: string[]; total: number }
type Position = { after: string; piece: number; scanned: number }
type Result = { exportedCount: number; bytes: number }
type Row = Pick<ContactRow, 'id' | 'email' | 'subscribed' | 'createdAt' | 'updatedAt' | 'data'> & { matches: boolean }

type Deps = { db: Pool; segments: SegmentAccess }

const START: Position = { after: NIL_ID, piece: 0, scanned: 0 }
const STANDARD = ['email', 'subscribed', 'createdAt', 'updatedAt']
/** Without it, Excel reads UTF-8 as another encoding. */
const BYTE_ORDER_MARK = '\ufeff'

/** The columns are the fields that the project has now. */
export async function queueExport(tx: Tx, segments: SegmentAccess, projectId: string, filter: ExportFilter = {}) {
  if (filter.segmentId) await selectInSegment(segments, tx, projectId, filter.segmentId)
  if ((await countUnfinished(tx, { projectId, type: EXPORT_JOB })) >= MAX_UNFINISHED)
    fail('RATE_LIMIT_EXCEEDED', {
      message: `This project has ${MAX_UNFINISHED} unfinished exports. Wait until one of them has finished.`,
      retryAfter: RETRY_AFTER_SECONDS,
    })
  await dropPiecesBeyond(tx, { projectId, type: EXPORT_JOB, keep: MAX_KEPT })
  const input: Input = { filter, keys: await listKeys(tx, projectId), total: (await countContacts(tx, projectId)).total }
  return queueJob(tx, 'contacts.export', { projectId, type: EXPORT_JOB, input })
}

async function listKeys(db: Db, projectId: string) {
  const rows = await many<{ key: string }>(db)`
    select key from contact_fields where project_id = ${projectId} order by key limit ${MAX_COLUMNS}
  `
  return rows.map(({ key }) => key)
}

/** Writes pieces of the file. The position moves in the transaction that writes a piece: a killed worker repeats nothing. */
export async function continueExport({ db, segments }: Deps, job: JobId) {
  for (let chunk = 1; chunk <= CHUNKS_PER_JOB; chunk++)
    if (!(await transact(db, (tx) => exportChunk(tx, segments, job, { isLast: chunk === CHUNKS_PER_JOB })))) return
}

/** Returns whether the job goes on here. */
async function exportChunk(tx: Tx, segments: SegmentAccess, job: JobId, { isLast }: { isLast: boolean }): Promise<boolean> {
  const taken = await lockJob<Input, Position>(tx, job)
  if (!taken) return false
  const { input, position } = taken
  const at = position ?? START
  const before = (taken.result as Result | null) ?? { exportedCount: 0, bytes: 0 }
  const { segmentId } = input.filter
  const inSegment = segmentId ? await segments.select(tx, job.projectId, segmentId) : sql`true`
  if (!inSegment) return failJob(tx, job, 'The segment was deleted.').then(() => false)
  const { rows, hasMore } = await readPage(tx, selectRows({ ...job, ...input, inSegment, after: at.after }), SCANNED_CONTACTS)
  const matching = rows.filter(({ matches }) => matches)
  const content = (position ? '' : printHeader(input.keys)) + matching.map((row) => printRow(row, input.keys)).join('')
  if (content) await savePiece(tx, job, { piece: at.piece, content })
  const result: Result = { exportedCount: before.exportedCount + matching.length, bytes: before.bytes + Buffer.byteLength(content) }
  if (result.bytes > MAX_BYTES) return failJob(tx, job, TOO_LARGE).then(() => false)
  if (!hasMore) return completeJob(tx, job, result).then(() => false)
  const scanned = at.scanned + rows.length
  const next: Position = { after: rows.at(-1)!.id, piece: at.piece + (content ? 1 : 0), scanned }
  await advanceJob(tx, job, { position: next, result, progress: (scanned / Math.max(1, input.total)) * 100 })
  if (isLast) await enqueue(tx, 'contacts.export', job)
  return !isLast
}

const TOO_LARGE = `The file would be larger than ${MAX_BYTES / MB} MB. Export a part of the contacts.`

type Page = { projectId: string; filter: ContactFilter; inSegment: RawBuilder<unknown>; after: string }

/** Contacts that do not match are read without their data. */
const selectRows = ({ projectId, filter, inSegment, after }: Page) => sql<Row>`
  select id, matches, email, subscribed, created_at as "createdAt", updated_at as "updatedAt", case when matches then data end as data
  from (
    select *, ${rowMatchesSql(filter)} and ${inSegment} as matches from contacts
    where ${inIdRangeSql(projectId, filter)} and id > ${after} order by id limit ${SCANNED_CONTACTS + 1}
  ) as scanned
  order by id`

const printHeader = (keys: string[]) => `${BYTE_ORDER_MARK}${[...STANDARD, ...keys].map(csvCell).join(',')}\r\n`

const printRow = ({ email, subscribed, createdAt, updatedAt, data }: Row, keys: string[]) =>
  `${[email, subscribed, new Date(createdAt).toISOString(), new Date(updatedAt).toISOString(), ...keys.map((key) => ownValue(data, key))].map(printValue).join(',')}\r\n`

/** Numbers are not prefixed: a minus sign does not make them formulas. */
function printValue(value: unknown) {
  if (value === undefined || value === null) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return csvCell(typeof value === 'string' ? value : JSON.stringify(value))
}
