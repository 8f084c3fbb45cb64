import { sql } from 'kysely'
import { many, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'

/** Removes up to `limit` of a project's rows that are older than `before`; returns how many it found. */
export type Wiper = (tx: Tx, what: { projectId: string; before: string; limit: number }) => Promise<number>

const CHUNK = 1_000
const WORK_MS = 1_000

/**
 * Removes what a reset or deletion asked for, table by table in short transactions, so that nobody waits for a large
 * project. Killed midway it starts over; what is gone costs nothing.
 */
export async function wipeProject(db: Pool, projectId: string, wipers: Wiper[]) {
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
  const before = wipe.deleted ? 'infinity' : wipe.before
  for (const deadline = performance.now() + WORK_MS; ; ) {
    if (!(await removeSome(db, wipers, { projectId, before, limit: CHUNK }))) break
    // The rest is a new job, with all its attempts; a worker that wants to stop waits for this one only.
    if (performance.now() > deadline) return transact(db, (tx) => enqueue(tx, 'projects.wipe', { projectId }))
  }
  await transact(db, (tx) => finish(tx, { projectId, before: wipe.before }))
}

/** One chunk of the first table that has any left. */
async function removeSome(db: Pool, wipers: Wiper[], what: Parameters<Wiper>[1]) {
  for (const remove of wipers) {
    const removed = await transact(db, (tx) => remove(tx, what))
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
