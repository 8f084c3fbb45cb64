import { workerData } from 'node:worker_threads'
import { deriveSecrets } from '../../../lib/secrets.ts'
import { lowerPriority } from '../../../lib/threads/lower-priority.ts'
import { READING } from '../../../lib/threads/reading-threads.ts'
import { noteThread } from '../../../lib/threads/thread-progress.ts'
import type { PreviewThreadData } from './read-stored.ts'
import { showMessage } from './show-message.ts'

// Runs in a thread, which can be killed when a message takes too much time or memory.

lowerPriority()

const { masters }: PreviewThreadData = workerData
const secrets = deriveSecrets(...masters)

export function show({ message, progress, isTracked }: { message: Uint8Array; progress: Int32Array; isTracked: boolean }) {
  noteThread(progress)
  Atomics.store(progress, 0, READING)
  return showMessage(Buffer.from(message.buffer, message.byteOffset, message.length), isTracked ? secrets : undefined)
}
