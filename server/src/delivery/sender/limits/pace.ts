import { SECOND } from '../../../lib/text/units.ts'
import type { RateSlowdown } from '../../outbox/streams/slowdowns.ts'

const SLOWEST = 1
/** Growth of the rate per second after throttling: from the slowest to any practical rate within a minute. */
const RECOVERY = 1.2
/** Faster than any single process: a rate like this is no limit. */
const UNLIMITED = 100_000
/** How long ago an email had to wait, at most, for the rate to count as the reason why sending is no faster. */
const RECENT_MS = 5 * SECOND
/** Shortest timer: the overhead of shorter ones exceeds their gain. */
const SHORTEST_WAIT_MS = 5

/** Rate limit of this process: the configured rate or the quota of the provider, lower for a while after the provider throttles. */
export function createPace(ratePerSecond = UNLIMITED) {
  let limit = ratePerSecond
  let rate = limit
  let budget = 1
  let filledAt = performance.now()
  let slowedAt = Number.NEGATIVE_INFINITY
  let secondBegan = performance.now()
  let sentThisSecond = 0
  // Counts of the last two seconds with any email: a reply may arrive later than that, and the latest second may have just begun.
  let sentBefore = 0
  let sentEarlier = 0
  let waiting = false
  let heldBackAt = Number.NEGATIVE_INFINITY

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

  /** Halves the rate that was really reached, which may be far below the limit. Many refusals within a second count as one. */
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
    /** False when the rate is used up; `again` is called when it no longer is. */
    take(again: () => void) {
      const now = performance.now()
      refill(now)
      if (budget >= 1) {
        budget--
        sentThisSecond++
        return true
      }
      heldBackAt = now
      if (waiting) return false
      waiting = true
      const wait = Math.max(SHORTEST_WAIT_MS, ((1 - budget) / rate) * SECOND)
      setTimeout(() => {
        waiting = false
        again()
      }, wait).unref()
      return false
    },
    /** Applies the quota of the provider, at most the configured rate. A higher rate is approached step by step. */
    allow(perSecond: number) {
      limit = Math.min(ratePerSecond, perSecond)
      rate = Math.min(rate, limit)
    },
    /** The provider refused an email because of the rate. */
    throttled: () => slowDown(performance.now()),
    /** The rate that emails had to wait for in the last seconds; null if none had to. */
    slowedBy(): RateSlowdown | null {
      if (!waiting && performance.now() - heldBackAt > RECENT_MS) return null
      if (rate < limit || limit < ratePerSecond) return 'provider_rate'
      return limit < UNLIMITED ? 'installation_rate' : null
    },
  }
}
