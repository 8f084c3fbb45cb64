import { createCache } from '../../../lib/collections/cache.ts'
import { MINUTE, SECOND } from '../../../lib/text/units.ts'

/** Emails per second to a domain right after it throttled. */
const SLOWEST = 1
/** Growth of the rate per second: the limit is gone within a minute. */
const RECOVERY = 1.2
const UNLIMITED = 50_000
/** Shortest wait worth a database write. */
const SHORTEST_WAIT_SECONDS = 1
/** Longest wait: the domain may have recovered long before. Bulk emails wait longer, so that their rows are written less often. */
const LONGEST_WAIT_SECONDS = { transactional: 60, bulk: 300 }
const MAX_REMEMBERED = 10_000

/** `nextAt`: when the next email may leave. `lastAt`: the time assigned to the last waiting email. */
type Throttle = { slowedAt: number; nextAt: number; lastAt: number }
type Destination = { projectId: string; domain: string; bulk: boolean }
type Throttled = { projectId: string; owner: string; domain: string }

/**
 * Limits the rate to a recipient domain that throttles. At first only for the project that was throttled, which may be flooding a single
 * mailbox; once the domain throttles a project of a second owner within a minute, for all projects.
 */
export function createSlowdown(now: () => number = () => performance.now()) {
  const slow = createCache<string, Throttle>({ maxEntries: MAX_REMEMBERED })

  const rateOf = ({ slowedAt }: Throttle) => SLOWEST * RECOVERY ** ((now() - slowedAt) / SECOND)

  function slowDown(key: string) {
    const known = slow.get(key)
    slow.set(key, { slowedAt: now(), nextAt: Math.max(now(), known?.nextAt ?? 0), lastAt: known?.lastAt ?? 0 })
  }

  function findSlow(key: string): Throttle | undefined {
    const found = slow.get(key)
    if (!found || rateOf(found) < UNLIMITED) return found
    slow.delete(key)
    return undefined
  }

  const isFree = ({ nextAt }: Throttle) => nextAt - now() < SHORTEST_WAIT_SECONDS * SECOND

  function countSent(each: Throttle) {
    each.nextAt = Math.max(now(), each.nextAt) + SECOND / rateOf(each)
  }

  /** Seconds until the time after the last assigned one. Only spreads waiting emails: an email that returns must not find its time used up. */
  function assignTime(each: Throttle): number {
    const at = Math.max(each.nextAt, each.lastAt) + SECOND / rateOf(each)
    each.lastAt = Math.min(at, now() + LONGEST_WAIT_SECONDS.bulk * SECOND)
    return (each.lastAt - now()) / SECOND
  }

  const lastThrottled = createCache<string, { owner: string; at: number }>({ maxEntries: MAX_REMEMBERED })

  return {
    throttled({ projectId, owner, domain }: Throttled) {
      slowDown(`${projectId} ${domain}`)
      const last = lastThrottled.get(domain)
      if (last && last.owner !== owner && now() - last.at <= MINUTE) slowDown(domain)
      lastThrottled.set(domain, { owner, at: now() })
    },
    /** Seconds that an email to this domain has to wait; undefined when it may leave now. */
    waitFor({ projectId, domain, bulk }: Destination): number | undefined {
      if (!slow.size) return undefined
      const found = [findSlow(`${projectId} ${domain}`), findSlow(domain)].filter((each) => each !== undefined)
      if (found.every(isFree)) return void found.forEach(countSent)
      return Math.min(Math.max(...found.map(assignTime)), LONGEST_WAIT_SECONDS[bulk ? 'bulk' : 'transactional'])
    },
  }
}
