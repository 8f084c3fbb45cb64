import type { Signal } from './sending.ts'

const PAUSE_MS = 60_000
const SLOWEST = 1
/** How much faster again each second after a throttling. */
const RECOVERY = 1.1
/** Nobody sends faster than this from one process; beyond it the rate is no limit. */
const UNLIMITED = 100_000

/** How fast mails may leave this process: as configured, slower for a while when the other side says so. */
export function createPace(ratePerSecond = UNLIMITED) {
  let rate = ratePerSecond
  let budget = 1
  let filledAt = performance.now()
  let pausedUntil = 0
  let sentThisSecond = 0
  let secondBegan = performance.now()
  let waiting = false

  function refill() {
    const now = performance.now()
    if (now - secondBegan >= 1_000) {
      secondBegan = now
      sentThisSecond = 0
      rate = Math.min(ratePerSecond, Math.max(rate * RECOVERY, rate + 1))
    }
    budget = Math.min(Math.max(1, rate / 10), budget + ((now - filledAt) / 1_000) * rate)
    filledAt = now
  }

  return {
    isPaused: () => performance.now() < pausedUntil,
    /** False when it is too early; `again` is called when it no longer is. */
    take(again: () => void) {
      refill()
      if (budget >= 1 && performance.now() >= pausedUntil) {
        budget--
        sentThisSecond++
        return true
      }
      if (waiting) return false
      waiting = true
      setTimeout(
        () => {
          waiting = false
          again()
        },
        Math.max(5, 1_000 / rate),
      )
      return false
    },
    heed(signal: Signal) {
      if (signal.is === 'throttled') rate = Math.max(SLOWEST, Math.min(rate, sentThisSecond) / 2)
      if (signal.is === 'paused' && signal.domain === null) pausedUntil = performance.now() + PAUSE_MS
    },
  }
}
