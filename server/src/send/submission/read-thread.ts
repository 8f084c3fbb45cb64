import { move, transferableSymbol, valueSymbol } from 'piscina'
import { lowerPriority } from '../../lib/threads/lower-priority.ts'
import { READING } from '../../lib/threads/reading-threads.ts'
import { noteThread } from '../../lib/threads/thread-progress.ts'
import { type ReadRequest, readSubmitted } from './read-submitted.ts'

// Runs in a thread, which can be killed when a message takes too much time or memory.

lowerPriority()

/** The message comes and goes without a copy. */
export function read({ message, progress, ...request }: Omit<ReadRequest, 'chunks'> & { message: Uint8Array; progress: Int32Array }) {
  noteThread(progress)
  Atomics.store(progress, 0, READING)
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.length)
  const result = readSubmitted({ ...request, chunks: [bytes] })
  if ('malformed' in result) return result
  // Without a body it is a small copy, in memory that others use.
  const raw = result.raw.buffer === message.buffer ? result.raw : new Uint8Array(result.raw)
  return move({ [transferableSymbol]: raw.buffer, [valueSymbol]: { ...result, raw } })
}
