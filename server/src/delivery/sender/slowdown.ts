import { createCache } from '../../lib/cache.ts'
import { MINUTE, SECOND } from '../../lib/units.ts'

/** Emails per second to a domain after it said that we are too fast. */
const SLOWEST = 1
/** Growth per second afterwards: within a minute no limit is left. */
const RECOVERY = 1.2
const UNLIMITED = 50_000
/** A shorter wait is not worth a write. */
const SHORTEST_WAIT_SECONDS = 1
/** Longest wait for a turn: the domain may have recovered long before. Bulk email waits longer, to be rewritten less often. */
const LONGEST_WAIT_SECONDS = { transactional: 60, bulk: 300 }
const MAX_REMEMBERED = 10_000

/** `nextAt`: when the next email may leave. `lastAt`: the turn of the last email that waits. */
type Slow = { slowedAt: number; nextAt: number; lastAt: number }
type Destination = { projectId: string; domain: string; bulk: boolean }

/**
 * Slows emails to a recipient domain that throttles. First only those of the project that was throttled: the mailbox may be one that it
 * floods. When a second project is throttled by the same domain within a minute, all emails to that domain.
 */
export function createSlowdown(now: () => number = () => performance.now()) {
  const slow = createCache<string, Slow>({ maxEntries: MAX_REMEMBERED })

  const rateOf = ({ slowedAt }: Slow) => SLOWEST * RECOVERY ** ((now() - slowedAt) / SECOND)

  function slowDown(key: string) {
    const known = slow.get(key)
    slow.set(key, { slowedAt: now(), nextAt: Math.max(now(), known?.nextAt ?? 0), lastAt: known?.lastAt ?? 0 })
  }

  function findSlow(key: string): Slow | undefined {
    const found = slow.get(key)
    if (!found || rateOf(found) < UNLIMITED) return found
    slow.delete(key)
    return undefined
  }

  const isFree = ({ nextAt }: Slow) => nextAt - now() < SHORTEST_WAIT_SECONDS * SECOND

  function leave(each: Slow) {
    each.nextAt = Math.max(now(), each.nextAt) + SECOND / rateOf(each)
  }

  /** Seconds until the turn after the last one. Only spreads the emails that wait: one that comes back must not find its turn used up. */
  function queueUp(each: Slow): number {
    const at = Math.max(each.nextAt, each.lastAt) + SECOND / rateOf(each)
    each.lastAt = Math.min(at, now() + LONGEST_WAIT_SECONDS.bulk * SECOND)
    return (each.lastAt - now()) / SECOND
  }

  const others = createCache<string, { projectId: string; at: number }>({ maxEntries: MAX_REMEMBERED })

  return {
    throttled({ projectId, domain }: Pick<Destination, 'projectId' | 'domain'>) {
      slowDown(`${projectId} ${domain}`)
      const other = others.get(domain)
      if (other && other.projectId !== projectId && now() - other.at <= MINUTE) slowDown(domain)
      others.set(domain, { projectId, at: now() })
    },
    /** Seconds that an email to this domain has to wait; undefined when it may leave now. */
    waitFor({ projectId, domain, bulk }: Destination): number | undefined {
      if (!slow.size) return undefined
      const found = [findSlow(`${projectId} ${domain}`), findSlow(domain)].filter((each) => each !== undefined)
      if (found.every(isFree)) return void found.forEach(leave)
      return Math.min(Math.max(...found.map(queueUp)), LONGEST_WAIT_SECONDS[bulk ? 'bulk' : 'transactional'])
    },
  }
}
