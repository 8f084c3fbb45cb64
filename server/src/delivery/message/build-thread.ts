import { workerData } from 'node:worker_threads'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import { createLog } from '../../lib/process/log.ts'
import { deriveSecrets } from '../../lib/secrets.ts'
import { lowerPriority } from '../../lib/threads/lower-priority.ts'
import { noteThread } from '../../lib/threads/thread-progress.ts'
import { type ComposedMessage, sizeOf, writeTo } from '../../mime/compose.ts'
import { ALL_BUILT, type BuildRequest, type BuiltGroup, createMessageBuilder } from './build.ts'
import type { ThreadData } from './build-pool.ts'

// Runs in a thread: building a message takes more CPU than any other step of sending, and half of that is signing.

lowerPriority()

const { masters, publicUrl, logLevel }: ThreadData = workerData
const build = createMessageBuilder({ secrets: deriveSecrets(...masters), publicUrl, log: createLog(logLevel) })

/** Longest work per call: other projects wait for this thread, and returned messages are not lost if the thread is killed at a later email. */
const TURN_MS = 100

type Work = { requests: BuildRequest[]; progress: Int32Array }

/**
 * Builds messages in request, only the first ones if these take long. `progress` shows the current index, so that an email that takes too long
 * can be identified. All messages share one buffer, which is transferred and not copied.
 */
export function buildGroup({ requests, progress }: Work) {
  noteThread(progress)
  const startedAt = performance.now()
  const composed = composeInTime(requests, progress)
  Atomics.store(progress, 1, performance.now() - startedAt)
  Atomics.store(progress, 0, ALL_BUILT)
  const bytes = Buffer.allocUnsafeSlow(composed.reduce((sum, each) => sum + ('error' in each ? 0 : sizeOf(each)), 0))
  let end = 0
  const ends = composed.map((each) => {
    if (!('error' in each)) end += writeTo(bytes.subarray(end), each)
    return end
  })
  const group: BuiltGroup = { bytes, ends, errors: composed.map((each) => ('error' in each ? each.error : undefined)) }
  return move({ [transferableSymbol]: bytes.buffer, [valueSymbol]: group })
}

function composeInTime(requests: BuildRequest[], progress: Int32Array) {
  const composed: ReturnType<typeof attempt>[] = []
  const startedAt = performance.now()
  for (const request of requests) {
    Atomics.store(progress, 0, composed.length)
    composed.push(attempt(request))
    if (performance.now() - startedAt > TURN_MS) break
  }
  return composed
}

function attempt(request: BuildRequest): ComposedMessage | { error: Error } {
  try {
    return build(request)
  } catch (err) {
    return { error: err as Error }
  }
}
