import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, scalar } from './index.ts'

/** Database time as text with microseconds, which a Date would truncate. */
export const databaseTime = (db: Db) => scalar<string>(db)`select clock_timestamp()::text`

const POLL_MS = 20
const WAIT_MS = 1_000

/**
 * Waits up to a second for all transactions of Sterna that began before that time; false if one is still running. Afterwards no running
 * transaction has a snapshot from before. Only Sterna's own: a backup may read for hours, and writes nothing.
 */
export async function olderTransactionsEnded(db: Db, since: string): Promise<boolean> {
  for (const deadline = performance.now() + WAIT_MS; await hasOlder(db, since); await sleep(POLL_MS)) {
    if (performance.now() > deadline) return false
  }
  return true
}

const hasOlder = (db: Db, since: string) =>
  scalar<boolean>(db)`
    select exists (
      select from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name like 'sterna%'
        and xact_start <= ${since}::timestamptz)
  `
