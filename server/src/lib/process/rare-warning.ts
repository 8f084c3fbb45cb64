import { MINUTE } from '../text/units.ts'
import type { Log } from './log.ts'

const EVERY_MS = MINUTE

/** Logs the first warning at once, then at most one per minute, with the count since: remote clients must not be able to fill the log. */
export function createRareWarning(log: Log) {
  let warnedAt = Number.NEGATIVE_INFINITY
  let count = 0
  return (fields: object, message: string) => {
    count++
    if (performance.now() - warnedAt < EVERY_MS) return
    log.warn({ ...fields, count }, message)
    warnedAt = performance.now()
    count = 0
  }
}
