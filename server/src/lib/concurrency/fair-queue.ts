import { tryLater } from '../errors/errors.ts'
import { createCounts } from './counts.ts'

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
  const running = createCounts()
  /** By priority; a Map keeps the order in which keys take turns. */
  const queues: Map<string, Call[]>[] = []
  const waiting = createCounts()
  let busy = 0
  let waitingInAll = 0

  function mayStart(key: string) {
    if (busy >= slots) return false
    const own = running.of(key)
    if (own && isSlow(key)) return false
    const othersWait = waiting.counts.size > (waiting.counts.has(key) ? 1 : 0)
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
    running.change(key, 1)
  }

  function leave(key: string) {
    busy--
    running.change(key, -1)
    while (busy < slots && startNext());
  }

  const wait = (key: string, priority: number) =>
    new Promise<void>((resolve, reject) => {
      queues[priority] ??= new Map()
      const queue = queues[priority]
      const settle = (then: () => void) => () => {
        clearTimeout(patience)
        waitingInAll--
        waiting.change(key, -1)
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
      waiting.change(key, 1)
    })

  return {
    async run<T>(key: string, priority: number, work: () => Promise<T>): Promise<T> {
      if (!waiting.counts.has(key) && mayStart(key)) enter(key)
      else if (waitingInAll >= maxWaiting || waiting.of(key) >= maxWaiting / 2) throw refusal()
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
