import { tryLater } from '../errors/errors.ts'
import { createCounts } from './counts.ts'
import type { Rests } from './rests.ts'
import { chooseNext, mayTake } from './share.ts'

type Options = {
  slots: number
  /** Slots of one owner. Without it half of them while others wait, and alone all but one, which a newcomer gets at once. */
  each?: number
  /** Pieces of work of one owner that may wait; more are refused at once. Without `each`, those of all owners are at most twice as many. */
  maxWaiting: number
  /** Longest wait, after which a piece of work is refused. */
  maxWaitMs: number
  refusal?: () => Error
  /** Owners that get one slot at a time, also while no other waits. */
  isSlow?: (owner: string) => boolean
  /** With it, an owner rests after its work: see `createRests`. */
  rests?: Rests
}
/** `priority`: the lowest starts first. `restShare`: how much of the time that the work takes its owner rests afterwards. */
type WorkOptions = { priority?: number; waitMs?: number; restShare?: number }
type Queue = { owner: string; priority: number; calls: (() => void)[] }

export type FairSemaphore = ReturnType<typeof createFairSemaphore>

/** A semaphore that owners share: a free slot goes to the waiting owner that holds the fewest; of equal ones to each in turn. */
export function createFairSemaphore({ slots, each, maxWaiting, ...options }: Options) {
  const { maxWaitMs, refusal = tooMuchWaits, isSlow = () => false, rests } = options
  const pool = each ? { size: slots, share: each, alone: each } : { size: slots, reserve: slots > 1 ? 1 : 0 }
  const maxWaitingInAll = each ? Number.POSITIVE_INFINITY : 2 * maxWaiting
  const running = createCounts()
  const waiting = createCounts()
  /** By priority and owner; a Map keeps the order in which equal ones are served. */
  const queues = new Map<string, Queue>()
  rests?.onEnd(startWaiting)

  function mayStart({ owner }: Pick<Queue, 'owner'>) {
    if (rests?.isResting(owner) || (running.of(owner) && isSlow(owner))) return false
    return mayTake(running, owner, pool, { othersWait: waiting.counts.size > (waiting.of(owner) ? 1 : 0) })
  }

  function startWaiting() {
    const choose = () =>
      chooseNext(
        queues,
        ([, { priority, owner }]) => [priority, running.of(owner)],
        ([, queue]) => mayStart(queue),
      )
    for (let next = choose(); next; next = choose()) {
      const [key, queue] = next
      const start = queue.calls[0]!
      // To the end of the round.
      queues.delete(key)
      queues.set(key, queue)
      remove(queue, start)
      running.change(queue.owner, 1)
      start()
    }
  }

  function remove(queue: Queue, call: () => void) {
    queue.calls.splice(queue.calls.indexOf(call), 1)
    waiting.change(queue.owner, -1)
    if (!queue.calls.length) queues.delete(keyOf(queue))
  }

  function wait(owner: string, priority: number, waitMs: number) {
    if (waiting.of(owner) >= maxWaiting || waiting.sum() >= maxWaitingInAll) throw refusal()
    const queue = queues.get(keyOf({ owner, priority })) ?? { owner, priority, calls: [] }
    queues.set(keyOf(queue), queue)
    waiting.change(owner, 1)
    return new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        remove(queue, start)
        reject(refusal())
      }, waitMs).unref()
      const start = () => {
        clearTimeout(timer)
        resolve()
      }
      queue.calls.push(start)
    })
  }

  return async <T>(owner: string, work: () => Promise<T>, options: WorkOptions = {}): Promise<T> => {
    const { priority = 0, waitMs = maxWaitMs, restShare = 1 / (each ?? 1) } = options
    if (!waiting.of(owner) && mayStart({ owner })) running.change(owner, 1)
    else await wait(owner, priority, waitMs)
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      running.change(owner, -1)
      rests?.begin(owner, (performance.now() - startedAt) * restShare)
      startWaiting()
    }
  }
}

const keyOf = ({ priority, owner }: Pick<Queue, 'priority' | 'owner'>) => `${priority} ${owner}`

const tooMuchWaits = () => tryLater('Too much is waiting to be processed. Try again shortly.')
