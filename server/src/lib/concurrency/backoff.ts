import { type RawBuilder, sql } from 'kysely'
import { SECOND } from '../text/units.ts'

/** Milliseconds. */
type Waits = { first: number; longest: number }

/** Beyond it every wait is the longest; `2 ** n` has no end. */
const MAX_DOUBLINGS = 30

/** The wait after some failures in a row: twice as long after each of `failuresBefore`. */
export const backoffMs = (failuresBefore: number, { first, longest }: Waits) =>
  Math.min(longest, first * 2 ** Math.min(failuresBefore, MAX_DOUBLINGS))

/** The same as an interval, of a number that PostgreSQL has. */
export const backoffSql = (failuresBefore: RawBuilder<unknown>, { first, longest }: Waits) =>
  sql`make_interval(secs => least(${sql.lit(longest / SECOND)}, ${sql.lit(first / SECOND)} * power(2, least(${failuresBefore}, ${sql.lit(MAX_DOUBLINGS)}))))`
