import { tryLater } from '../../lib/errors/errors.ts'
import { createFairSemaphore } from '../../lib/fair/semaphore.ts'
import { SECOND } from '../../lib/text/units.ts'

/** Longest wait of a request for its turn. Clients usually wait for 30 s. */
const MAX_WAIT_MS = 20 * SECOND
const MAX_WAITING = 200
/** Counts of one project that run at once, each for up to three seconds. */
const COUNTS_EACH = 2
/** A count that has to wait longer is left to a job. */
const COUNT_WAIT_MS = SECOND

export type SegmentTurns = ReturnType<typeof createSegmentTurns>

/**
 * Turns for requests that write segments, per node. Those of a project run one after the other: waiting for the lock of the project's
 * segments they would hold the connections of the pool, and fail when the lock times out.
 */
export function createSegmentTurns({ poolSize }: { poolSize: number }) {
  const slots = Math.max(1, Math.floor(poolSize / 4))
  const refusal = () => tryLater('Too many changes of segments of this project at once. Try again shortly.')
  return {
    write: createFairSemaphore({ slots, each: 1, maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS, refusal }),
    count: createFairSemaphore({ slots, each: COUNTS_EACH, maxWaiting: MAX_WAITING, maxWaitMs: COUNT_WAIT_MS, refusal }),
  }
}
