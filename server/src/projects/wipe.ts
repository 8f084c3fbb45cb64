import { sql } from 'kysely'
import { many, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { databaseTime, olderTransactionsEnded } from '../db/running.ts'
import { OF_DELETED_PROJECT, type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** Deletes up to `limit` rows of a project that are older than `before`. Returns their number. */
export type Wiper = (tx: Tx, scope: WipeScope) => Promise<number>

/** A reset keeps them. */
export const wipeApiKeys: Wiper = (tx, scope) => wipeRows(tx, 'api_keys', scope, { which: OF_DELETED_PROJECT })

/** Deletes what a reset keeps: suspensions, and counts, without which it would lift a cap. */
export const PROJECT_WIPERS: Wiper[] = [
  (tx, scope) => wipeRows(tx, 'email_counts', scope, { key: ['kind', 'hour'], which: OF_DELETED_PROJECT }),
  (tx, scope) => wipeRows(tx, 'usage_periods', scope, { key: ['category'], which: OF_DELETED_PROJECT }),
  (tx, scope) => wipeRows(tx, 'suspensions', scope, { which: OF_DELETED_PROJECT }),
]

/** Deletes rows written since `before` that refer to deleted rows. Returns their number. */
export type Sweep = (db: Pool, scope: Omit<WipeScope, 'limit'>) => Promise<number>

const CHUNK = 1_000
const WORK_MS = 1_000
const RECHECK_SECONDS = 1

/**
 * Deletes the data of a reset or deleted project, table by table in short transactions, so that other projects never wait for a large
 * one. If the worker is killed, the job starts over; deleted rows cost nothing.
 *
 * Transactions that began earlier may still add rows, or rows that refer to deleted ones, for example when an email in flight is settled.
 * So it works in rounds: each starts after all transactions that ran at the end of the previous round have ended, until a round finds
 * nothing. `since`: end of the previous round, if those transactions outlasted the previous job.
 */
export async function wipeProject(
  db: Pool,
  { projectId, since }: { projectId: string; since?: string },
  { wipers, sweep }: { wipers: Wiper[]; sweep: Sweep },
) {
  const wipe = await maybeOne<{ before: string; deleted: boolean }>(db)`
    select w.requested_at::text as before, p.deleted_at is not null as deleted
    from project_wipes w join projects p on p.id = w.project_id where w.project_id = ${projectId}
  `
  if (!wipe) return
  // A deleted project loses all rows, including those that a running request writes later.
  const scope: WipeScope = { projectId, before: wipe.deleted ? 'infinity' : wipe.before, limit: CHUNK }
  const continueLater = (payload: { since?: string }, delaySeconds = 0) =>
    transact(db, (tx) => enqueue(tx, 'projects.wipe', { projectId, ...payload }, { delaySeconds }))

  for (let roundEnd = since; ; ) {
    if (roundEnd && !(await olderTransactionsEnded(db, roundEnd))) return continueLater({ since: roundEnd }, RECHECK_SECONDS)
    const removed = await removeAll(db, wipers, scope)
    // A new job does the rest, with fresh attempts; a worker that shuts down waits only for the current one.
    if (removed === 'some') return continueLater({})
    const swept = wipe.deleted ? 0 : await sweep(db, scope)
    if (roundEnd && !removed && !swept) return transact(db, (tx) => finish(tx, { projectId, before: wipe.before }))
    roundEnd = await databaseTime(db)
  }
}

/** Returns the number of deleted rows, or `some` if the time was not enough for all of them. */
async function removeAll(db: Pool, wipers: Wiper[], scope: WipeScope): Promise<number | 'some'> {
  let removed = 0
  for (const deadline = performance.now() + WORK_MS; ; ) {
    const chunk = await removeSome(db, wipers, scope)
    if (!chunk) return removed
    removed += chunk
    if (performance.now() > deadline) return 'some'
  }
}

/** Deletes one chunk of the first table that has rows left. */
async function removeSome(db: Pool, wipers: Wiper[], scope: WipeScope) {
  for (const remove of wipers) {
    const removed = await transact(db, (tx) => remove(tx, scope))
    if (removed) return removed
  }
  return 0
}

/** Enqueues unfinished wipes again: their job may have used up its attempts. */
export const resumeWipes = async (tx: Tx) => {
  const waiting = await many<{ projectId: string }>(tx)`
    select project_id as "projectId" from project_wipes where requested_at < now() - interval '10 minutes' limit 1000
  `
  for (const { projectId } of waiting) await enqueue(tx, 'projects.wipe', { projectId }, { key: `projects.wipe:${projectId}` })
}

async function finish(tx: Tx, { projectId, before }: { projectId: string; before: string }) {
  // If another wipe was requested meanwhile, its row is newer and stays for its own job.
  await sql`delete from project_wipes where project_id = ${projectId} and requested_at <= ${before}::timestamptz`.execute(tx)
  await sql`delete from projects where id = ${projectId} and deleted_at is not null`.execute(tx)
}
