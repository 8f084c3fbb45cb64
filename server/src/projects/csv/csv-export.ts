import type { RawBuilder } from 'kysely'
import { type Db, type Pool, type Tx, transact } from '../../db/index.ts'
import { readPage } from '../../http/core/paging.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { advanceJob, completeJob, countUnfinished, failJob, type JobId, lockJob, queueJob, type WatchedJob } from '../../jobs/job.ts'
import { dropPiecesBeyond, savePiece } from '../../jobs/pieces.ts'
import { fail } from '../../lib/errors/errors.ts'
import { csvCell } from '../../lib/text/csv-cell.ts'
import { MB } from '../../lib/text/units.ts'

/** Rows scanned by one statement, matching or not: bounds it when few rows of a large project match. */
const SCANNED_ROWS = 2_000
/** About a second of work; then a new job continues, so that a killed worker costs at most one attempt of it. */
const CHUNKS_PER_JOB = 10
const MAX_BYTES = 500 * MB
const MAX_UNFINISHED = 2
/** Files kept per project and list, besides the one being made. */
const MAX_KEPT = 4
const RETRY_AFTER_SECONDS = 10
/** Without it, Excel reads UTF-8 as another encoding. */
const BYTE_ORDER_MARK = '\ufeff'

/** A row of the list, with a field for each column, unless `cellsOf` reads them. */
export type ExportedRow = Record<string, unknown> & { position: string; matches: boolean }

type ExportPage<Input> = { projectId: string; input: Input; after: string | undefined; limit: number }

/** A list that jobs export as CSV. */
export type CsvExport<Input> = {
  job: WatchedJob
  /** Type of its rows in `jobs`. */
  type: string
  columns: (input: Input) => readonly string[]
  cellsOf?: (row: ExportedRow, input: Input) => unknown[]
  /** Selects rows behind a position, in the order of their positions; at most one more than `limit`. Undefined: from the first. */
  select: (db: Db, page: ExportPage<Input>) => Promise<RawBuilder<ExportedRow> | { failure: string }>
  /** The share of the list up to a row, 0 to 1. */
  progressAt: (input: Input, row: { position: string; scanned: number }) => number
}

type Position = { after: string; piece: number; scanned: number }
type Result = { exportedCount: number; bytes: number }

export async function queueCsvExport<Input extends object>(tx: Tx, { job, type }: CsvExport<Input>, projectId: string, input: Input) {
  if ((await countUnfinished(tx, { projectId, type })) >= MAX_UNFINISHED)
    fail('RATE_LIMIT_EXCEEDED', {
      message: `This project has ${MAX_UNFINISHED} unfinished exports. Wait until one of them has finished.`,
      retryAfter: RETRY_AFTER_SECONDS,
    })
  await dropPiecesBeyond(tx, { projectId, type, keep: MAX_KEPT })
  return queueJob(tx, job, { projectId, type, input })
}

/** Writes pieces of the file. The position moves in the transaction that writes a piece: a killed worker repeats nothing. */
export async function continueCsvExport<Input>(db: Pool, list: CsvExport<Input>, job: JobId) {
  for (let chunk = 1; chunk <= CHUNKS_PER_JOB; chunk++)
    if (!(await transact(db, (tx) => exportChunk(tx, list, job, { isLast: chunk === CHUNKS_PER_JOB })))) return
}

/** Returns whether the job goes on here. */
async function exportChunk<Input>(tx: Tx, list: CsvExport<Input>, job: JobId, { isLast }: { isLast: boolean }): Promise<boolean> {
  const taken = await lockJob<Input, Position>(tx, job)
  if (!taken) return false
  const { input, position } = taken
  const before = (taken.result as Result | null) ?? { exportedCount: 0, bytes: 0 }
  const query = await list.select(tx, { projectId: job.projectId, input, after: position?.after, limit: SCANNED_ROWS })
  if ('failure' in query) return failJob(tx, job, query.failure).then(() => false)
  const { rows, hasMore } = await readPage(tx, query, SCANNED_ROWS)
  const columns = list.columns(input)
  const cellsOf = list.cellsOf ?? ((row) => columns.map((column) => row[column]))
  const matching = rows.filter(({ matches }) => matches)
  const header = position ? '' : `${BYTE_ORDER_MARK}${columns.join(',')}\r\n`
  const content = header + matching.map((row) => `${cellsOf(row, input).map(printCell).join(',')}\r\n`).join('')
  if (content) await savePiece(tx, job, { piece: position?.piece ?? 0, content })
  const result: Result = { exportedCount: before.exportedCount + matching.length, bytes: before.bytes + Buffer.byteLength(content) }
  if (result.bytes > MAX_BYTES) return failJob(tx, job, TOO_LARGE).then(() => false)
  if (!hasMore) return completeJob(tx, job, result).then(() => false)
  const last = { position: rows.at(-1)!.position, scanned: (position?.scanned ?? 0) + rows.length }
  const next: Position = { after: last.position, piece: (position?.piece ?? 0) + (content ? 1 : 0), scanned: last.scanned }
  await advanceJob(tx, job, { position: next, result, progress: list.progressAt(input, last) * 100 })
  if (isLast) await enqueue(tx, list.job, job)
  return !isLast
}

const TOO_LARGE = `The file would be larger than ${MAX_BYTES / MB} MB. Export a part of the list.`

/** Numbers are not prefixed: a minus sign does not make them formulas. */
function printCell(value: unknown) {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return csvCell(typeof value === 'string' ? value : value instanceof Date ? value.toISOString() : JSON.stringify(value))
}
