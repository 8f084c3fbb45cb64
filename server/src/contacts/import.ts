import { type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { advanceJob, completeJob, failJob, type JobId, keepErrors, keepFile, queueJob, readPiece, readStand, takeJob } from '../jobs/job.ts'
import { type CsvRow, CsvUnreadable, type Layout, type Place, readLayout, readRows, toUtf8 } from './csv.ts'
import { mergeWanted, upsertContacts, want } from './upsert.ts'

const CHUNK = 1_000
const PARTS = 10
/** Read from the database at a time: a few thousand rows, whatever the size of the file. */
const PIECE = 64 * 1024
/** About a second of work for one job; then the next job goes on, and a kill costs no more than one of its attempts. */
const CHUNKS_PER_JOB = 10

type Input = { totalRows: number; layout: Layout }
type Result = { totalRows: number; successCount: number; createdCount: number; updatedCount: number; failureCount: number }
type GoodRow = Extract<CsvRow, { patch: unknown }>

const NOTHING: Result = { totalRows: 0, successCount: 0, createdCount: 0, updatedCount: 0, failureCount: 0 }

const isGood = (row: CsvRow): row is GoodRow => 'patch' in row

/** Refuses what is no CSV at once; everything else is found out row by row. */
export async function queueImport(db: Pool, projectId: string, uploaded: Buffer) {
  const content = toUtf8(uploaded)
  const input: Input = { totalRows: countLines(content), layout: await readLayout(content) }
  return transact(db, async (tx) => {
    const jobId = await queueJob(tx, 'contacts.import', { projectId, type: 'import', input })
    await keepFile(tx, { projectId, jobId }, content)
    return jobId
  })
}

function countLines(content: Buffer) {
  let lines = 0
  for (let at = content.indexOf(10); at !== -1; at = content.indexOf(10, at + 1)) lines++
  return lines
}

/**
 * Goes on where the job stands. Its place in the file moves in the transaction that writes the chunk, so a kill repeats
 * nothing and loses nothing.
 */
export async function continueImport(db: Pool, job: JobId) {
  const stand = await readStand<Input, Place>(db, job)
  if (!stand) return
  const { layout } = stand.input
  let place = stand.position ?? layout.header
  let chunks = 0
  try {
    for await (const chunk of inChunks(readRows(piecesAfter(db, job, place.byte), layout, place))) {
      const last = chunk.length < CHUNK
      const more = !last && ++chunks === CHUNKS_PER_JOB
      const written = await writeChunk(db, job, { chunk, place, next: last ? 'complete' : more ? 'queue' : 'stay' })
      if (!written || more) return
      place = placeAfter(chunk) ?? place
    }
  } catch (err) {
    if (!(err instanceof CsvUnreadable)) throw err
    await transact(db, (tx) => failJob(tx, job, err.message))
  }
}

async function* piecesAfter(db: Pool, job: JobId, start: number): AsyncGenerator<Buffer> {
  for (let from = start; ; from += PIECE) {
    const piece = await readPiece(db, job, { from, length: PIECE })
    if (!piece?.length) return
    yield piece
  }
}

/** The last one is always short, and empty if need be: it ends the job. */
async function* inChunks(rows: AsyncIterable<CsvRow>): AsyncGenerator<CsvRow[]> {
  let chunk: CsvRow[] = []
  for await (const row of rows) {
    chunk.push(row)
    if (chunk.length === CHUNK) {
      yield chunk
      chunk = []
    }
  }
  yield chunk
}

const placeAfter = (chunk: CsvRow[]): Place | undefined => {
  const last = chunk.at(-1)
  return last && { row: last.row, byte: last.byte }
}

type Chunk = { chunk: CsvRow[]; place: Place; next: 'stay' | 'queue' | 'complete' }

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
async function writeInParts(db: Pool, job: JobId, { chunk, place, next }: Chunk) {
  const size = Math.ceil(chunk.length / PARTS)
  for (let from = 0, at = place; from < chunk.length; from += size) {
    const part = chunk.slice(from, from + size)
    const last = from + size >= chunk.length
    if (!(await writeChunk(db, job, { chunk: part, place: at, next: last ? next : 'stay' }))) return false
    at = placeAfter(part)!
  }
  return true
}

const refuseRow = ({ chunk: [row], ...rest }: Chunk): Chunk => ({
  ...rest,
  chunk: [{ row: row!.row, byte: row!.byte, email: row!.email, error: 'The data of this contact is too large or cannot be stored' }],
})

async function applyChunk(tx: Tx, job: JobId, { chunk, place, next }: Chunk) {
  const taken = await takeJob<Input, Place>(tx, job)
  if (!taken) return false
  if ((taken.position ?? taken.input.layout.header).byte !== place.byte) {
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
      position: placeAfter(chunk),
      result,
      progress: (result.totalRows / Math.max(1, taken.input.totalRows)) * 100,
    })
  if (next === 'queue') await enqueue(tx, 'contacts.import', job)
  return true
}

/** Returns how many of them are new. */
async function upsertRows(tx: Tx, { projectId, jobId }: JobId, rows: GoodRow[]) {
  if (!rows.length) return 0
  const source = { by: 'import' as const, details: { jobId } }
  const contacts = mergeWanted(rows.map((row) => want({ ...row, projectId, subscribedIfNew: true, source })))
  const find = await upsertContacts(tx, contacts)
  return contacts.filter(({ email }) => find(projectId, email).isNew).length
}

/** SQLSTATE classes of what rows can be guilty of: their data, a constraint, a size, and together the time they take. */
const isBadData = (err: unknown) => /^(22|23|54|57014)/.test((err as { code?: string }).code ?? '')
