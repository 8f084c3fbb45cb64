import { type Pool, transact } from '../../db/index.ts'
import { every } from '../../lib/concurrency/every.ts'
import type { Log } from '../../lib/process/log.ts'
import { queueDue, queueLeftWindows } from './due.ts'

/** Time windows are promised within a minute. */
const SWEEP_MS = 5_000
/** Statements of one sweep; the next one takes the rest. */
const MAX_ROUNDS = 100

/** Queues re-checks of contacts whose answer changes by time alone. Several workers share the work. */
export function startSweep(db: Pool, log: Log, isHeld: () => boolean) {
  const sweepIfHeld = async () => {
    if (isHeld()) await sweepWindows(db)
  }
  return every(SWEEP_MS, 'sweep time windows of segments', sweepIfHeld, log)
}

export async function sweepWindows(db: Pool) {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const due = await transact(db, (tx) => queueDue(tx))
    const swept = await transact(db, (tx) => queueLeftWindows(tx))
    if (!due && !swept) return
  }
}
