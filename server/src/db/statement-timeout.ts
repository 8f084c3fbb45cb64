import { sql } from 'kysely'
import { isStatementTimeout } from './errors/sql-state.ts'
import { type Pool, type Tx, transact } from './index.ts'

/**
 * Runs reads with another limit per statement than the pool's. When a statement exceeds it, calls `orElse`, or returns undefined. On one processor: parallel
 * workers would build the same hash table each (3.0 s of CPU instead of 1.1 for a count over a million contacts), and one project's count
 * would occupy the whole database.
 */
export const withStatementTimeout = <Result, Other = undefined>(
  db: Pool,
  ms: number,
  read: (tx: Tx) => Promise<Result>,
  orElse?: () => Other | Promise<Other>,
): Promise<Result | Other> =>
  transact(db, async (tx) => {
    await sql`set local max_parallel_workers_per_gather = 0`.execute(tx)
    await sql`set local statement_timeout = ${sql.lit(Math.ceil(ms))}`.execute(tx)
    return read(tx)
  }).catch((err) => (isStatementTimeout(err) ? (orElse?.() as Other) : Promise.reject(err)))
