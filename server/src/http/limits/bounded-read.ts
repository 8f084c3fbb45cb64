import { type RawBuilder, sql } from 'kysely'
import { countRows, type Db, one, type Pool, type Tx } from '../../db/index.ts'
import { withStatementTimeout } from '../../db/statement-timeout.ts'
import { fail } from '../../lib/errors/errors.ts'

/** Runs a read whose cost depends on its filter. A read that takes too long is a 503 with advice, not a burden for others. */
export const searchWithin = <T>(db: Pool, { ms, advice }: { ms: number; advice: string }, read: (tx: Tx) => Promise<T>): Promise<T> =>
  withStatementTimeout(db, ms, read, () =>
    fail('SERVICE_UNAVAILABLE', { message: `The search took longer than ${ms / 1_000} s. ${advice}`, retryAfter: 1 }),
  )

type Bounds = {
  upTo: number
  ms: number
  /** Selects the same rows without a limit of its own, if the query has one. */
  estimated?: RawBuilder<unknown>
}

/** The number of rows of a query, exact up to `upTo`, and the planner's estimate beyond it or when counting takes too long. */
export async function countWithin(db: Pool, rows: RawBuilder<unknown>, { upTo, ms, estimated = rows }: Bounds): Promise<number> {
  const count = await withStatementTimeout(db, ms, (tx) => countRows(tx, sql`select from (${rows}) as counted limit ${upTo}`))
  return count !== undefined && count < upTo ? count : Math.max(count ?? 0, await estimateRows(db, estimated))
}

async function estimateRows(db: Db, rows: RawBuilder<unknown>) {
  const { 'QUERY PLAN': plan } = await one<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(db)`explain (format json) ${rows}`
  return Math.round(plan[0].Plan['Plan Rows'])
}
