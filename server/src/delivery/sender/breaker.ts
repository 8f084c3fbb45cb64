import { type Cache, createCache } from '../../lib/cache.ts'
import { MINUTE } from '../../lib/units.ts'
import type { Disposition } from '../transport/classify.ts'
import { fingerprintOf } from '../transport/classify.ts'

/** Identical permanent refusals in a row that pause the sender domain. */
const MAX_SAME_REFUSALS = 20
/** MAIL FROM refusals that pause the provider while only one project sends: there is no second project to compare with. */
const MAX_REFUSALS_OF_ONE_PROJECT = 5
/** Domains and projects remembered. The least recently refused are dropped first. */
const REMEMBERED = { maxEntries: 10_000 }

export type Attempt = { projectId: string; domain: string; disposition: Disposition }

/** What to pause after an attempt. `fingerprint` is set when identical refusals in a row were the reason. */
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

  function report({ projectId, domain, disposition }: Attempt): BreakerDecision {
    activeAt.set(projectId, now())
    const key = `${projectId} ${domain}`
    if (disposition.action === 'sent') {
      streaks.delete(key)
      refusedAt.delete(projectId)
      refusalsInARow = 0
      return undefined
    }
    const reason = disposition.reason ?? ''
    if (disposition.about === 'provider') return disposition.throttled ? undefined : { pause: 'provider', reason }
    if (disposition.about === 'sender-domain') return refusedSender(projectId, reason)
    return disposition.repeatable ? refusedInARow(key, reason) : undefined
  }

  /** Concerns the provider when sender domains of two projects are refused within a minute, or of a single active project several times. */
  function refusedSender(projectId: string, reason: string): BreakerDecision {
    refusedAt.set(projectId, now())
    refusalsInARow++
    const isOnlyProject = countRecent(activeAt) < 2
    const concernsProvider = isOnlyProject ? refusalsInARow >= MAX_REFUSALS_OF_ONE_PROJECT : countRecent(refusedAt) >= 2
    return { pause: concernsProvider ? 'provider' : 'sender-domain', reason }
  }

  function refusedInARow(key: string, reason: string): BreakerDecision {
    const fingerprint = fingerprintOf(reason)
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
