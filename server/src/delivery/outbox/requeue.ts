import { sql } from 'kysely'
import { scalar, type Tx } from '../../db/index.ts'
import { insertEntriesSql } from './outcomes/email-ledger.ts'

/** Error codes of failures that a resend may overcome. The other failures are about the recipient or the content. */
const RESENDABLE_CODES = ['transient', 'expired', 'domain_not_verified', 'provider_paused'] as const

type Resend = {
  projectId: string
  campaignId: string
  /** Also emails that may have been accepted, because the provider never answered. */
  includeUnknown: boolean
}

/** The condition on an email `e` of a campaign that a resend takes. */
const isResendableSql = ({ projectId, campaignId, includeUnknown }: Resend) => {
  const codes: string[] = includeUnknown ? [...RESENDABLE_CODES, 'outcome_unknown'] : [...RESENDABLE_CODES]
  return sql`e.state = 'failed' and e.project_id = ${projectId} and e.campaign_id = ${campaignId} and not e.test
    and e.bounced_at is null and e.error_code = any(${codes}::text[])`
}

/**
 * Queues up to `limit` failed emails of a campaign again; returns how many. The schedule of retries and the expiry start again. The Message-ID
 * stays, and so does the number of attempts, which tells the attempts of a worker that comes back late from new ones.
 */
export const requeueFailed = (tx: Tx, { limit, ...resend }: Resend & { limit: number }) =>
  scalar<number>(tx)`
    with requeued as (
      update emails e set state = 'queued', error = null, error_code = null, failures = 0, first_failed_at = null, crashes = 0, timeouts = 0,
        retried_unknown = false, handed_over_at = null, unknown_since = null, due_at = null, worker = null, requeued_at = now(), updated_at = now()
      where (e.project_id, e.id) in (
        select e.project_id, e.id from emails e where ${isResendableSql(resend)} order by e.id limit ${limit} for update)
      returning e.project_id as "projectId", e.id, 'failed' as kind, -1 as n, null as source, e.campaign_id as "campaignId", e.test,
        null::timestamptz as "countedAt"
    ), counted as (
      ${insertEntriesSql(sql`select * from requeued`)}
    )
    select count(*)::int from requeued
  `
