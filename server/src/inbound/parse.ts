import type { ParsedMessage } from '../delivery/feedback/inbound-message.ts'
import { createThreadPool } from '../lib/threads/thread-pool.ts'

const TIMEOUT_MS = 20_000
const HEAP_MB = 256

/** A message that can never be parsed, however often it is sent. */
export class UnreadableError extends Error {}

/**
 * Parses messages in a thread: the largest take a second, which would block all other work of the process, and a crafted message may
 * take longer.
 */
export function createParser() {
  const threads = createThreadPool({
    file: 'parse-thread',
    from: import.meta.url,
    minThreads: 0,
    maxThreads: 2,
    heapMb: HEAP_MB,
  })

  return {
    async parse(message: Buffer): Promise<ParsedMessage> {
      // Includes the time in the queue, so a timeout is no verdict on the message: its sender may try again.
      const parsed: ParsedMessage | undefined = await threads
        .run(message, { name: 'parse', signal: AbortSignal.timeout(TIMEOUT_MS) })
        .catch((err) => {
          if (err.code !== 'ERR_WORKER_OUT_OF_MEMORY') throw err
        })
      return parsed ?? Promise.reject(new UnreadableError())
    },
    close: () => threads.destroy(),
  }
}
