import { sql } from 'kysely'
import { many, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { databaseTime, olderTransactionsEnded } from '../db/running.ts'
import type { WipeScope } from '../db/wipe-rows.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** Removes up to `limit` of a project's rows that are older than `before`; returns how many it found. */
export type Wiper = (tx: Tx, scope: WipeScope) => Promise<number>

/** Removes what was written since `before` about rows that are gone; returns how many it found. */
export type Sweep = (db: Pool, scope: Omit<WipeScope, 'limit'>) => Promise<number>

const CHUNK = 1_000
const WORK_MS = 1_000
const LOOK_AGAIN_SECONDS = 1

/**
 * Removes what a reset or deletion asked for, table by table in short transactions, so that nobody waits for a large
 * project. Killed midway it starts over; what is gone costs nothing.
 *
 * Transactions that began earlier may still add rows, or facts about rows that are removed meanwhile: an email that was leaving is
 * settled. So it goes in rounds, each after all transactions that ran at the end of the one before, until a round finds nothing.
 * `since`: the end of such a round, when waiting took longer than one job may.
 */
export async function wipeProject(
  db: Pool,
  { projectId, since }: { projectId: string; since?: string },
  { wipers, sweep }: { wipers: Wiper[]; sweep: Sweep },
) {
  const wipe = await maybeOne(
    db,
    // As text: a Date would cut the microseconds off and never quite reach the row it came from.
    sql<{ before: string; deleted: boolean }>`
      select w.requested_at::text as before, p.deleted_at is not null as deleted
      from project_wipes w join projects p on p.id = w.project_id where w.project_id = ${projectId}
    `,
  )
  if (!wipe) return
  // Of a deleted project everything goes, also what a request under way wrote a moment later.
  const scope: WipeScope = { projectId, before: wipe.deleted ? 'infinity' : wipe.before, limit: CHUNK }
  const goOn = (payload: { since?: string }, delaySeconds = 0) =>
    transact(db, (tx) => enqueue(tx, 'projects.wipe', { projectId, ...payload }, { delaySeconds }))

  for (let roundEnd = since; ; ) {
    if (roundEnd && !(await olderTransactionsEnded(db, roundEnd))) return goOn({ since: roundEnd }, LOOK_AGAIN_SECONDS)
    const removed = await removeAll(db, wipers, scope)
    // The rest is a new job, with all its attempts; a worker that wants to stop waits for this one only.
    if (removed === 'some') return goOn({})
    const swept = wipe.deleted ? 0 : await sweep(db, scope)
    if (roundEnd && !removed && !swept) return transact(db, (tx) => finish(tx, { projectId, before: wipe.before }))
    roundEnd = await databaseTime(db)
  }
}

/** How many rows there were, or `some` when the time was not enough for all of them. */
async function removeAll(db: Pool, wipers: Wiper[], scope: WipeScope): Promise<number | 'some'> {
  let removed = 0
  for (const deadline = performance.now() + WORK_MS; ; ) {
    const chunk = await removeSome(db, wipers, scope)
    if (!chunk) return removed
    removed += chunk
    if (performance.now() > deadline) return 'some'
  }
}

/** One chunk of the first table that has any left. */
async function removeSome(db: Pool, wipers: Wiper[], scope: WipeScope) {
  for (const remove of wipers) {
    const removed = await transact(db, (tx) => remove(tx, scope))
    if (removed) return removed
  }
  return 0
}

/** For those whose job was given up: asked for again until it is done. */
export const resumeWipes = async (tx: Tx) => {
  const waiting = await many(
    tx,
    sql<{
      projectId: string
    }>`select project_id as "projectId" from project_wipes where requested_at < now() - interval '10 minutes' limit 1000`,
  )
  for (const { projectId } of waiting) await enqueue(tx, 'projects.wipe', { projectId }, { key: `projects.wipe:${projectId}` })
}

async function finish(tx: Tx, { projectId, before }: { projectId: string; before: string }) {
  // Asked for again meanwhile: the row is newer than what was removed, and stays for the job that came with it.
  await sql`delete from project_wipes where project_id = ${projectId} and requested_at <= ${before}::timestamptz`.execute(tx)
  await sql`delete from projects where id = ${projectId} and deleted_at is not null`.execute(tx)
}
