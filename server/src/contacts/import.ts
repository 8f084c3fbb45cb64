import { type Pool, type Tx, transact } from '../db/index.ts'
import { isBadData } from '../db/sql-state.ts'
import { enqueue } from '../jobs/enqueue.ts'
import {
  advanceJob,
  completeJob,
  countUnfinished,
  failJob,
  type JobId,
  keepFile,
  queueJob,
  readPiece,
  readProgress,
  saveErrors,
  takeJob,
} from '../jobs/job.ts'
import { fail } from '../lib/errors.ts'
import { type CsvRow, type Layout, type Place, readLayout, readRows } from './csv.ts'
import { inPieces, PIECE, toUtf8 } from './csv-encoding.ts'
import { CsvUnreadable } from './csv-records.ts'
import { jobSource } from './source.ts'
import type { Source } from './subscription.ts'
import { mergeWanted, upsertContacts, want } from './upsert.ts'

const CHUNK = 1_000
const PARTS = 10
/** About a second of work for one job; then the next job goes on, and a kill costs no more than one of its attempts. */
const CHUNKS_PER_JOB = 10

/** Unfinished imports of one project: bounds the files and failing rows it can pile up. */
const MAX_UNFINISHED = 10
const RETRY_AFTER_SECONDS = 10

type Input = { totalRows: number; layout: Layout; startedBy?: Source }
type Result = { totalRows: number; successCount: number; createdCount: number; updatedCount: number; failureCount: number }
type GoodRow = Extract<CsvRow, { patch: unknown }>

const NOTHING: Result = { totalRows: 0, successCount: 0, createdCount: 0, updatedCount: 0, failureCount: 0 }

const isGood = (row: CsvRow): row is GoodRow => 'patch' in row

/**
 * Refuses a file of another kind at once. Only the header is read here; broken rows are found by the job. Everything that looks at
 * the whole file goes in pieces, between which the event loop turns.
 */
export async function queueImport(db: Pool, projectId: string, { uploaded, startedBy }: { uploaded: Buffer; startedBy: Source }) {
  const content = await toUtf8(uploaded)
  const input: Input = { layout: await readLayout(content), totalRows: await countLines(content), startedBy }
  return transact(db, async (tx) => {
    await refuseTooMany(tx, projectId)
    const jobId = await queueJob(tx, 'contacts.import', { projectId, type: 'import', input })
    await keepFile(tx, { projectId, jobId }, content)
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
 * Goes on where the job stands. Its place in the file moves in the transaction that writes the chunk, so a kill repeats
 * nothing and loses nothing.
 */
export async function continueImport(db: Pool, job: JobId) {
  const stand = await readProgress<Input, Place>(db, job)
  if (!stand) return
  const { layout } = stand.input
  let place = stand.position ?? layout.header
  let chunks = 0
  for await (const { rows, end } of inChunks(readRows(piecesAfter(db, job, place.byte), layout, place))) {
    const isEnough = !end && ++chunks === CHUNKS_PER_JOB
    const written = await writeChunk(db, job, { rows, place, next: end ?? (isEnough ? 'queue' : 'stay') })
    if (!written || isEnough) return
    place = placeAfter(rows) ?? place
  }
}

async function* piecesAfter(db: Pool, job: JobId, start: number): AsyncGenerator<Buffer> {
  for (let from = start; ; from += PIECE) {
    const piece = await readPiece(db, job, { from, length: PIECE })
    if (!piece?.length) return
    yield piece
  }
}

type Next = 'stay' | 'queue' | 'complete' | { failure: string }

/** The last one has an end: it completes the job, or fails it when the rest of the file cannot be read. */
async function* inChunks(source: AsyncIterable<CsvRow>): AsyncGenerator<{ rows: CsvRow[]; end?: Next }> {
  let rows: CsvRow[] = []
  try {
    for await (const row of source) {
      rows.push(row)
      if (rows.length === CHUNK) {
        yield { rows }
        rows = []
      }
    }
  } catch (err) {
    if (!(err instanceof CsvUnreadable)) throw err
    return yield { rows, end: { failure: err.message } }
  }
  yield { rows, end: 'complete' }
}

const placeAfter = (rows: CsvRow[]): Place | undefined => {
  const last = rows.at(-1)
  return last && placeOf(last)
}
const placeOf = ({ row, byte, line }: Place): Place => ({ row, byte, ...(line === undefined ? {} : { line }) })

type Chunk = { rows: CsvRow[]; place: Place; next: Next }

/** False when someone else has advanced this job meanwhile. */
async function writeChunk(db: Pool, job: JobId, given: Chunk): Promise<boolean> {
  try {
    return await transact(db, (tx) => applyChunk(tx, job, given))
  } catch (err) {
    if (!isBadData(err)) throw err
    return given.rows.length === 1 ? transact(db, (tx) => applyChunk(tx, job, refuseRow(given))) : writeInParts(db, job, given)
  }
}

/** Some row of it cannot be stored. Ever smaller parts find which, and nobody waits for a long transaction meanwhile. */
async function writeInParts(db: Pool, job: JobId, { rows, place, next }: Chunk) {
  const size = Math.ceil(rows.length / PARTS)
  for (let from = 0, at = place; from < rows.length; from += size) {
    const part = rows.slice(from, from + size)
    const last = from + size >= rows.length
    if (!(await writeChunk(db, job, { rows: part, place: at, next: last ? next : 'stay' }))) return false
    at = placeAfter(part)!
  }
  return true
}

const refuseRow = ({ rows: [row], ...rest }: Chunk): Chunk => ({
  ...rest,
  rows: [{ ...placeOf(row!), email: row!.email, error: 'The data of this contact is too large or cannot be stored' }],
})

async function applyChunk(tx: Tx, job: JobId, { rows, place, next }: Chunk) {
  const taken = await takeJob<Input, Place>(tx, job)
  if (!taken) return false
  if ((taken.position ?? taken.input.layout.header).byte !== place.byte) {
    // Whoever was faster may be dying: leave an order behind, so that someone goes on in any case.
    await enqueue(tx, 'contacts.import', job)
    return false
  }
  const before = (taken.result as Result | null) ?? NOTHING
  const created = await upsertRows(tx, { ...job, startedBy: taken.input.startedBy, rows: rows.filter(isGood) })
  const errors = rows.flatMap((row) => (isGood(row) ? [] : row))
  await saveErrors(
    tx,
    job,
    errors.map(({ row, email, error }) => ({ row, subject: email, error })),
  )

  const good = rows.length - errors.length
  const result: Result = {
    totalRows: before.totalRows + rows.length,
    successCount: before.successCount + good,
    createdCount: before.createdCount + created,
    updatedCount: before.updatedCount + good - created,
    failureCount: before.failureCount + errors.length,
  }
  if (next === 'complete') await completeJob(tx, job, result)
  else await advanceJob(tx, job, { position: placeAfter(rows) ?? place, result, progress: shareOf(result, taken.input) })
  if (next === 'queue') await enqueue(tx, 'contacts.import', job)
  if (typeof next === 'object') await failJob(tx, job, next.failure)
  return true
}

const shareOf = (done: Result, { totalRows }: Input) => (done.totalRows / Math.max(1, totalRows)) * 100

type ToUpsert = JobId & { startedBy: Source | undefined; rows: GoodRow[] }

/** Returns how many of them are new. */
async function upsertRows(tx: Tx, { projectId, jobId, startedBy, rows }: ToUpsert) {
  if (!rows.length) return 0
  const source = jobSource('import', jobId, startedBy)
  const contacts = mergeWanted(rows.map((row) => want({ ...row, projectId, subscribedIfNew: true, source })))
  const find = await upsertContacts(tx, contacts)
  return contacts.filter(({ email }) => find(projectId, email).isNew).length
}
