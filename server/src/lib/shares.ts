type Options = {
  /** Running at once. */
  total: number
  /** Running at once for one owner. */
  each: number
  /** Waiting for one owner; beyond, work is refused at once. */
  maxWaiting: number
  maxWaitMs: number
  refusal: () => Error
}
type Waiting = { owner: string; begin: () => void }

/** A semaphore that owners share: a free place goes to the waiting owner that has the fewest, so that none can keep all others out. */
export function createSharedSemaphore({ total, each, maxWaiting, maxWaitMs, refusal }: Options) {
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

  function leave(owner: string) {
    all--
    const left = runningOf(owner) - 1
    if (left) running.set(owner, left)
    else running.delete(owner)
    const next = pickNext()
    if (!next) return
    waiting.delete(next)
    enter(next.owner)
    next.begin()
  }

  /** One place was freed, so one can begin. */
  function pickNext() {
    let best: Waiting | undefined
    for (const candidate of waiting) {
      const isBetter = !best || runningOf(candidate.owner) < runningOf(best.owner)
      if (isBetter && mayRun(candidate.owner)) best = candidate
    }
    return best
  }

  function turn(owner: string) {
    if (waitingOf(owner) >= maxWaiting) throw refusal()
    return new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(own)
        reject(refusal())
      }, maxWaitMs)
      const begin = () => {
        clearTimeout(timer)
        resolve()
      }
      const own = { owner, begin }
      waiting.add(own)
    })
  }

  return async <T>(owner: string, work: () => Promise<T>): Promise<T> => {
    if (mayRun(owner)) enter(owner)
    else await turn(owner)
    try {
      return await work()
    } finally {
      leave(owner)
    }
  }
}
