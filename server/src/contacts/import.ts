import { type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import {
  advanceJob,
  completeJob,
  failJob,
  type JobId,
  keepErrors,
  keepFile,
  queueJob,
  readFile,
  readPosition,
  takeJob,
} from '../jobs/job.ts'
import { type CsvRow, CsvUnreadable, decode, readCsv } from './csv.ts'
import { mergePatches } from './data.ts'
import { upsertContacts, type Wanted } from './upsert.ts'

const CHUNK = 2_000
const PARTS = 10
const HEADER_ROW = 1
/** About a second of work for one job; then the next job goes on, and a kill costs no more than one of its attempts. */
const CHUNKS_PER_JOB = 5

type Input = { totalRows: number }
type Position = { row: number }
type Result = { totalRows: number; successCount: number; createdCount: number; updatedCount: number; failureCount: number }
type GoodRow = Extract<CsvRow, { patch: unknown }>

const NOTHING: Result = { totalRows: 0, successCount: 0, createdCount: 0, updatedCount: 0, failureCount: 0 }

const isGood = (row: CsvRow): row is GoodRow => 'patch' in row

/** Refuses what is no CSV at once; everything else is found out row by row. */
export async function queueImport(db: Pool, projectId: string, content: Buffer) {
  let totalRows = 0
  for (const _ of decode(content).matchAll(/\n/g)) totalRows++
  for await (const _ of readCsv(content)) break
  return transact(db, async (tx) => {
    const jobId = await queueJob(tx, 'contacts.import', { projectId, type: 'import', input: { totalRows } satisfies Input })
    await keepFile(tx, { projectId, jobId }, content)
    return jobId
  })
}

/**
 * Goes on where the job stands. Reading the file again up to that row takes milliseconds, so the position is one number; it
 * moves in the transaction that writes the chunk, so a kill repeats nothing and loses nothing.
 */
export async function continueImport(db: Pool, job: JobId) {
  const file = await readFile(db, job)
  if (!file) return
  let position = (await readPosition<Position>(db, job))?.row ?? HEADER_ROW
  let chunks = 0
  try {
    for await (const chunk of chunksAfter(file.content, position)) {
      const last = chunk.length < CHUNK
      const more = !last && ++chunks === CHUNKS_PER_JOB
      const written = await writeChunk(db, job, { chunk, position, next: last ? 'complete' : more ? 'queue' : 'stay' })
      if (!written || more) return
      position = chunk.at(-1)?.row ?? position
    }
  } catch (err) {
    if (!(err instanceof CsvUnreadable)) throw err
    await transact(db, (tx) => failJob(tx, job, err.message))
  }
}

/** The last one is always short, and empty if need be: it ends the job. */
async function* chunksAfter(content: Buffer, position: number): AsyncGenerator<CsvRow[]> {
  let chunk: CsvRow[] = []
  for await (const row of readCsv(content)) {
    if (row.row <= position) continue
    chunk.push(row)
    if (chunk.length === CHUNK) {
      yield chunk
      chunk = []
    }
  }
  yield chunk
}

type Chunk = { chunk: CsvRow[]; position: number; next: 'stay' | 'queue' | 'complete' }

/** False when someone else has advanced this job meanwhile. */
async function writeChunk(db: Pool, job: JobId, given: Chunk): Promise<boolean> {
  try {
    return await transact(db, (tx) => applyChunk(tx, job, given))
  } catch (err) {
    if (!isBadData(err)) throw err
    return given.chunk.length === 1 ? transact(db, (tx) => applyChunk(tx, job, refuseRow(given))) : writeInParts(db, job, given)
  }
}

/** Some row of it cannot be stored. Ever smaller parts find which, and nobody waits for a long transaction meanwhile. */
async function writeInParts(db: Pool, job: JobId, { chunk, position, next }: Chunk) {
  const size = Math.ceil(chunk.length / PARTS)
  for (let from = 0, at = position; from < chunk.length; from += size) {
    const part = chunk.slice(from, from + size)
    const last = from + size >= chunk.length
    if (!(await writeChunk(db, job, { chunk: part, position: at, next: last ? next : 'stay' }))) return false
    at = part.at(-1)!.row
  }
  return true
}

const refuseRow = ({ chunk: [row], ...rest }: Chunk): Chunk => ({
  ...rest,
  chunk: [{ row: row!.row, email: row!.email, error: 'The data of this contact is too large or cannot be stored' }],
})

async function applyChunk(tx: Tx, job: JobId, { chunk, position, next }: Chunk) {
  const taken = await takeJob<Input, Position>(tx, job)
  if (!taken) return false
  if ((taken.position?.row ?? HEADER_ROW) !== position) {
    // Whoever was faster may be dying: leave an order behind, so that someone goes on in any case.
    await enqueue(tx, 'contacts.import', job)
    return false
  }
  const before = (taken.result as Result | null) ?? NOTHING
  const created = await upsertRows(tx, job, chunk.filter(isGood))
  const errors = chunk.flatMap((row) => (isGood(row) ? [] : row))
  await keepErrors(
    tx,
    job,
    errors.map(({ row, email, error }) => ({ row, subject: email, error })),
  )

  const good = chunk.length - errors.length
  const result: Result = {
    totalRows: before.totalRows + chunk.length,
    successCount: before.successCount + good,
    createdCount: before.createdCount + created,
    updatedCount: before.updatedCount + good - created,
    failureCount: before.failureCount + errors.length,
  }
  if (next === 'complete') await completeJob(tx, job, result)
  else
    await advanceJob(tx, job, {
      position: { row: chunk.at(-1)!.row },
      result,
      progress: (result.totalRows / Math.max(1, taken.input.totalRows)) * 100,
    })
  if (next === 'queue') await enqueue(tx, 'contacts.import', job)
  return true
}

/** Returns how many of them are new. */
async function upsertRows(tx: Tx, { projectId, jobId }: JobId, rows: GoodRow[]) {
  if (!rows.length) return 0
  const upserted = await upsertContacts(tx, { projectId, contacts: mergeRows(rows), source: { by: 'import', details: { jobId } } })
  return [...upserted.values()].filter(({ isNew }) => isNew).length
}

/** SQLSTATE classes of what rows can be guilty of: their data, a constraint, a size, and together the time they take. */
const isBadData = (err: unknown) => /^(22|23|54|57014)/.test((err as { code?: string }).code ?? '')

/** Rows of one address become one change, in the order of the file. */
function mergeRows(rows: GoodRow[]): Wanted[] {
  const merged = new Map<string, Wanted>()
  for (const { email, subscribed, patch } of rows) {
    const earlier = merged.get(email)
    merged.set(email, {
      email,
      subscribedIfNew: true,
      subscribed: subscribed ?? earlier?.subscribed,
      patch: earlier ? mergePatches(earlier.patch, patch) : patch,
    })
  }
  return [...merged.values()]
}
