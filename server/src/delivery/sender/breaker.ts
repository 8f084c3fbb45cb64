import { type Cache, createCache } from '../../lib/cache.ts'
import { MINUTE } from '../../lib/units.ts'
import type { Disposition } from '../transport/classify.ts'
import { fingerprintOf } from '../transport/classify.ts'

/** The same permanent refusal this often in a row pauses the sender domain. */
const SAME_IN_A_ROW = 20
/** MAIL FROM refusals that pause the provider when only one project is sending: there is no second one to compare with. */
const OF_A_SINGLE_PROJECT = 5
/** Domains and projects remembered at once. The least recently refused are forgotten first. */
const REMEMBERED = { maxEntries: 10_000 }

export type Attempt = { projectId: string; domain: string; disposition: Disposition }

/** What an attempt says about more than its own email. A domain's `fingerprint` is there when a row of refusals was the reason. */
export type BreakerDecision =
  | { pause: 'provider'; reason: string }
  | { pause: 'sender-domain'; reason: string; fingerprint?: string }
  | undefined

type Row = { fingerprint: string; count: number }

/**
 * Decides from the answers to many emails what one answer cannot tell: whether a refusal concerns a sender domain or the provider. Pure
 * book-keeping in memory; pausing is left to the caller.
 */
export function createBreaker(now: () => number = () => performance.now()) {
  const rows = createCache<string, Row>(REMEMBERED)
  const activeAt = createCache<string, number>(REMEMBERED)
  const refusedAt = createCache<string, number>(REMEMBERED)
  let refusalsInARow = 0

  function report({ projectId, domain, disposition }: Attempt): BreakerDecision {
    activeAt.set(projectId, now())
    const key = `${projectId} ${domain}`
    if (disposition.action === 'sent') {
      rows.delete(key)
      refusedAt.delete(projectId)
      refusalsInARow = 0
      return undefined
    }
    const reason = disposition.reason ?? ''
    if (disposition.about === 'provider') return disposition.throttled ? undefined : { pause: 'provider', reason }
    if (disposition.about === 'sender-domain') return refusedSender(projectId, reason)
    return disposition.repeatable ? refusedInARow(key, reason) : undefined
  }

  /** The provider, when sender domains of two projects are refused within a minute; with one project only, after several refusals. */
  function refusedSender(projectId: string, reason: string): BreakerDecision {
    refusedAt.set(projectId, now())
    refusalsInARow++
    const isAlone = recent(activeAt) < 2
    const concernsProvider = isAlone ? refusalsInARow >= OF_A_SINGLE_PROJECT : recent(refusedAt) >= 2
    return { pause: concernsProvider ? 'provider' : 'sender-domain', reason }
  }

  function refusedInARow(key: string, reason: string): BreakerDecision {
    const fingerprint = fingerprintOf(reason)
    const known = rows.get(key)
    const count = known?.fingerprint === fingerprint ? known.count + 1 : 1
    rows.set(key, { fingerprint, count })
    return count < SAME_IN_A_ROW ? undefined : { pause: 'sender-domain', reason, fingerprint }
  }

  const recent = (times: Cache<string, number>) => {
    let count = 0
    for (const at of times.values()) if (now() - at <= MINUTE && ++count === 2) break
    return count
  }

  return report
}
