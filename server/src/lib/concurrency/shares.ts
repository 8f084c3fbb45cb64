import { createCounts } from './counts.ts'
import type { Rests } from './rests.ts'

type Options = {
  /** Slots in all. */
  total: number
  /** Slots of one owner. */
  each: number
  /** Pieces of work of one owner that may wait; more are refused at once. */
  maxWaiting: number
  maxWaitMs: number
  refusal: () => Error
  /** With it, an owner rests after its work: see `createRests`. */
  rests?: Rests
}
type Waiting = { owner: string; begin: () => void }
/** `restShare`: how much of the time that the work takes its owner rests afterwards. */
type WorkOptions = { waitMs?: number; restShare?: number }

/** A semaphore shared by owners: a free slot goes to the waiting owner that holds the fewest, so no owner can starve the others. */
export function createSharedSemaphore({ total, each, maxWaiting, maxWaitMs, refusal, rests }: Options) {
  const running = createCounts()
  const waiting = new Set<Waiting>()
  let all = 0

  const mayRun = (owner: string) => all < total && running.of(owner) < each && !rests?.isResting(owner)
  const waitingOf = (owner: string) => [...waiting].filter((other) => other.owner === owner).length

  function enter(owner: string) {
    all++
    running.change(owner, 1)
  }

  function leave(owner: string) {
    all--
    running.change(owner, -1)
  }

  function beginWaiting() {
    for (let next = pickNext(); next; next = pickNext()) {
      waiting.delete(next)
      enter(next.owner)
      next.begin()
    }
  }
  rests?.onEnd(beginWaiting)

  function pickNext() {
    let best: Waiting | undefined
    for (const candidate of waiting) {
      const isBetter = !best || running.of(candidate.owner) < running.of(best.owner)
      if (isBetter && mayRun(candidate.owner)) best = candidate
    }
    return best
  }

  function waitForSlot(owner: string, waitMs: number) {
    if (waitingOf(owner) >= maxWaiting) throw refusal()
    return new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(own)
        reject(refusal())
      }, waitMs)
      const begin = () => {
        clearTimeout(timer)
        resolve()
      }
      const own = { owner, begin }
      waiting.add(own)
    })
  }

  return async <T>(owner: string, work: () => Promise<T>, { waitMs = maxWaitMs, restShare = 1 / each }: WorkOptions = {}): Promise<T> => {
    if (mayRun(owner)) enter(owner)
    else await waitForSlot(owner, waitMs)
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      leave(owner)
      rests?.begin(owner, (performance.now() - startedAt) * restShare)
      beginWaiting()
    }
  }
}
