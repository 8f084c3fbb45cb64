import { fail } from './errors.ts'

/** What became of one item: the others of its batch need not share its fate. */
export type BatchOutcome<Result> = { value: Result } | { error: unknown }

type Options<Item, Result> = {
  /** Does all of them at once, and answers in their order. When it throws, nothing of it has happened. */
  run: (items: Item[]) => Promise<BatchOutcome<Result>[]>
  /** Whether such a failure may be the fault of single items. If not, the whole batch has failed and nobody tries again. */
  mayBeOneItem: (error: unknown) => boolean
  /** How much of the limits below an item takes up. */
  weigh: (item: Item) => number
  /** A batch closes with so many items, so much weight, or when its first item has waited so long. */
  maxItems: number
  maxWeight: number
  maxWaitMs: number
  /** So many batches run at once; meanwhile the next one fills. */
  lanes: number
  /** Beyond these, callers are sent away instead of queued. */
  maxPending: number
  maxPendingWeight: number
}

type Waiting<Item, Result> = { item: Item; weight: number; resolve: (result: Result) => void; reject: (error: unknown) => void }

/** Turns many concurrent calls into few large ones. Every caller gets its own answer. */
export function createBatcher<Item, Result>(options: Options<Item, Result>) {
  const { run, mayBeOneItem, weigh, maxItems, maxWeight, maxWaitMs, lanes, maxPending, maxPendingWeight } = options
  type Call = Waiting<Item, Result>
  let queue: Call[] = []
  let queuedWeight = 0
  let pending = 0
  let pendingWeight = 0
  let busy = 0
  let timer: NodeJS.Timeout | undefined
  const draining: (() => void)[] = []

  function submit(item: Item): Promise<Result> {
    const weight = weigh(item)
    if (pending >= maxPending || (pending > 0 && pendingWeight + weight > maxPendingWeight)) {
      fail('SERVICE_UNAVAILABLE', { message: 'Too much is waiting to be written. Try again shortly.', retryAfter: 1 })
    }
    pending++
    pendingWeight += weight
    return new Promise<Result>((resolve, reject) => {
      queue.push({ item, weight, resolve, reject })
      queuedWeight += weight
      start()
    }).finally(() => {
      pending--
      pendingWeight -= weight
      if (!pending) for (const done of draining.splice(0)) done()
    })
  }

  /** Fills the lanes with what is full or has waited long enough; for the rest a timer is set. */
  function start() {
    while (busy < lanes && (queue.length >= maxItems || queuedWeight >= maxWeight)) launch()
    if (busy < lanes && queue.length && !timer) timer = setTimeout(launchWaiting, maxWaitMs)
  }

  function launchWaiting() {
    timer = undefined
    if (busy < lanes && queue.length) launch()
    start()
  }

  function launch() {
    const batch = takeBatch()
    busy++
    attempt(batch)
      .then(async (failed) => {
        busy--
        start()
        // Beside the lanes: whoever is slow here must not keep the healthy ones waiting.
        if (failed) await replay(batch)
      })
      .catch((error) => {
        for (const { reject } of batch) reject(error)
      })
  }

  function takeBatch() {
    let weight = 0
    let size = 0
    while (size < queue.length && size < maxItems && (size === 0 || weight + queue[size]!.weight <= maxWeight))
      weight += queue[size++]!.weight
    const batch = queue.slice(0, size)
    queue = queue.slice(size)
    queuedWeight -= weight
    return batch
  }

  /** True when nothing of it happened and it should be tried again in parts. */
  async function attempt(batch: Call[]): Promise<boolean> {
    try {
      const outcomes = await run(batch.map(({ item }) => item))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index]!
        if ('value' in outcome) resolve(outcome.value)
        else reject(outcome.error)
      }
      return false
    } catch (error) {
      if (batch.length > 1 && mayBeOneItem(error)) return true
      for (const { reject } of batch) reject(error)
      return false
    }
  }

  /** By halves, until who is guilty stands alone: one of 200 costs 15 small batches, and the other 199 do not notice. */
  async function replay(batch: Call[]): Promise<void> {
    const middle = Math.ceil(batch.length / 2)
    await Promise.all(
      [batch.slice(0, middle), batch.slice(middle)].map(async (half) => {
        if (await attempt(half)) await replay(half)
      }),
    )
  }

  return {
    submit,
    /** Resolves when everything that was accepted is answered. */
    async drain() {
      if (pending) await new Promise<void>((resolve) => draining.push(resolve))
    },
  }
}
