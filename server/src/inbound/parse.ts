import type { ParsedMessage } from '../delivery/feedback/inbound-message.ts'
import { createReadingThreads } from '../lib/threads/reading-threads.ts'

/** A message that can never be parsed, however often it is sent. */
export class UnreadableError extends Error {}

/**
 * Parses messages in a thread: the largest take a second, which would block all other work of the process, and a crafted message may
 * take longer. A timeout is no verdict on the message: its sender may try again.
 */
export function createParser() {
  const threads = createReadingThreads({ file: 'parse-thread', from: import.meta.url, threads: 3 })

  return {
    /** `owner`: whose turn it is, such as a project. */
    async parse(owner: string, message: Buffer): Promise<ParsedMessage> {
      const parsed = await threads
        .withSlot(owner, () => threads.run<ParsedMessage | undefined>('parse', { message }))
        .catch((err) => {
          if (err.code !== 'ERR_WORKER_OUT_OF_MEMORY') throw err
        })
      return parsed ?? Promise.reject(new UnreadableError())
    },
    close: () => threads.close(),
  }
}
