import { sql } from 'kysely'
import { type Pool, type Tx, transact } from './index.ts'
import { isStatementTimeout } from './sql-state.ts'

/** Runs reads with another limit per statement than the pool's. Calls `orElse` when a statement exceeds it. */
export const readWithin = <Result, Other>(
  db: Pool,
  ms: number,
  read: (tx: Tx) => Promise<Result>,
  orElse: () => Other | Promise<Other>,
): Promise<Result | Other> =>
  transact(db, async (tx) => {
    await sql`set local statement_timeout = ${sql.lit(Math.ceil(ms))}`.execute(tx)
    return read(tx)
  }).catch((err) => (isStatementTimeout(err) ? orElse() : Promise.reject(err)))
