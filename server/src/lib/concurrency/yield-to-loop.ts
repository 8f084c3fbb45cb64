import { setImmediate as nextTurn } from 'node:timers/promises'

const TURN_MS = 5

/** Awaited between the steps of long work. */
export type Pause = () => Promise<void>

/** Returns a function to await between the steps of long work on the main thread: it yields to the event loop every TURN_MS. */
export function createYield(): Pause {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < TURN_MS) return
    await nextTurn()
    since = performance.now()
  }
}
