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
  let sentBefore = 0
  let loweredAt = -Infinity
  let secondBegan = performance.now()
  let waiting = false

  function refill() {
    const now = performance.now()
    if (now - secondBegan >= 1_000) {
      sentBefore = now - secondBegan < 2_000 ? sentThisSecond : 0
      secondBegan = now
      sentThisSecond = 0
      rate = Math.min(ratePerSecond, Math.max(rate * RECOVERY, rate + 1))
    }
    budget = Math.min(Math.max(1, rate / 10), budget + ((now - filledAt) / 1_000) * rate)
    filledAt = now
  }

  /** Once a second: those who were on their way together are told so together. */
  function slowDown() {
    const now = performance.now()
    if (now - loweredAt < 1_000) return
    loweredAt = now
    rate = Math.max(SLOWEST, Math.min(rate, Math.max(sentBefore, sentThisSecond)) / 2)
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
      const pause = pausedUntil - performance.now()
      setTimeout(
        () => {
          waiting = false
          again()
        },
        Math.max(5, 1_000 / rate, pause),
      ).unref()
      return false
    },
    heed(signal: Signal) {
      if (signal.is === 'throttled') slowDown()
      if (signal.is === 'paused' && signal.domain === null) pausedUntil = performance.now() + PAUSE_MS
    },
  }
}
