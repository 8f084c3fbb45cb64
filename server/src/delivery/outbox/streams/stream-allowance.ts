import { type RawBuilder, sql } from 'kysely'
import { isProven } from '../../../domains/sender-domains/proof.ts'
import { WAITING_UP_TO } from '../../../nodes/sending-hold.ts'
import { PRIORITIES } from './stream-of.ts'

/** Time that a rate may leave unused and use later, in one go: intakes poll once a second. For slow rates, the time of one email. */
const BURST = sql`make_interval(secs => greatest(2, 61.0 / r.per_minute))`

/** The unused time of a rate `r`, as far as it still counts. By the time of the transaction, so that all terms see the same. */
export const unusedSince = sql`greatest(r.unused_since, now() - ${BURST})`

const number = (limit: number) => sql`${limit}::int`

/** A stream `t` that a person paused or cancelled. */
export const isStopped = sql`(t.paused_at is not null or t.cancelled_at is not null)`

/** Emails that a claim may take by a rate `r`. */
export const rateAllowance = (limit: number) =>
  sql`least(${number(limit)}, greatest(0, floor(extract(epoch from now() - ${unusedSince}) * r.per_minute / 60)))::int`

/** Emails that a claim may take during the pause `s` of a sender domain: one when it is time to probe, unless the probes are chosen; else none. */
const pauseAllowance = sql`case when s.verifies or greatest(s.until, s.probe_until) > now() then 0 else 1 end`

type Options = { stream: RawBuilder<unknown>; priority: number; limit: number }

/**
 * A row of (may_claim, has_rate) for a stream with columns `project_id` and `stream_id`. Emails of a stream that waits are not claimed, so that
 * they stay queued as they are. Every look-up is a scalar subquery: the planner cannot make a join of it and change the order of the claim.
 */
export const allowanceSql = ({ stream, priority, limit }: Options) => sql`(
  select case
      -- Transactional emails are deferred instead: that shows the project why they wait.
      when ${priority}::int = ${sql.lit(PRIORITIES.bulk)} and (
        select p.disabled and p.deleted_at is null from projects p where p.id = ${stream}.project_id) then 0
      else coalesce((
        select case
            when ${isStopped} then 0
            -- After a failover that lost commits, a campaign from before it would send again what is no longer recorded.
            when t.id < ${WAITING_UP_TO} then 0
            when not exists (select from domains d where d.project_id = t.project_id and d.domain = t.from_domain and ${isProven}) then 0
            else least(
              coalesce((
                select ${pauseAllowance} from sending_pauses s where s.project_id = t.project_id and s.domain = t.from_domain), ${number(limit)}),
              coalesce((
                select ${rateAllowance(limit)} from stream_rates r where r.project_id = t.project_id and r.id = t.id), ${number(limit)})) end
        from streams t where t.project_id = ${stream}.project_id and t.id = ${stream}.stream_id), ${number(limit)}) end as may_claim,
    coalesce((
      select true from stream_rates r where r.project_id = ${stream}.project_id and r.id = ${stream}.stream_id), false) as has_rate
  offset 0)`
