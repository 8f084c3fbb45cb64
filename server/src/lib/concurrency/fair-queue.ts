import { tryLater } from '../errors.ts'

type Options = {
  /** Pieces of work that run at once. */
  slots: number
  /** Pieces of work that may wait; one key may have half of them. More are refused. */
  maxWaiting: number
  /** Longest wait, after which a piece of work is refused. */
  maxWaitMs: number
  /** Keys that get one slot at a time, also when no other key waits. */
  isSlow?: (key: string) => boolean
}

type Call = { start: () => void; refuse: () => void }

/**
 * A semaphore that is shared fairly. A lower priority number starts first; within a priority the keys take turns. While others wait, one
 * key has at most half of the slots; alone it has all but one, which a newcomer gets at once.
 */
export function createFairQueue({ slots, maxWaiting, maxWaitMs, isSlow = () => false }: Options) {
  const half = Math.max(1, Math.floor(slots / 2))
  const alone = Math.max(1, slots - 1)
  const running = new Map<string, number>()
  /** By priority; a Map keeps the order in which keys take turns. */
  const queues: Map<string, Call[]>[] = []
  const waiting = new Map<string, number>()
  let busy = 0
  let waitingInAll = 0

  const countOf = (counts: Map<string, number>, key: string) => counts.get(key) ?? 0

  function add(counts: Map<string, number>, key: string, change: 1 | -1) {
    const count = countOf(counts, key) + change
    if (count) counts.set(key, count)
    else counts.delete(key)
  }

  function mayStart(key: string) {
    if (busy >= slots) return false
    const own = countOf(running, key)
    if (own && isSlow(key)) return false
    const othersWait = waiting.size > (waiting.has(key) ? 1 : 0)
    return own < half || (busy < alone && !othersWait)
  }

  function startNext() {
    for (const queue of queues) {
      for (const [key, calls] of queue ?? []) {
        if (!mayStart(key)) continue
        const call = calls.shift()!
        // Back to the end of the round.
        queue.delete(key)
        if (calls.length) queue.set(key, calls)
        call.start()
        return true
      }
    }
    return false
  }

  function enter(key: string) {
    busy++
    add(running, key, 1)
  }

  function leave(key: string) {
    busy--
    add(running, key, -1)
    while (busy < slots && startNext());
  }

  const wait = (key: string, priority: number) =>
    new Promise<void>((resolve, reject) => {
      queues[priority] ??= new Map()
      const queue = queues[priority]
      const settle = (then: () => void) => () => {
        clearTimeout(patience)
        waitingInAll--
        add(waiting, key, -1)
        then()
      }
      const call: Call = {
        start: settle(() => {
          enter(key)
          resolve()
        }),
        refuse: settle(() => {
          const calls = queue.get(key)!.filter((each) => each !== call)
          if (calls.length) queue.set(key, calls)
          else queue.delete(key)
          reject(refusal())
        }),
      }
      const patience = setTimeout(() => call.refuse(), maxWaitMs)
      patience.unref()
      const calls = queue.get(key)
      if (calls) calls.push(call)
      else queue.set(key, [call])
      waitingInAll++
      add(waiting, key, 1)
    })

  return {
    async run<T>(key: string, priority: number, work: () => Promise<T>): Promise<T> {
      if (!waiting.has(key) && mayStart(key)) enter(key)
      else if (waitingInAll >= maxWaiting || countOf(waiting, key) >= maxWaiting / 2) throw refusal()
      else await wait(key, priority)
      try {
        return await work()
      } finally {
        leave(key)
      }
    },
  }
}

const refusal = () => tryLater('Too much is waiting to be processed. Try again shortly.')
