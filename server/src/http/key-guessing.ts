import { createCache } from '../lib/cache.ts'
import { fail } from '../lib/errors.ts'
import { networkOf } from '../lib/network.ts'
import { MINUTE } from '../lib/units.ts'
import { createWindowCounter } from '../lib/window-counter.ts'

const MAX_KNOWN = 10_000

/**
 * Slows down whoever tries keys at random. Keys that were valid a while ago pass regardless: an old deployment that keeps
 * sending a revoked key must not lock out the new one behind the same address.
 */
export function createGuessGuard({ limit = 1_000, windowMs = MINUTE } = {}) {
  const misses = createWindowCounter({ limit, windowMs })
  const known = createCache<string, true>({ maxEntries: MAX_KNOWN })

  // Until someone guesses, nobody pays for looking.
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
