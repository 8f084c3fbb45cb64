import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'
import type { Context } from 'liquidjs'
import { CHECKED_ALLOCATION, ITEM_SIZE, MAX_HEAP_USED, MAX_INPUT } from './limits.ts'

/**
 * Throws if a value is too large to be printed or filtered in one step. Lists may contain each other many times, so that a few small
 * assignments make a text of gigabytes.
 */
export function assertPrintable(value: unknown, itemSize = ITEM_SIZE) {
  if (typeof value !== 'object' && typeof value !== 'string') return
  let left = MAX_INPUT
  const take = (size: number) => {
    left -= size
    if (left < 0) throw new RangeError('too large')
  }
  const measure = (each: unknown) => {
    if (typeof each === 'string') take(each.length)
    else if (Array.isArray(each)) {
      take(itemSize * each.length)
      for (const item of each) if (typeof item === 'object' || typeof item === 'string') measure(item)
    } else if (typeof each === 'object' && each !== null) {
      for (const [key, item] of Object.entries(each)) {
        take(key.length)
        measure(item)
      }
    }
  }
  measure(value)
}

type Heap = { usedBytes: () => number; collect: () => void }

/** Throws when more of the heap is in use than an email may take. Garbage does not count. */
export const createHeapCheck =
  ({ usedBytes, collect }: Heap = HEAP) =>
  () => {
    if (usedBytes() <= MAX_HEAP_USED) return
    collect()
    if (usedBytes() > MAX_HEAP_USED) throw new RangeError('too large')
  }

let gc: (() => void) | undefined

const HEAP: Heap = {
  usedBytes: () => getHeapStatistics().used_heap_size,
  collect() {
    if (!gc) {
      setFlagsFromString('--expose-gc')
      gc = runInNewContext('gc') as () => void
    }
    gc()
  },
}

/** Does nothing outside of render threads, whose heap holds nothing but templates and emails. */
export let checkHeap = () => {}

export function limitHeapOfThread() {
  if (isMainThread) return
  checkHeap = createHeapCheck()
}

/** Checks the heap before each large allocation that the engine counts. */
export function checkAllocations({ memoryLimit }: Context) {
  const use = memoryLimit.use.bind(memoryLimit)
  memoryLimit.use = (count) => {
    if (count >= CHECKED_ALLOCATION) checkHeap()
    use(count)
  }
}
