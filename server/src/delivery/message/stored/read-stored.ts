import { AppError } from '../../../lib/errors/errors.ts'
import type { Secrets } from '../../../lib/secrets.ts'
import { createReadingThreads, READ_INLINE, type ReadingThreads, ReadingTimeout } from '../../../lib/threads/reading-threads.ts'
import type { ReadMessage } from '../../../mime/raw/read-message.ts'
import { showMessage } from './show-message.ts'

/** Start data of a thread. */
export type PreviewThreadData = { masters: Secrets['masters'] }

type Reading = { owner: string; secrets: Secrets; isTracked: boolean; load: () => Promise<Buffer | undefined> }

/**
 * Reads a stored message, large ones in threads, to which their memory goes. Loaded in the owner's turn, so that only a few are in memory. Undefined when it is no longer
 * stored.
 */
export async function readStored({ owner, secrets, isTracked, load }: Reading): Promise<ReadMessage | undefined> {
  const threads = threadsFor(secrets)
  return threads.withSlot(owner, async () => {
    const message = await load()
    if (!message || message.length <= READ_INLINE) return message && showMessage(message, isTracked ? secrets : undefined)
    return threads.run<ReadMessage>('show', { message, isTracked, transfer: true }).catch((err) => {
      if (!(err instanceof ReadingTimeout)) throw err
      throw new AppError('SERVICE_UNAVAILABLE', { message: 'The message could not be read in time.', retryAfter: 1, cause: err })
    })
  })
}

/** By the secrets of the process; tests have several in one. */
const pools = new WeakMap<Secrets, ReadingThreads>()

/** Started by the first message that needs them. */
function threadsFor(secrets: Secrets) {
  const known = pools.get(secrets)
  if (known) return known
  const workerData: PreviewThreadData = { masters: secrets.masters }
  const threads = createReadingThreads({ file: 'preview-thread', from: import.meta.url, threads: 2, workerData })
  pools.set(secrets, threads)
  return threads
}
