import { setImmediate as letOthers } from 'node:timers/promises'

const TURN_MS = 5

/** For long work on the main thread, to be awaited between its steps: lets everyone else have their turn when it has gone on too long. */
export function createYield() {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < TURN_MS) return
    await letOthers()
    since = performance.now()
  }
}
