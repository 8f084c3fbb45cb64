import { SECOND } from '../../lib/units.ts'

const SLOWEST = 1
/** How much faster again each second after a throttling: from the slowest to any rate there is within a minute. */
const RECOVERY = 1.2
/** Nobody sends faster than this from one process; beyond it the rate is no limit. */
const UNLIMITED = 100_000
/** A timer that comes sooner costs more than it brings. */
const SHORTEST_WAIT_MS = 5

/** How fast mails may leave this process: as configured or as the other side allows, slower for a while when it says so. */
export function createPace(ratePerSecond = UNLIMITED) {
  let limit = ratePerSecond
  let rate = limit
  let budget = 1
  let filledAt = performance.now()
  let slowedAt = Number.NEGATIVE_INFINITY
  let secondBegan = performance.now()
  let sentThisSecond = 0
  // Of the last two seconds in which any were sent: an answer may take longer than that, and one of them may have just begun.
  let sentBefore = 0
  let sentEarlier = 0
  let waiting = false

  function refill(now: number) {
    const seconds = Math.floor((now - secondBegan) / SECOND)
    if (seconds > 0) {
      if (sentThisSecond) {
        sentEarlier = sentBefore
        sentBefore = sentThisSecond
      }
      sentThisSecond = 0
      secondBegan += seconds * SECOND
      recover(seconds)
    }
    budget = Math.min(Math.max(1, rate / 10), budget + ((now - filledAt) / SECOND) * rate)
    filledAt = now
  }

  function recover(seconds: number) {
    for (let left = seconds; left > 0 && rate < limit; left--) rate = Math.min(limit, Math.max(rate * RECOVERY, rate + 1))
  }

  /** Half of what was really sent, which may be far below what was allowed. Many refusals at once are one sign, not many. */
  function slowDown(now: number) {
    if (now - slowedAt < SECOND) return
    slowedAt = now
    refill(now)
    rate = Math.min(limit, Math.max(SLOWEST, Math.min(rate, Math.max(sentThisSecond, sentBefore, sentEarlier)) / 2))
    budget = Math.min(budget, 1)
    secondBegan = now
    sentThisSecond = 0
    sentBefore = rate
    sentEarlier = 0
  }

  return {
    /** False when it is too early; `again` is called when it no longer is. */
    take(again: () => void) {
      const now = performance.now()
      refill(now)
      if (budget >= 1) {
        budget--
        sentThisSecond++
        return true
      }
      if (waiting) return false
      waiting = true
      const wait = Math.max(SHORTEST_WAIT_MS, ((1 - budget) / rate) * SECOND)
      setTimeout(() => {
        waiting = false
        again()
      }, wait).unref()
      return false
    },
    /** What the other side allows, which may be less than what is configured; never more. A higher rate is approached, not jumped to. */
    allow(perSecond: number) {
      limit = Math.min(ratePerSecond, perSecond)
      rate = Math.min(rate, limit)
    },
    /** The other side says that this is too fast. */
    throttled: () => slowDown(performance.now()),
  }
}
