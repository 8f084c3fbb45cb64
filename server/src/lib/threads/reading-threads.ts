import { createFairSemaphore } from '../fair/semaphore.ts'
import { KB, MB, MINUTE } from '../text/units.ts'
import { createThreadPool, watchProgress } from './thread-pool.ts'
import { createProgress } from './thread-progress.ts'

/** Messages up to this size are read on the main thread: it takes a few milliseconds at most, less than the way to a thread and back. */
export const READ_INLINE = 64 * KB

/** CPU time to build or to read a message, without its attachments. An ordinary one takes a millisecond. */
const LIMIT_MS = 1_000
/** Encoding, decoding, hashing and signing take time by size: up to two seconds for 40 MB. */
const LIMIT_MS_PER_MB = 250
export const messageLimitMs = (bytes: number) => LIMIT_MS + LIMIT_MS_PER_MB * Math.floor(bytes / MB)

/** Messages of one owner. */
const MAX_WAITING = 500
const HEAP_MB = 256
const NOT_BEGUN = -1
/** To be noted by a thread when it begins: see `noteThread`. */
export const READING = 0

/** Reading a message took longer than its limit. */
export class ReadingTimeout extends Error {}

type Task = { message: Uint8Array; transfer?: boolean } & Record<string, unknown>
/** `threads`: all but one of them for one owner with many messages. */
type Options = { file: string; from: string; threads: number; workerData?: object; limitMsOf?: ((bytes: number) => number) | undefined }

/**
 * Threads that read messages of others, which can be killed: the main thread serves every project meanwhile. Owners take turns, and one
 * thread stays free for other owners.
 */
export function createReadingThreads({ file, from, threads: maxThreads, workerData, limitMsOf = messageLimitMs }: Options) {
  const threads = createThreadPool({
    file,
    from,
    minThreads: 0,
    maxThreads,
    heapMb: HEAP_MB,
    ...(workerData ? { workerData } : {}),
  })
  const withSlot = createFairSemaphore({ slots: maxThreads, maxWaiting: MAX_WAITING, maxWaitMs: MINUTE })

  /** `transfer`: the memory of the message goes to the thread, instead of a copy. */
  async function run<Result>(name: string, { transfer = false, ...task }: Task): Promise<Result> {
    const progress = createProgress(NOT_BEGUN)
    const killer = new AbortController()
    const limitMs = limitMsOf(task.message.length)
    const stopWatching = watchProgress(
      progress,
      (at) => (at === NOT_BEGUN ? MINUTE : limitMs),
      () => killer.abort(),
    )
    const transferList = transfer ? [task.message.buffer as ArrayBuffer] : []
    try {
      return await threads.run({ ...task, progress }, { name, signal: killer.signal, transferList })
    } catch (err) {
      throw killer.signal.aborted ? new ReadingTimeout('reading the message took too long', { cause: err }) : err
    } finally {
      stopWatching()
    }
  }

  return {
    /** The work may also load the message: so only a few are in memory. */
    withSlot,
    run,
    close: () => threads.destroy(),
  }
}

export type ReadingThreads = ReturnType<typeof createReadingThreads>
