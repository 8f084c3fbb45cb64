import { sql } from 'kysely'
import { one, type Pool, type Tx } from '../db/index.ts'
import { fail } from '../lib/errors.ts'
import type { Secrets } from '../lib/secrets.ts'

/** How often something may be tried, by whom, over all nodes. For rare calls only: each try is a committed statement. */
export type Quota = { scope: string; subject: string; limit: number; windowSeconds: number }

export function createAttempts(db: Pool, secrets: Secrets) {
  const hash = (quota: Quota) => secrets.hash('attempt', quota.subject)

  /** Counts the try before it is made, so that a thousand at once cannot slip past. Returns the seconds to wait, or 0. */
  async function count(quota: Quota) {
    const { scope, limit, windowSeconds } = quota
    const tried = await one(
      db,
      sql<{ count: number; wait: number }>`
        insert into attempts as a (scope, subject, window_ends_at, count)
        values (${scope}, ${hash(quota)}, now() + make_interval(secs => ${windowSeconds}), 1)
        on conflict (scope, subject) do update set
          count = case when a.window_ends_at <= now() then 1 else a.count + 1 end,
          window_ends_at = case when a.window_ends_at <= now() then excluded.window_ends_at else a.window_ends_at end
        returning count, ceil(extract(epoch from window_ends_at - now()))::int as wait
      `,
    )
    return tried.count > limit ? Math.max(1, tried.wait) : 0
  }

  async function take(quota: Quota) {
    const wait = await count(quota)
    if (wait) fail('RATE_LIMIT_EXCEEDED', { message: 'Too many attempts.', retryAfter: wait })
  }

  /** A try that turned out well does not count against the next ones. */
  const refund = (quota: Quota) =>
    sql`update attempts set count = greatest(0, count - 1) where scope = ${quota.scope} and subject = ${hash(quota)}`.execute(db)

  return { count, take, refund }
}

export const dropEndedAttempts = (tx: Tx) => sql`delete from attempts where window_ends_at < now()`.execute(tx)
