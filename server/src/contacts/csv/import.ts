import { setImmediate as nextTurn } from 'node:timers/promises'
import { isBadData } from '../../db/errors/sql-state.ts'
import { type Pool, type Tx, transact } from '../../db/index.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import {
  advanceJob,
  completeJob,
  countUnfinished,
  failJob,
  type JobId,
  lockJob,
  queueJob,
  readFileSlice,
  readProgress,
  saveErrors,
  saveFile,
} from '../../jobs/job.ts'
import { createPacer } from '../../lib/concurrency/pacer.ts'
import { fail, notFound } from '../../lib/errors/errors.ts'
import { isId } from '../../lib/id.ts'
import { mergeUpserts, toUpsert, upsertAndCount, upsertContacts } from '../changes/upsert.ts'
import { jobSource } from '../record/source.ts'
import type { Source } from '../record/subscription.ts'
import type { SegmentAccess } from '../selection/segment-access.ts'
import { type CsvRow, type FilePosition, type Layout, readLayout, readRows } from './csv.ts'
import { inPieces, PIECE, toUtf8 } from './csv-encoding.ts'
import type { ColumnMapping } from './csv-mapping.ts'
import { CsvUnreadable } from './csv-records.ts'

const CHUNK = 1_000
const PARTS = 10
/** About a second of work; then a new job continues, so that a killed worker costs at most one attempt of it. */
const CHUNKS_PER_JOB = 10

/** Unfinished imports per project: bounds its stored files and invalid rows. */
const MAX_UNFINISHED = 10
const RETRY_AFTER_SECONDS = 10

/** `segmentId`: the static segment to add all imported contacts to. `rowsBefore`: rows in earlier parts of the same file. */
type Input = { totalRows: number; layout: Layout; startedBy: Source; segmentId?: string; rowsBefore?: number }
type Upload = {
  uploaded: Buffer
  mapping?: ColumnMapping | undefined
  segmentId?: string | undefined
  rowsBefore: number
  startedBy: Source
}
type Deps = { db: Pool; segments: SegmentAccess }
type ValidRow = Extract<CsvRow, { patch: unknown }>

const NO_ROWS = { totalRows: 0, successCount: 0, createdCount: 0, updatedCount: 0, failureCount: 0 }
type Result = typeof NO_ROWS

const isValid = (row: CsvRow): row is ValidRow => 'patch' in row

/**
 * Refuses a file that is not CSV. Reads only the header; the job finds invalid rows. The whole file is only processed in pieces, yielding
 * to the event loop between them.
 */
export async function queueImport({ db, segments }: Deps, projectId: string, upload: Upload) {
  const { uploaded, mapping, segmentId, rowsBefore, startedBy } = upload
  // Checked again below: reading the file would cost more than this answer.
  await transact(db, (tx) => refuseTooMany(tx, projectId))
  const content = await toUtf8(uploaded)
  const input: Input = {
    layout: await readLayout(content, { mapping }),
    totalRows: await countLines(content),
    startedBy,
    ...(segmentId ? { segmentId } : {}),
    ...(rowsBefore ? { rowsBefore } : {}),
  }
  return transact(db, async (tx) => {
    await refuseTooMany(tx, projectId)
    if (segmentId && !(isId(segmentId) && (await segments.lock(tx, { projectId, segmentId })))) notFound('segment', segmentId)
    const jobId = await queueJob(tx, 'contacts.import', { projectId, type: 'import', input })
    await saveFile(tx, { projectId, jobId }, content)
    return jobId
  })
}

async function refuseTooMany(tx: Tx, projectId: string) {
  if ((await countUnfinished(tx, { projectId, type: 'import' })) < MAX_UNFINISHED) return
  fail('RATE_LIMIT_EXCEEDED', {
    message: `This project has ${MAX_UNFINISHED} unfinished imports. Upload the next file when one of them has finished.`,
    retryAfter: RETRY_AFTER_SECONDS,
  })
}

async function countLines(content: Buffer) {
  let lines = 0
  for await (const piece of inPieces(content)) for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) lines++
  return lines
}

/**
 * Continues at the job's position. The position moves in the transaction that writes the chunk, so a killed worker repeats nothing and
 * loses nothing.
 */
export async function continueImport(deps: Deps, job: JobId) {
  const { db } = deps
  const progress = await readProgress<Input, FilePosition>(db, job)
  if (!progress) return
  const { layout } = progress.input
  let place = progress.position ?? layout.header
  const chunks = inChunks(readRows(piecesAfter(db, job, place.byte), layout, place))
  const yieldToOthers = createPacer()
  let ahead = chunks.next()
  for (let count = 1; ; count++) {
    const { value: chunk } = await ahead
    if (!chunk) return
    const { rows, end } = chunk
    const isLast = end !== undefined || count === CHUNKS_PER_JOB
    if (!isLast) ahead = readAhead(chunks)
    const written = await writeChunk(deps, job, { rows, place, next: end ?? (isLast ? 'queue' : 'stay') })
    await yieldToOthers()
    if (!written || isLast) return
    place = positionAfter(rows) ?? place
  }
}

/** The next chunk is parsed while the database writes this one. Its failure counts when its turn comes. */
function readAhead<Item>(items: AsyncGenerator<Item, void>) {
  const next = items.next()
  next.catch(() => {})
  return next
}

async function* piecesAfter(db: Pool, job: JobId, start: number): AsyncGenerator<Buffer> {
  for (let from = start; ; from += PIECE) {
    const piece = await readFileSlice(db, job, { from, length: PIECE })
    if (!piece?.length) return
    yield piece
  }
}

type Next = 'stay' | 'queue' | 'complete' | { failure: string }

/** The last chunk has an `end`: it completes the job, or fails it if the rest of the file cannot be parsed. */
async function* inChunks(source: AsyncIterable<CsvRow[]>): AsyncGenerator<{ rows: CsvRow[]; end?: Next }, void> {
  let rows: CsvRow[] = []
  try {
    for await (const some of source) {
      rows = rows.concat(some)
      await nextTurn()
      if (rows.length < CHUNK) continue
      yield { rows: rows.slice(0, CHUNK) }
      rows = rows.slice(CHUNK)
    }
  } catch (err) {
    if (!(err instanceof CsvUnreadable)) throw err
    return yield { rows, end: { failure: err.message } }
  }
  yield { rows, end: 'complete' }
}

const positionAfter = (rows: CsvRow[]): FilePosition | undefined => {
  const last = rows.at(-1)
  return last && positionOf(last)
}
const positionOf = ({ row, byte, line }: FilePosition): FilePosition => ({ row, byte, ...(line === undefined ? {} : { line }) })

type Chunk = { rows: CsvRow[]; place: FilePosition; next: Next }

/** Returns false if another worker has advanced the job meanwhile. */
async function writeChunk(deps: Deps, job: JobId, chunk: Chunk): Promise<boolean> {
  const { db, segments } = deps
  try {
    return await transact(db, (tx) => applyChunk(tx, segments, job, chunk))
  } catch (err) {
    if (!isBadData(err)) throw err
    return chunk.rows.length === 1 ? transact(db, (tx) => applyChunk(tx, segments, job, refuseRow(chunk))) : writeInParts(deps, job, chunk)
  }
}

/** Finds the row that cannot be stored by writing ever smaller parts, each in a short transaction. */
async function writeInParts(deps: Deps, job: JobId, { rows, place, next }: Chunk) {
  const size = Math.ceil(rows.length / PARTS)
  for (let from = 0, at = place; from < rows.length; from += size) {
    const part = rows.slice(from, from + size)
    const last = from + size >= rows.length
    if (!(await writeChunk(deps, job, { rows: part, place: at, next: last ? next : 'stay' }))) return false
    at = positionAfter(part)!
  }
  return true
}

const refuseRow = ({ rows: [row], ...rest }: Chunk): Chunk => ({
  ...rest,
  rows: [{ ...positionOf(row!), email: row!.email, error: 'The data of this contact is too large or cannot be stored' }],
})

async function applyChunk(tx: Tx, segments: SegmentAccess, job: JobId, { rows, place, next }: Chunk) {
  const taken = await lockJob<Input, FilePosition>(tx, job)
  if (!taken) return false
  if ((taken.position ?? taken.input.layout.header).byte !== place.byte) {
    // The worker that advanced the job may be crashing: enqueue it, so that some worker continues.
    await enqueue(tx, 'contacts.import', job)
    return false
  }
  const { segmentId, startedBy, rowsBefore = 0 } = taken.input
  if (segmentId && !(await segments.lock(tx, { projectId: job.projectId, segmentId }))) {
    await failJob(tx, job, 'The segment was deleted.')
    return false
  }
  const before = (taken.result as Result | null) ?? NO_ROWS
  const { created, ids } = await upsertRows(tx, { ...job, startedBy, rows: rows.filter(isValid), withIds: segmentId !== undefined })
  if (segmentId && ids.length) await segments.add(tx, { projectId: job.projectId, segmentId, contactIds: ids })
  const errors = rows.flatMap((row) => (isValid(row) ? [] : { row: row.row + rowsBefore, subject: row.email, error: row.error }))
  await saveErrors(tx, job, errors)

  const validCount = rows.length - errors.length
  const result: Result = {
    totalRows: before.totalRows + rows.length,
    successCount: before.successCount + validCount,
    createdCount: before.createdCount + created,
    updatedCount: before.updatedCount + validCount - created,
    failureCount: before.failureCount + errors.length,
  }
  if (next === 'complete') await completeJob(tx, job, result)
  else await advanceJob(tx, job, { position: positionAfter(rows) ?? place, result, progress: progressOf(result, taken.input) })
  if (next === 'queue') await enqueue(tx, 'contacts.import', job)
  if (typeof next === 'object') await failJob(tx, job, next.failure)
  return true
}

const progressOf = (done: Result, { totalRows }: Input) => (done.totalRows / Math.max(1, totalRows)) * 100

type ToUpsert = JobId & { startedBy: Source; rows: ValidRow[]; withIds: boolean }

/** Returns the number of new contacts, and with `withIds` the ids of all. */
async function upsertRows(tx: Tx, { projectId, jobId, startedBy, rows, withIds }: ToUpsert) {
  if (!rows.length) return { created: 0, ids: [] }
  const source = jobSource('import', jobId, startedBy)
  const contacts = mergeUpserts(rows.map((row) => toUpsert({ ...row, projectId, subscribedIfNew: true, source })))
  if (!withIds && contacts.every(({ choices }) => !choices.length)) return { created: await upsertAndCount(tx, contacts), ids: [] }
  const find = await upsertContacts(tx, contacts)
  const found = contacts.map(({ email }) => find(projectId, email))
  return { created: found.filter(({ isNew }) => isNew).length, ids: found.map(({ id }) => id) }
}
