import { workerData } from 'node:worker_threads'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import type { Outcome } from '../lib/batch.ts'
import { createLog } from '../lib/log.ts'
import { deriveSecrets } from '../lib/secrets.ts'
import { type Composed, sizeOf, writeTo } from './compose.ts'
import { createMake, type Order } from './make.ts'
import type { Known } from './making.ts'

// Runs in a thread: making a mail is the longest work on its way, and half of that is signing it.

const { master, publicUrl, logLevel }: Known = workerData
const makeOne = createMake({ secrets: deriveSecrets(master), publicUrl, log: createLog(logLevel) })

/** In order. All bytes lie in one piece, which is handed over and not copied. */
export function make(orders: Order[]) {
  const composed = orders.map(attempt)
  const bytes = Buffer.allocUnsafeSlow(composed.reduce((sum, each) => sum + ('error' in each ? 0 : sizeOf(each)), 0))
  let end = 0
  const made = composed.map((each): Outcome<Uint8Array> => {
    if ('error' in each) return each
    const start = end
    end += writeTo(bytes.subarray(start), each)
    return { value: bytes.subarray(start, end) }
  })
  return move({ [transferableSymbol]: bytes.buffer, [valueSymbol]: made })
}

function attempt(order: Order): Composed | { error: Error } {
  try {
    return makeOne(order)
  } catch (err) {
    return { error: err as Error }
  }
}
