type Options = {
  /** Slots in all. */
  total: number
  /** Slots of one owner. */
  each: number
  /** Pieces of work of one owner that may wait; more are refused at once. */
  maxWaiting: number
  maxWaitMs: number
  refusal: () => Error
  /** An owner does without its slot for as long as the work took, up to this time: the rest of the process gets its share of time. */
  maxRestMs?: number
}
type Waiting = { owner: string; begin: () => void }

/** A semaphore shared by owners: a free slot goes to the waiting owner that holds the fewest, so no owner can starve the others. */
export function createSharedSemaphore({ total, each, maxWaiting, maxWaitMs, refusal, maxRestMs = 0 }: Options) {
  const running = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let all = 0

  const runningOf = (owner: string) => running.get(owner) ?? 0
  const mayRun = (owner: string) => all < total && runningOf(owner) < each
  const waitingOf = (owner: string) => [...waiting].filter((other) => other.owner === owner).length

  function enter(owner: string) {
    all++
    running.set(owner, runningOf(owner) + 1)
  }

  function leave(owner: string, tookMs: number) {
    all--
    const restMs = Math.min(tookMs, maxRestMs)
    if (restMs <= 0) return freeSlot(owner)
    setTimeout(() => freeSlot(owner), restMs).unref()
    beginNext()
  }

  function freeSlot(owner: string) {
    const left = runningOf(owner) - 1
    if (left) running.set(owner, left)
    else running.delete(owner)
    beginNext()
  }

  /** At most one slot was freed, so at most one piece of work can begin. */
  function beginNext() {
    const next = pickNext()
    if (!next) return
    waiting.delete(next)
    enter(next.owner)
    next.begin()
  }

  function pickNext() {
    let best: Waiting | undefined
    for (const candidate of waiting) {
      const isBetter = !best || runningOf(candidate.owner) < runningOf(best.owner)
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

  return async <T>(owner: string, work: () => Promise<T>, waitMs = maxWaitMs): Promise<T> => {
    if (mayRun(owner)) enter(owner)
    else await waitForSlot(owner, waitMs)
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      leave(owner, performance.now() - startedAt)
    }
  }
}
