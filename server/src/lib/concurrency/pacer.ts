import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { SECOND } from '../text/units.ts'

/** Share of the time in which the main thread may be busy while background work goes on. */
const SHARE = 0.5
const LONGEST_MS = SECOND

/**
 * For background work on the main thread. Returns a function to be awaited between its steps: if the thread was busy for more than half of
 * the time since the last step, whatever with, it waits until it was not, so that requests and other projects' work get their turn.
 */
export function createPacer() {
  let last = performance.eventLoopUtilization()
  return async () => {
    const pause = pauseAfter(performance.eventLoopUtilization(last))
    if (pause >= 1) await sleep(pause)
    last = performance.eventLoopUtilization()
  }
}

/** Milliseconds to rest, by the busy and idle milliseconds of the last look. */
export const pauseAfter = ({ active, idle }: { active: number; idle: number }) =>
  Math.max(0, Math.min(LONGEST_MS, active / SHARE - active - idle))
