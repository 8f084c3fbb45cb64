import { Refusal } from '../../lib/smtp/smtp-refusal.ts'
import { createReadingThreads, READ_INLINE, ReadingTimeout } from '../../lib/threads/reading-threads.ts'
import { MalformedMessage } from '../../mime/raw/head.ts'
import { type ReadRequest, readSubmitted, type SubmittedMessage } from './read-submitted.ts'

/** Reading takes time by the size of a message, so only a machine without a moment to spare comes here: the client tries again. */
const TOO_SLOW = new Refusal(451, '4.3.2 The message could not be read in time. Try again shortly')

/** Reads submitted messages, large ones in threads. Throws a MalformedMessage with the reason of a refusal. */
export function createMessageReader({ limitMsOf }: { limitMsOf?: (bytes: number) => number } = {}) {
  const threads = createReadingThreads({ file: 'read-thread', from: import.meta.url, threads: 2, limitMsOf })

  return {
    async read(owner: string, { chunks, ...request }: ReadRequest): Promise<SubmittedMessage> {
      const size = chunks.reduce((sum, { length }) => sum + length, 0)
      const isLarge = size > READ_INLINE
      const result = isLarge ? await readInThread(owner, joined(chunks, size), request) : readSubmitted({ chunks, ...request })
      if ('malformed' in result) throw new MalformedMessage(result.malformed)
      return isLarge ? { ...result, raw: asBuffer(result.raw) } : result
    },
    close: () => threads.close(),
  }

  function readInThread(owner: string, message: Buffer, request: Omit<ReadRequest, 'chunks'>) {
    const run = () => threads.run<ReturnType<typeof readSubmitted>>('read', { ...request, message, transfer: true })
    return threads.withSlot(owner, run).catch((err) => Promise.reject(err instanceof ReadingTimeout ? TOO_SLOW : err))
  }
}

/** In memory of its own, which can go to a thread. The chunks are garbage from now on. */
function joined(chunks: Buffer[], size: number) {
  const message = Buffer.allocUnsafeSlow(size)
  let at = 0
  for (const chunk of chunks.splice(0)) at += chunk.copy(message, at)
  return message
}

/** From a thread it is a plain array of bytes. */
const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength)
