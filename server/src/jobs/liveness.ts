import { sql } from 'kysely'
import { type Pool, scalars, type Tx, transact } from '../db/index.ts'
import { isGone } from '../nodes/presence.ts'

/** Repeated on every sweep: a process that lost its lock for a moment, and was taken for dead, must be recorded again. */
const recordWorkers = (tx: Tx, { workerIds, livenessKey }: { workerIds: string[]; livenessKey: number }) =>
  sql`
    insert into job_workers (worker_id, liveness_key)
    select id, ${livenessKey} from unnest(${workerIds}::text[]) as id
    on conflict do nothing
  `.execute(tx)

/**
 * Unlocks the jobs of dead processes. The queue itself would wait four hours: it cannot tell a dead process from a slow one, as a liveness
 * lock can. A holder that was not recorded within 5 s died before it could be.
 */
export const freeDeadWorkers = (db: Pool, living: { workerIds: string[]; livenessKey: number }) =>
  transact(db, async (tx) => {
    await recordWorkers(tx, living)
    const dead = await scalars<string>(tx)`
      select worker_id from job_workers
      where liveness_key <> ${living.livenessKey} and ${isGone(sql<number>`liveness_key`)}
      union
      select locked_by from graphile_worker._private_jobs
      where locked_by is not null and locked_at < now() - interval '5 s' and locked_by not in (select worker_id from job_workers)
    `
    if (!dead.length) return
    await sql`select graphile_worker.force_unlock_workers(${dead}::text[])`.execute(tx)
    await sql`delete from job_workers where worker_id = any(${dead}::text[])`.execute(tx)
    // Unlocking does not notify: other workers would find the jobs only at their next poll.
    await announceJobs(tx)
  })

const ANNOUNCE = sql`pg_notify('jobs:insert', '{"count":100}')`

/** Makes workers of all nodes look for jobs now. */
export const announceJobs = (tx: Tx) => sql`select ${ANNOUNCE}`.execute(tx)

/**
 * The queue polls every ten seconds, and nothing announces that a job comes due, or that the name of its queue is unlocked. All our jobs have
 * priority 0: the index begins with it.
 */
export const announceDueJobs = (tx: Tx, sinceMs: number) =>
  sql`
    select ${ANNOUNCE} where exists (
      select from graphile_worker._private_jobs
      where is_available and priority = 0 and run_at > now() - make_interval(secs => ${sinceMs / 1_000}) and run_at <= now() and created_at < run_at
    ) or exists (
      select from graphile_worker._private_job_queues q where q.is_available and exists (
        select from graphile_worker._private_jobs j where j.job_queue_id = q.id and j.is_available and j.priority = 0 and j.run_at <= now()))
  `.execute(tx)
