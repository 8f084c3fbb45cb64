import { sql } from 'kysely'
import { one, type Pool, type Tx } from '../../db/index.ts'
import { fail } from '../../lib/errors/errors.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { DAY, HOUR, SECOND } from '../../lib/text/units.ts'

const HOUR_SECONDS = HOUR / SECOND

/** Limits of attempts, over all nodes. For rare requests only: each attempt is a committed statement. docs/errors.md lists them. */
export const QUOTAS = {
  signup: { limit: 100, windowSeconds: HOUR_SECONDS, what: 'sign-ups from one network' },
  'claim-code': { limit: 10, windowSeconds: HOUR_SECONDS, what: 'claim codes tried from one network' },
  'login-ip': { limit: 200, windowSeconds: HOUR_SECONDS / 4, what: 'failed sign-ins from one network' },
  'login-pair': { limit: 10, windowSeconds: HOUR_SECONDS / 4, what: 'failed sign-ins to one account from one network' },
  'login-account': {
    limit: 100,
    windowSeconds: HOUR_SECONDS / 4,
    what: 'failed sign-ins to one account from networks where it is not signed in',
  },
  token: { limit: 100, windowSeconds: HOUR_SECONDS, what: 'tokens of emailed links tried from one network' },
  verification: { limit: 5, windowSeconds: HOUR_SECONDS, what: 'verification emails to one account' },
  'reset-ip': { limit: 50, windowSeconds: HOUR_SECONDS, what: 'password resets requested from one network' },
  reset: {
    limit: 5,
    windowSeconds: HOUR_SECONDS,
    what: 'password reset emails to one address (further requests are answered 200 and send nothing)',
  },
  'change-password': { limit: 10, windowSeconds: HOUR_SECONDS, what: 'password changes per account' },
  'create-project': { limit: 100, windowSeconds: HOUR_SECONDS, what: 'new projects of one account' },
  invite: { limit: 100, windowSeconds: HOUR_SECONDS, what: 'invitations of one project' },
  invited: { limit: 20, windowSeconds: DAY / SECOND, what: 'invitations to one address, from all projects' },
  'test-email': { limit: 60, windowSeconds: HOUR_SECONDS, what: 'test emails of one project' },
  'webhook-test': { limit: 60, windowSeconds: HOUR_SECONDS, what: 'tests of webhooks of one project' },
  'add-domain': { limit: 100, windowSeconds: HOUR_SECONDS, what: 'new domains of one project' },
  'link-host': { limit: 10, windowSeconds: DAY / SECOND, what: 'changes of the link host of one domain' },
} as const satisfies Record<string, { limit: number; windowSeconds: number; what: string }>

export type Quota = { scope: keyof typeof QUOTAS; subject: string }

export function createQuotaCounter(db: Pool, secrets: Secrets) {
  const hash = (quota: Quota) => secrets.hash('attempt', quota.subject)

  /** Counts an attempt before it is made, so that concurrent attempts cannot exceed the limit. Returns the seconds to wait, or 0. */
  async function count(quota: Quota) {
    const { scope } = quota
    const { limit, windowSeconds } = QUOTAS[scope]
    const tried = await one<{ count: number; wait: number }>(db)`
      insert into attempts as a (scope, subject, window_ends_at, count)
      values (${scope}, ${hash(quota)}, now() + make_interval(secs => ${windowSeconds}), 1)
      on conflict (scope, subject) do update set
        count = case when a.window_ends_at <= now() then 1 else a.count + 1 end,
        window_ends_at = case when a.window_ends_at <= now() then excluded.window_ends_at else a.window_ends_at end
      returning count, ceil(extract(epoch from window_ends_at - now()))::int as wait
    `
    return tried.count > limit ? Math.max(1, tried.wait) : 0
  }

  async function take(quota: Quota) {
    const wait = await count(quota)
    if (wait) fail('RATE_LIMIT_EXCEEDED', { message: 'Too many attempts.', retryAfter: wait })
  }

  /** A successful attempt does not count. */
  const refund = (quota: Quota) =>
    sql`update attempts set count = greatest(0, count - 1) where scope = ${quota.scope} and subject = ${hash(quota)}`.execute(db)

  return { count, take, refund }
}

export const dropEndedAttempts = (tx: Tx) => sql`delete from attempts where window_ends_at < now()`.execute(tx)
