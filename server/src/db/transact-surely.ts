import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { maybeScalar, one, type Pool, type Tx, transact } from './index.ts'

const POLL_MS = 100
/** Longest wait for the outcome of a lost transaction, in which the connection may come back. */
const WAIT_MS = 5_000

type Transaction = { xid: string | null; pid: number }

/**
 * Like `transact`, and when the answer to its commit is lost, it asks whether the transaction was committed. For requests whose caller
 * cannot see it, or must not repeat it: one that fails has stored nothing.
 */
export async function transactSurely<T>(db: Pool, work: (tx: Tx) => Promise<T>): Promise<T> {
  let last: { result: T; transaction: Transaction } | undefined
  try {
    return await transact(db, async (tx) => {
      last = undefined
      const result = await work(tx)
      last = { result, transaction: await one(tx, CURRENT) }
      return result
    })
  } catch (err) {
    if (last && (await wasCommitted(db, last.transaction))) return last.result
    throw err
  }
}

/** Without an id it has written nothing. */
const CURRENT = sql<Transaction>`select pg_current_xact_id_if_assigned()::text as xid, pg_backend_pid() as pid`

async function wasCommitted(db: Pool, { xid, pid }: Transaction): Promise<boolean> {
  if (xid === null) return false
  for (const deadline = performance.now() + WAIT_MS; performance.now() < deadline; await sleep(POLL_MS)) {
    const status = await maybeScalar<string | null>(db)`select pg_xact_status(${xid}::xid8)`.catch(() => undefined)
    if (status === 'committed') return true
    if (status === 'aborted') return false
    // No answer of that connection can arrive any more: PostgreSQL ends it, and with it the transaction, unless it commits just now.
    if (status === 'in progress') await sql`select pg_terminate_backend(${pid}::int)`.execute(db).catch(() => {})
  }
  return false
}
