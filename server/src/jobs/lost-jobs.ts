import type { WorkerEvents } from 'graphile-worker'
import { countAffected, type Tx } from '../db/index.ts'

/** A job that was taken longer ago runs in its process. For as long the note that a job has ended may be on its way. */
const GRACE_SECONDS = 5

/** The ids of the jobs that run in this process, and of those that have just ended. */
export function watchRunningJobs(events: WorkerEvents, now = () => performance.now()) {
  /** Until when each counts. */
  const jobs = new Map<string, number>()
  events.on('job:start', ({ job }) => jobs.set(job.id, Number.POSITIVE_INFINITY))
  events.on('job:complete', ({ job }) => jobs.set(job.id, now() + GRACE_SECONDS * 1_000))
  return () => {
    for (const [id, until] of jobs) if (until < now()) jobs.delete(id)
    return [...jobs.keys()]
  }
}

/**
 * Unlocks the jobs that this process holds but does not run: a connection was lost while the queue took them or noted their end. The queue
 * itself would wait four hours. Returns their number. A job that runs again does what it has not done yet.
 */
export const freeLostJobs = (tx: Tx, { workerIds, running }: { workerIds: string[]; running: string[] }) =>
  countAffected(tx)`
    with lost as (
      update graphile_worker._private_jobs set locked_by = null, locked_at = null
      where locked_by = any(${workerIds}::text[]) and id <> all(${running}::bigint[])
        and locked_at < now() - make_interval(secs => ${GRACE_SECONDS})
      returning job_queue_id
    ), names as (
      update graphile_worker._private_job_queues set locked_by = null, locked_at = null
      where id in (select job_queue_id from lost) and locked_by = any(${workerIds}::text[])
    )
    select from lost
  `
