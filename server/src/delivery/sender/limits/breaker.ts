import { type Cache, createCache } from '../../../lib/collections/cache.ts'
import { MINUTE, SECOND } from '../../../lib/text/units.ts'
import type { Disposition } from '../../transport/classify.ts'

/** Identical refusals in a row, of those that are retried, that pause the sender domain. Those that end an email are counted by `outbox/hold.ts`. */
const MAX_SAME_REFUSALS = 20
/** MAIL FROM refusals that pause the provider while the projects of only one owner send: there is no second owner to compare with. */
const MAX_REFUSALS_OF_ONE_OWNER = 5
/** Unknown outcomes within a time, without an acceptance, that pause the provider: each email more would be in doubt, too. */
const UNKNOWN_IN_A_ROW = { count: 3, withinMs: 10 * SECOND }
/** Domains and owners remembered. The least recently refused are dropped first. */
const REMEMBERED = { maxEntries: 10_000 }

/** `owner` of the project: one person must not stop others, with however many projects. */
export type Attempt = { projectId: string; owner: string; domain: string; disposition: Disposition }

/** The pause to begin after an attempt. `fingerprint` is set when identical refusals in a row were the reason. */
export type BreakerDecision =
  | { pause: 'provider'; reason: string }
  | { pause: 'sender-domain'; reason: string; fingerprint?: string }
  | undefined

type RefusalStreak = { fingerprint: string; count: number }

/**
 * Circuit breaker: decides from the replies to many emails what one reply cannot tell, whether a refusal concerns the sender domain or the
 * provider. Keeps its state in memory; the caller pauses.
 */
export function createBreaker(now: () => number = () => performance.now()) {
  const streaks = createCache<string, RefusalStreak>(REMEMBERED)
  const activeAt = createCache<string, number>(REMEMBERED)
  const refusedAt = createCache<string, number>(REMEMBERED)
  let refusalsInARow = 0
  let unknownAt: number[] = []

  function report({ projectId, owner, domain, disposition }: Attempt): BreakerDecision {
    activeAt.set(owner, now())
    const key = `${projectId} ${domain}`
    if (disposition.action === 'sent') {
      streaks.delete(key)
      refusedAt.delete(owner)
      refusalsInARow = 0
      unknownAt = []
      return undefined
    }
    const reason = disposition.reason ?? ''
    if (disposition.action === 'unknown') return disposition.about === 'provider' ? unknownInARow(reason) : undefined
    if (disposition.about === 'provider') return disposition.throttled ? undefined : { pause: 'provider', reason }
    if (disposition.about === 'sender-domain') return refusedSender(owner, reason)
    return disposition.repeatable && disposition.action === 'retry' ? refusedInARow(key, disposition) : undefined
  }

  function unknownInARow(reason: string): BreakerDecision {
    unknownAt = [...unknownAt.filter((at) => now() - at <= UNKNOWN_IN_A_ROW.withinMs), now()]
    if (unknownAt.length < UNKNOWN_IN_A_ROW.count) return undefined
    unknownAt = []
    return { pause: 'provider', reason }
  }

  /** Concerns the provider when sender domains of two owners are refused within a minute, or of a single active owner several times. */
  function refusedSender(owner: string, reason: string): BreakerDecision {
    refusedAt.set(owner, now())
    refusalsInARow++
    const isOnlyOwner = countRecent(activeAt) < 2
    const concernsProvider = isOnlyOwner ? refusalsInARow >= MAX_REFUSALS_OF_ONE_OWNER : countRecent(refusedAt) >= 2
    return { pause: concernsProvider ? 'provider' : 'sender-domain', reason }
  }

  function refusedInARow(key: string, disposition: Disposition): BreakerDecision {
    const reason = disposition.reason ?? ''
    const fingerprint = disposition.fingerprint ?? reason
    const known = streaks.get(key)
    const count = known?.fingerprint === fingerprint ? known.count + 1 : 1
    streaks.set(key, { fingerprint, count })
    return count < MAX_SAME_REFUSALS ? undefined : { pause: 'sender-domain', reason, fingerprint }
  }

  /** Stops counting at two. */
  const countRecent = (times: Cache<string, number>) => {
    let count = 0
    for (const at of times.values()) if (now() - at <= MINUTE && ++count === 2) break
    return count
  }

  return report
}
