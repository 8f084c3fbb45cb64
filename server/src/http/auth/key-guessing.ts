import { createCache } from '../../lib/collections/cache.ts'
import { createWindowCounter } from '../../lib/concurrency/window-counter.ts'
import { fail } from '../../lib/errors/errors.ts'
import { networkOf } from '../../lib/network/network.ts'
import { MINUTE } from '../../lib/text/units.ts'

const MAX_KNOWN = 10_000

/**
 * Limits guessing of keys per network. Keys that were valid before still pass: an old deployment that keeps sending a revoked key must not
 * lock out a new deployment behind the same address.
 */
export function createGuessGuard({ limit = 1_000, windowMs = MINUTE } = {}) {
  const misses = createWindowCounter({ limit, windowMs })
  const known = createCache<string, true>({ maxEntries: MAX_KNOWN })

  // Requests pay for the check only after the limit was exceeded once.
  let alarmed = false

  return {
    refuse(ip: string, keyHash: Buffer) {
      if (!alarmed || known.has(keyHash.toString('base64'))) return
      const network = networkOf(ip)
      if (misses.isOver(network)) {
        fail('RATE_LIMIT_EXCEEDED', { message: 'Too many wrong keys from your address.', retryAfter: misses.retryAfter(network) })
      }
    },
    missed(ip: string) {
      const network = networkOf(ip)
      misses.count(network)
      alarmed ||= misses.isOver(network)
    },
    found(keyHash: Buffer) {
      known.set(keyHash.toString('base64'), true)
    },
  }
}
