import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { countAffected, many, type Pool, type Tx, transact } from '../../db/index.ts'
import { reactToProject } from '../../events/listen.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { advanceJob, awaitJob, completeJob, type JobId, lockJob, queueJob, workInPieces } from '../../jobs/job.ts'
import { tryLater } from '../../lib/errors/errors.ts'
import { NIL_ID } from '../../lib/id.ts'
import { countContacts } from '../record/counts.ts'
import { unregisterField } from './fields.ts'

/** Contacts per transaction: few enough that a concurrent writer hardly waits. */
const PAGE = 2_000
const WAIT_FOR_WRITERS_MS = 5_000
const RETRY_MS = 30

/** Deletes a field from every contact in a job. Returns the number of contacts when it is done, or the number so far. */
export async function deleteField(db: Pool, { projectId, key }: { projectId: string; key: string }) {
  const jobId = await queueDeletion(db, { projectId, key })
  return (await awaitJob<{ deletedFrom: number }>(db, { projectId, jobId }))?.deletedFrom ?? 0
}

async function queueDeletion(db: Pool, { projectId, key }: { projectId: string; key: string }) {
  const { total } = await countContacts(db, projectId)
  for (const deadline = performance.now() + WAIT_FOR_WRITERS_MS; performance.now() < deadline; await sleep(RETRY_MS)) {
    const jobId = await transact(
      db,
      async (tx) =>
        (await unregisterField(tx, projectId, key)) &&
        queueJob(tx, 'contacts.delete-field', { projectId, type: 'delete-field', input: { key, total } }),
    )
    if (jobId) return jobId
  }
  throw tryLater('The contacts of this project are being updated continuously. Try again shortly.')
}

type Input = { key: string; total: number }
type Position = { after: string; looked: number; removed: number }
const START: Position = { after: NIL_ID, looked: 0, removed: 0 }

/** Processes pages for about a second, each in one transaction with the job's position; a new job does the rest. */
export const continueDeleteField = (db: Pool, job: JobId) => workInPieces((isLast) => transact(db, (tx) => removePage(tx, job, isLast)))

async function removePage(tx: Tx, job: JobId, last: boolean) {
  const taken = await lockJob<Input, Position>(tx, job)
  if (!taken) return false
  const { after, looked, removed } = taken.position ?? START
  const page = await removeFrom(tx, { projectId: job.projectId, key: taken.input.key, after })
  const result = { deletedFrom: removed + page.removed }
  if (!page.end) {
    await completeJob(tx, job, result)
    // A contact that got the key again during the job made it count before it was gone from the others.
    if (result.deletedFrom) await reactToProject(tx, job.projectId, [`field:${taken.input.key}`, 'contact'])
    return false
  }
  const position: Position = { after: page.end, looked: looked + PAGE, removed: result.deletedFrom }
  await advanceJob(tx, job, { position, result, progress: (position.looked / Math.max(1, taken.input.total)) * 100 })
  if (last) await enqueue(tx, 'contacts.delete-field', job)
  return true
}

/**
 * Scans one page of contacts and locks those that have the field, ordered by address: the same lock order as everywhere. Uses arrays of
 * ids instead of joins: before its first ANALYZE a large project would be joined row by row, which takes seconds.
 */
async function removeFrom(tx: Tx, { projectId, key, after }: { projectId: string; key: string; after: string }) {
  const page = await many<{ id: string; has: boolean }>(tx)`
    select id, data ? ${key} as has from contacts where project_id = ${projectId} and id > ${after} order by id limit ${PAGE}
  `
  const ids = page.filter(({ has }) => has).map(({ id }) => id)
  await sql`select 1 from contacts where project_id = ${projectId} and id = any(${ids}::uuid[]) order by email for no key update`.execute(
    tx,
  )
  const removed = await countAffected(tx)`
    update contacts set data = data - ${key}::text, updated_at = now() where project_id = ${projectId} and id = any(${ids}::uuid[])
  `
  return { end: page.at(-1)?.id, removed }
}
