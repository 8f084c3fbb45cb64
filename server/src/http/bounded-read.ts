import { type RawBuilder, sql } from 'kysely'
import { countRows, type Db, one, type Pool, type Tx, transact } from '../db/index.ts'
import { isStatementTimeout } from '../db/sql-state.ts'
import { AppError } from '../lib/errors.ts'

/** Runs a read whose cost depends on its filter. A read that takes too long is a 503 with advice, not a burden for others. */
export const readWithin = <T>(db: Pool, { ms, advice }: { ms: number; advice: string }, read: (tx: Tx) => Promise<T>): Promise<T> =>
  inTime(db, ms, read).catch((err) => {
    if (!isStatementTimeout(err)) throw err
    throw new AppError('SERVICE_UNAVAILABLE', {
      message: `The search took longer than ${ms / 1_000} s. ${advice}`,
      retryAfter: 1,
      cause: err,
    })
  })

/** The number of rows of a query, exact up to `upTo`, and the planner's estimate beyond it or when counting takes too long. */
export async function countWithin(db: Pool, rows: RawBuilder<unknown>, { upTo, ms }: { upTo: number; ms: number }): Promise<number> {
  const count = await inTime(db, ms, (tx) => countRows(tx, sql`${rows} limit ${upTo}`)).catch((err) =>
    isStatementTimeout(err) ? undefined : Promise.reject(err),
  )
  return count !== undefined && count < upTo ? count : Math.max(count ?? 0, await estimateRows(db, rows))
}

const inTime = <T>(db: Pool, ms: number, read: (tx: Tx) => Promise<T>) =>
  transact(db, async (tx) => {
    await sql`set local statement_timeout = ${sql.lit(ms)}`.execute(tx)
    return read(tx)
  })

async function estimateRows(db: Db, rows: RawBuilder<unknown>) {
  const { 'QUERY PLAN': plan } = await one(db, sql<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>`explain (format json) ${rows}`)
  return Math.round(plan[0].Plan['Plan Rows'])
}
