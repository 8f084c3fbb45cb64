import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { countAffected, many, type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { advanceJob, awaitJob, completeJob, type JobId, queueJob, takeJob } from '../jobs/job.ts'
import { fail } from '../lib/errors.ts'
import { NIL_ID } from '../lib/id.ts'
import { countContacts } from './counts.ts'
import { forgetField } from './fields.ts'

/** Short enough that a writer of one of these contacts hardly notices. */
const PAGE = 2_000
const WORK_MS = 1_000
const WRITERS_MS = 5_000
const LOOK_EVERY_MS = 30

/** Removes a field from every contact, page by page in the background, and answers from how many when that is done, or so far. */
export async function deleteField(db: Pool, { projectId, key }: { projectId: string; key: string }) {
  const jobId = await queueDeletion(db, { projectId, key })
  return (await awaitJob<{ deletedFrom: number }>(db, { projectId, jobId }))?.deletedFrom ?? 0
}

async function queueDeletion(db: Pool, { projectId, key }: { projectId: string; key: string }) {
  const { total } = await countContacts(db, projectId)
  for (const deadline = performance.now() + WRITERS_MS; performance.now() < deadline; await sleep(LOOK_EVERY_MS)) {
    const jobId = await transact(
      db,
      async (tx) =>
        (await forgetField(tx, projectId, key)) &&
        queueJob(tx, 'contacts.delete-field', { projectId, type: 'delete-field', input: { key, total } }),
    )
    if (jobId) return jobId
  }
  return fail('SERVICE_UNAVAILABLE', {
    message: 'The contacts of this project are being written without a pause. Try again shortly.',
    retryAfter: 1,
  })
}

type Input = { key: string; total: number }
type Position = { after: string; looked: number; removed: number }
const START: Position = { after: NIL_ID, looked: 0, removed: 0 }

/** About a second of pages, each with the position in one commit; the rest is a new job. */
export async function continueDeleteField(db: Pool, job: JobId) {
  for (const deadline = performance.now() + WORK_MS; ; ) {
    const last = performance.now() > deadline
    const more = await transact(db, (tx) => removePage(tx, job, last))
    if (!more || last) return
  }
}

async function removePage(tx: Tx, job: JobId, last: boolean) {
  const taken = await takeJob<Input, Position>(tx, job)
  if (!taken) return false
  const { after, looked, removed } = taken.position ?? START
  const page = await removeFrom(tx, { projectId: job.projectId, key: taken.input.key, after })
  const result = { deletedFrom: removed + page.removed }
  if (!page.end) {
    await completeJob(tx, job, result)
    return false
  }
  const position: Position = { after: page.end, looked: looked + PAGE, removed: result.deletedFrom }
  await advanceJob(tx, job, { position, result, progress: (position.looked / Math.max(1, taken.input.total)) * 100 })
  if (last) await enqueue(tx, 'contacts.delete-field', job)
  return true
}

/**
 * Looks at so many contacts, whether or not they have it; locks those that do in the order of addresses, like everywhere.
 * By arrays of ids, not by joins: before its first ANALYZE a large project would be joined row by row, for seconds.
 */
async function removeFrom(tx: Tx, { projectId, key, after }: { projectId: string; key: string; after: string }) {
  const page = await many(
    tx,
    sql<{ id: string; has: boolean }>`
      select id, data ? ${key} as has from contacts where project_id = ${projectId} and id > ${after} order by id limit ${PAGE}
    `,
  )
  const ids = page.filter(({ has }) => has).map(({ id }) => id)
  await sql`select 1 from contacts where project_id = ${projectId} and id = any(${ids}::uuid[]) order by email for no key update`.execute(
    tx,
  )
  const removed = await countAffected(
    tx,
    sql`
      update contacts set data = data - ${key}::text, updated_at = now() where project_id = ${projectId} and id = any(${ids}::uuid[])
    `,
  )
  return { end: page.at(-1)?.id, removed }
}
