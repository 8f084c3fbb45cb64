import { createThreads } from '../lib/thread-pool.ts'
import type { ParsedMessage } from './parsed-message.ts'

const TIME_MS = 20_000
const HEAP_MB = 256

/** Nobody could read this message, now or later. */
export class UnreadableError extends Error {}

/**
 * Messages of strangers are read in a thread: the largest take a second, in which nothing else could be sent or answered, and what
 * they hold may be made to take more.
 */
export function createParser() {
  const threads = createThreads({
    file: 'parse-thread',
    from: import.meta.url,
    minThreads: 0,
    maxThreads: 2,
    heapMb: HEAP_MB,
  })

  return {
    async parse(message: Buffer): Promise<ParsedMessage> {
      // The time is also that of waiting for others, or for the processor: what takes too long may come again.
      const letter: ParsedMessage | undefined = await threads
        .run(message, { name: 'parse', signal: AbortSignal.timeout(TIME_MS) })
        .catch((err) => {
          if (err.code !== 'ERR_WORKER_OUT_OF_MEMORY') throw err
        })
      return letter ?? Promise.reject(new UnreadableError())
    },
    close: () => threads.destroy(),
  }
}
