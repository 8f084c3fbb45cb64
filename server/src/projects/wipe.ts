import { sql } from 'kysely'
import { maybeOne, type Pool, type Tx, transact } from '../db/index.ts'

/** Removes up to `limit` of a project's rows that are older than `before`; returns how many it found. */
export type Wiper = (tx: Tx, what: { projectId: string; before: string; limit: number }) => Promise<number>

const CHUNK = 1_000

/**
 * Takes one requested wipe and removes what it names, table by table in short transactions, so that nobody waits for a
 * large project. Killed midway it starts over; what is gone costs nothing. Returns false when there is nothing to do.
 */
export async function wipeNext(db: Pool, wipers: Wiper[]): Promise<boolean> {
  const wipe = await maybeOne(
    db,
    // As text: a Date would cut the microseconds off and never quite reach the row it came from.
    sql<{
      projectId: string
      before: string
    }>`select project_id as "projectId", requested_at::text as before from project_wipes order by requested_at limit 1`,
  )
  if (!wipe) return false
  for (const remove of wipers) while ((await transact(db, (tx) => remove(tx, { ...wipe, limit: CHUNK }))) > 0);
  await transact(db, (tx) => finish(tx, wipe))
  return true
}

async function finish(tx: Tx, { projectId, before }: { projectId: string; before: string }) {
  // Asked for again meanwhile: the row is newer than what was removed, and stays.
  await sql`delete from project_wipes where project_id = ${projectId} and requested_at <= ${before}::timestamptz`.execute(tx)
  await sql`delete from projects where id = ${projectId} and deleted_at is not null`.execute(tx)
}
