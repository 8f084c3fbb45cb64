import { type RawBuilder, sql } from 'kysely'
import { scalar, type Tx } from '../db/index.ts'

/**
 * Every advisory lock of the product, by its number, so that no two have the same. A transaction that takes several takes them in this order,
 * and, unless noted, before it locks rows. The locks of caps are numbers of their own (`lock_caps`), taken before all others.
 */
const LOCKS = {
  // Held by sessions: db/migrate.ts, nodes/presence.ts (two classes), db/embedded/supervision.ts and doctor/return-path.ts.
  7357001: 'migration',
  7357002: 'presence of a kind',
  7357003: 'owner of the embedded database',
  7357004: 'presence of a process',
  7357006: 'check of the return path',
  // Counts unfinished jobs of a project against a limit.
  7357027: 'unfinished jobs',
  // Changes segments of a project, or refers to them.
  7357050: 'segments',
  // Applies reactions of a project, or computes the members of one of its segments.
  7357040: 'reactions',
  // Advances executions of a project (shared), or stops them for a wipe.
  7357090: 'advance',
  // Writes contacts of a project (shared), or removes a field from its list. Rows may be locked before: only writers wait.
  7357005: 'contact fields',
  // Counts soft bounces of an address, after the row of the email was locked. Its holder locks nothing else.
  7357028: 'soft bounces',
  7357029: 'partitions',
  7357120: 'email retention',
  // Corrects the sums of a ledger for a project: two corrections at a time would both add the difference.
  7357011: 'repair',
  // Moves deltas of a ledger into its sums; one process at a time.
  7357010: 'fold',
} as const

type LockName = (typeof LOCKS)[keyof typeof LOCKS]

const NUMBERS = new Map(Object.entries(LOCKS).map(([number, name]) => [name, Number(number)]))

const keySql = (name: LockName, of: RawBuilder<unknown>) => sql`${sql.lit(NUMBERS.get(name)!)}::int, hashtext(${of})`

/** Until the transaction ends. A statement of its own, so that the next statement sees what the previous holder committed. */
export async function lock(tx: Tx, name: LockName, of: string) {
  await sql`select pg_advisory_xact_lock(${keySql(name, sql`${of}`)})`.execute(tx)
}

/** Shared with others that share it. An expression, for statements that do more than this. */
export const lockSharedSql = (name: LockName, of: RawBuilder<unknown>) => sql`pg_advisory_xact_lock_shared(${keySql(name, of)})`

/** False if another transaction holds it. */
export const tryLock = (tx: Tx, name: LockName, of: string) =>
  scalar<boolean>(tx)`select pg_try_advisory_xact_lock(${keySql(name, sql`${of}`)})`
