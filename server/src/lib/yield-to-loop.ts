import { setImmediate as nextTurn } from 'node:timers/promises'

const TURN_MS = 5

/** Returns a function to await between the steps of long work on the main thread: it yields to the event loop every TURN_MS. */
export function createYield() {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < TURN_MS) return
    await nextTurn()
    since = performance.now()
  }
}
