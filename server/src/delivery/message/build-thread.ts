import { workerData } from 'node:worker_threads'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import type { BatchOutcome } from '../../lib/batch.ts'
import { createLog } from '../../lib/log.ts'
import { deriveSecrets } from '../../lib/secrets.ts'
import { type ComposedMessage, sizeOf, writeTo } from '../../mime/compose.ts'
import { ALL_BUILT, type BuildRequest, createMessageBuilder } from './build.ts'
import type { ThreadData } from './build-pool.ts'

// Runs in a thread: making a mail is the longest work on its way, and half of that is signing it.

const { master, publicUrl, logLevel }: ThreadData = workerData
const build = createMessageBuilder({ secrets: deriveSecrets(master), publicUrl, log: createLog(logLevel) })

/** Others wait for this thread; and what is returned is not lost should the thread be killed at a later email. */
const TURN_MS = 100

type Work = { orders: BuildRequest[]; progress: Int32Array }

/**
 * In order, and the first ones only when these took long. Says in `progress` which one it is at, so that the one that takes too long is
 * known. All bytes lie in one piece, which is handed over and not copied.
 */
export function buildGroup({ orders, progress }: Work) {
  const startedAt = performance.now()
  const composed = composeInTime(orders, progress)
  Atomics.store(progress, 1, performance.now() - startedAt)
  Atomics.store(progress, 0, ALL_BUILT)
  const bytes = Buffer.allocUnsafeSlow(composed.reduce((sum, each) => sum + ('error' in each ? 0 : sizeOf(each)), 0))
  let end = 0
  const made = composed.map((each): BatchOutcome<Uint8Array> => {
    if ('error' in each) return each
    const start = end
    end += writeTo(bytes.subarray(start), each)
    return { value: bytes.subarray(start, end) }
  })
  return move({ [transferableSymbol]: bytes.buffer, [valueSymbol]: made })
}

function composeInTime(orders: BuildRequest[], progress: Int32Array) {
  const composed: ReturnType<typeof attempt>[] = []
  const began = performance.now()
  for (const order of orders) {
    Atomics.store(progress, 0, composed.length)
    composed.push(attempt(order))
    if (performance.now() - began > TURN_MS) break
  }
  return composed
}

function attempt(order: BuildRequest): ComposedMessage | { error: Error } {
  try {
    return build(order)
  } catch (err) {
    return { error: err as Error }
  }
}
