import { type RawBuilder, sql } from 'kysely'

/** Rates that all emails of a worker wait for: that of the provider, or the one that the installation has set itself. */
const RATE_SLOWDOWNS = ['provider_rate', 'installation_rate'] as const
export type RateSlowdown = (typeof RATE_SLOWDOWNS)[number]

export const SLOWDOWNS = [...RATE_SLOWDOWNS, 'recipient_domains'] as const

/** Waiting emails of a campaign that are looked at for one whose receiver throttles: progress is read every other second. */
const MAX_LOOKED_AT = 1_000

type Stream = { projectId: RawBuilder<unknown>; streamId: RawBuilder<unknown> }

/** Why the emails of a campaign leave no faster, as an SQL array: what workers report of their rates, and emails that throttling receivers defer. */
export const slowdownsSql = ({ projectId, streamId }: Stream) => sql<(typeof SLOWDOWNS)[number][]>`array(
  -- A newer worker may report a reason that is unknown here.
  select s.slowed_by from senders s where s.lease_until > now() and s.slowed_by = any(${[...RATE_SLOWDOWNS]}::text[])
  union
  select 'recipient_domains' where exists (
    select from (
      select e.error_code from emails e
      where e.project_id = ${projectId} and e.campaign_id = ${streamId} and e.state in ('deferred', 'unknown') limit ${MAX_LOOKED_AT}) as waiting
    where waiting.error_code = 'throttled')
  order by 1)`
