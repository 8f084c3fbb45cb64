import { sql } from 'kysely'
import { type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { advanceJob, awaitJob, completeJob, type JobId, lockJob, queueJob, workInPieces } from '../jobs/job.ts'
import { newId } from '../lib/id.ts'
import { countEvents } from './counts.ts'
import { reactToProject } from './listen.ts'
import { removeEvents } from './remove.ts'

/** Events per transaction: few enough that no other transaction waits noticeably. */
const PAGE = 2_000

/** Deletes all events with a name that exist now, in a job. Returns their number when it is done, or the number so far. */
export async function deleteByName(db: Pool, { projectId, name }: { projectId: string; name: string }) {
  const input: Input = { name, before: newId(), total: await countEvents(db, projectId, name) }
  const jobId = await transact(db, (tx) => queueJob(tx, 'events.delete-name', { projectId, type: 'delete-events', input }))
  return (await awaitJob<Result>(db, { projectId, jobId }))?.deletedCount ?? 0
}

/** `before`: newest possible id; events recorded after the request stay. */
type Input = { name: string; before: string; total: number }
type Result = { deletedCount: number }

/** Deletes pages for about a second, each in its own transaction; a new job does the rest. */
export const continueDeleteName = (db: Pool, job: JobId) => workInPieces((isLast) => transact(db, (tx) => removePage(tx, job, isLast)))

async function removePage(tx: Tx, job: JobId, last: boolean) {
  const taken = await lockJob<Input, null>(tx, job)
  if (!taken) return false
  const { name, before, total } = taken.input
  const removed = await removeEvents(tx, { projectId: job.projectId, which: sql`name = ${name} and id < ${before}`, limit: PAGE })
  const result: Result = { deletedCount: (taken.result?.deletedCount ?? 0) + removed }
  if (!removed) {
    await completeJob(tx, job, result)
    if (result.deletedCount) await reactToProject(tx, job.projectId, [`events-deleted:${name}`])
    return false
  }
  await advanceJob(tx, job, { position: null, result, progress: (result.deletedCount / Math.max(1, total)) * 100 })
  if (last) await enqueue(tx, 'events.delete-name', job)
  return true
}
