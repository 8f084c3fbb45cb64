import { tryLater } from '../errors/errors.ts'
import { batchSize } from '../process/metrics.ts'

/** Outcome of one item. The items of a batch may have different outcomes. */
export type BatchOutcome<Result> = { value: Result } | { error: unknown }

type Options<Item, Result> = {
  /** The name of its sizes in metrics. */
  name: string
  /** Processes all items at once and returns their outcomes in order. When it throws, nothing was written. */
  run: (items: Item[]) => Promise<BatchOutcome<Result>[]>
  /** Whether a failure may be caused by single items, so that parts of the batch are retried. If not, the whole batch has failed. */
  mayBeOneItem: (error: unknown) => boolean
  /** Weight of an item, for the limits below. Without it only the number of items counts. */
  weigh?: (item: Item) => number
  /** Limits that close a batch: its items, their weight, and the wait of the first item. */
  maxItems: number
  maxWeight?: number
  maxWaitMs: number
  /** Batches that run at once; meanwhile the next one fills. */
  lanes: number
  /** Beyond these limits calls are refused instead of queued. */
  maxPending: number
  maxPendingWeight?: number
}

type Waiting<Item, Result> = {
  item: Item
  weight: number
  since: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/** Combines concurrent calls into batches. Each call gets its own result. */
export function createBatcher<Item, Result>(options: Options<Item, Result>) {
  const { name, run, mayBeOneItem, maxItems, maxWaitMs, lanes, maxPending } = options
  const { weigh = () => 0, maxWeight = Number.POSITIVE_INFINITY, maxPendingWeight = Number.POSITIVE_INFINITY } = options
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
    if (pending >= maxPending || (pending > 0 && pendingWeight + weight > maxPendingWeight))
      throw tryLater('Too much is waiting to be written. Try again shortly.')
    pending++
    pendingWeight += weight
    return new Promise<Result>((resolve, reject) => {
      queue.push({ item, weight, since: performance.now(), resolve, reject })
      queuedWeight += weight
      start()
    }).finally(() => {
      pending--
      pendingWeight -= weight
      if (!pending) for (const done of draining.splice(0)) done()
    })
  }

  /**
   * Starts batches that are full, or whose first item has waited, in free lanes; and a timer for the items that remain. Not the timer alone: Node
   * runs none for seconds while thousands of connections have something to read.
   */
  function start() {
    while (busy < lanes && (queue.length >= maxItems || queuedWeight >= maxWeight || hasWaited())) launch()
    if (busy < lanes && queue.length && !timer) timer = setTimeout(launchWaiting, maxWaitMs)
  }

  const hasWaited = () => queue.length > 0 && performance.now() - queue[0]!.since >= maxWaitMs

  function launchWaiting() {
    timer = undefined
    if (busy < lanes && queue.length) launch()
    start()
  }

  function launch() {
    const batch = takeBatch()
    batchSize.observe({ batch: name }, batch.length)
    busy++
    attempt(batch)
      .then(async (failed) => {
        busy--
        start()
        // Outside the lanes: retries must not delay the batches of other items.
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

  /** True when nothing was written and the batch should be retried in parts. */
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

  /** Bisects the batch until the failing item is alone: one of 200 costs 15 small batches, and the other 199 succeed. */
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
    /** Resolves when all accepted items have their results. */
    async drain() {
      if (pending) await new Promise<void>((resolve) => draining.push(resolve))
    },
  }
}
