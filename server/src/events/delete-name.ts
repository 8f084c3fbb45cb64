import { sql } from 'kysely'
import { type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { advanceJob, awaitJob, completeJob, type JobId, queueJob, takeJob } from '../jobs/job.ts'
import { newId } from '../lib/id.ts'
import { countEvents } from './counts.ts'
import { removeEvents } from './remove.ts'

/** Short enough that nobody notices. */
const PAGE = 2_000
const WORK_MS = 1_000

/** Removes every event of that name recorded so far, page by page in the background, and answers how many when that is done, or so far. */
export async function deleteByName(db: Pool, { projectId, name }: { projectId: string; name: string }) {
  const input: Input = { name, before: newId(), total: await countEvents(db, projectId, name) }
  const jobId = await transact(db, (tx) => queueJob(tx, 'events.delete-name', { projectId, type: 'delete-events', input }))
  return (await awaitJob<Result>(db, { projectId, jobId }))?.deletedCount ?? 0
}

/** `before`: what is recorded after the request stays. */
type Input = { name: string; before: string; total: number }
type Result = { deletedCount: number }

/** About a second of pages, each a commit of its own; the rest is a new job. */
export async function continueDeleteName(db: Pool, job: JobId) {
  for (const deadline = performance.now() + WORK_MS; ; ) {
    const last = performance.now() > deadline
    const more = await transact(db, (tx) => removePage(tx, job, last))
    if (!more || last) return
  }
}

async function removePage(tx: Tx, job: JobId, last: boolean) {
  const taken = await takeJob<Input, null>(tx, job)
  if (!taken) return false
  const { name, before, total } = taken.input
  const removed = await removeEvents(tx, { projectId: job.projectId, which: sql`name = ${name} and id < ${before}`, limit: PAGE })
  const result: Result = { deletedCount: (taken.result?.deletedCount ?? 0) + removed }
  if (!removed) {
    await completeJob(tx, job, result)
    return false
  }
  await advanceJob(tx, job, { position: null, result, progress: (result.deletedCount / Math.max(1, total)) * 100 })
  if (last) await enqueue(tx, 'events.delete-name', job)
  return true
}
