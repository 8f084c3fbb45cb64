import type { Log } from './log.ts'
import { MINUTE } from './units.ts'

const EVERY_MS = MINUTE

/** Warns at once and then at most once a minute, with how many there were since: what strangers can cause must not fill the log. */
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
