import { type RawBuilder, sql } from 'kysely'
import { one, type Tx } from '../db/index.ts'

/**
 * Every advisory lock of the product, by its number, so that no two have the same. A transaction that takes several takes them in this order,
 * and all of them before it locks rows.
 */
const LOCKS = {
  // Held by sessions, below this layer: db/migrate.ts, db/presence.ts (two classes) and db/embedded/owner.ts.
  7357001: 'migration',
  7357002: 'presence of a kind',
  7357003: 'owner of the embedded database',
  7357004: 'presence of a process',
  // Moves deltas of a ledger into its sums; one process at a time.
  7357010: 'fold',
  // Corrects the sums of a ledger for a project: two corrections at a time would both add the difference.
  7357011: 'repair',
  // Changes the roll-ups of emails of a project: a fold, or a recount for as long as it takes.
  7357012: 'roll-ups',
} as const

type LockName = (typeof LOCKS)[keyof typeof LOCKS]

const NUMBERS = new Map(Object.entries(LOCKS).map(([number, name]) => [name, Number(number)]))

const keySql = (name: LockName, of: RawBuilder<unknown>) => sql`${sql.lit(NUMBERS.get(name)!)}::int, hashtext(${of})`

/** Until the transaction ends. A statement of its own, so that the next statement sees what the previous holder committed. */
export async function lock(tx: Tx, name: LockName, of: string) {
  await sql`select pg_advisory_xact_lock(${keySql(name, sql`${of}`)})`.execute(tx)
}

/** False if another transaction holds it. */
export const tryLockSql = (name: LockName, of: RawBuilder<unknown>) => sql<boolean>`pg_try_advisory_xact_lock(${keySql(name, of)})`

export const tryLock = async (tx: Tx, name: LockName, of: string): Promise<boolean> =>
  (await one(tx, sql<{ free: boolean }>`select ${tryLockSql(name, sql`${of}`)} as free`)).free
