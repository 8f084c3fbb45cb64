import { sql } from 'kysely'
import { maybeOne, type Pool, type Tx, transact } from '../db/index.ts'

/** Removes up to `limit` of a project's rows that are older than `before`; returns how many it found. */
export type Wiper = (tx: Tx, what: { projectId: string; before: string; limit: number }) => Promise<number>

const CHUNK = 1_000

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
  for (const remove of wipers) while ((await transact(db, (tx) => remove(tx, { projectId, before, limit: CHUNK }))) > 0);
  await transact(db, (tx) => finish(tx, { projectId, before: wipe.before }))
}

async function finish(tx: Tx, { projectId, before }: { projectId: string; before: string }) {
  // Asked for again meanwhile: the row is newer than what was removed, and stays for the job that came with it.
  await sql`delete from project_wipes where project_id = ${projectId} and requested_at <= ${before}::timestamptz`.execute(tx)
  await sql`delete from projects where id = ${projectId} and deleted_at is not null`.execute(tx)
}
