import { SECOND } from '../text/units.ts'

type Options = {
  perSecond: number
  /** Amount of one message or connection after which it may have to wait: a timer for less would be late as often. */
  step: number
  /** Amount of one message or connection that is not counted. */
  free?: number
}

/** Keys that are remembered; more only while all of them have to wait. */
const MAX_KEYS = 1_000

/** Spreads work over time, per key: an owner or a network. The client waits meanwhile, as it does for a slow network. */
export function createPaceByKey({ perSecond, step, free = 0 }: Options, now: () => number = () => performance.now()) {
  /** When the work that was counted for a key so far is paid for. */
  const paidAt = new Map<string, number>()

  function wait(key: string, amount: number) {
    if (paidAt.size > MAX_KEYS) for (const [each, at] of paidAt) if (at < now()) paidAt.delete(each)
    const start = Math.max(now(), paidAt.get(key) ?? 0)
    paidAt.set(key, start + (amount / perSecond) * SECOND)
    return start - now()
  }

  /** The count of one message or connection: returns milliseconds to wait before the next piece. */
  return () => {
    let [done, paid] = [0, free]
    return (key: string, amount: number) => {
      done += amount
      if (done - paid < step) return 0
      const ms = wait(key, done - paid)
      paid = done
      return ms
    }
  }
}
