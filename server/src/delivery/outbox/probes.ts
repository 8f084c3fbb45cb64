import { type RawBuilder, sql } from 'kysely'
import { columns, type RowOf } from '../../db/columns.ts'
import { many, one, type Pool, type Tx, transact } from '../../db/index.ts'
import { inTurnSql, ownerSql } from '../../ledger/owner-sql.ts'
import { backoffMs } from '../../lib/concurrency/backoff.ts'
import { CLAIMED_COLUMNS, type ClaimedEmail, SUSPECT_CRASHES } from './claim.ts'
import { HELD, IS_HELD, type RefusalTiming, seconds } from './refusals/hold.ts'
import { isStopped } from './streams/stream-allowance.ts'
import { PRIORITIES, workflowStream } from './streams/stream-of.ts'
import { leaseOf } from './workers/lease.ts'

/** A sender domain that is paused for equal refusals, whose probe is due. */
export type VerifyingPause = RowOf<typeof PAUSE> & { fingerprint: string }
const PAUSE = columns('sending_pauses', 'p', ['projectId', 'domain', 'fingerprint', 'failedProbes'])

/** A pause whose probe is due and not reserved. */
const IS_DUE = sql`s.verifies and s.until <= now() and (s.probe_until is null or s.probe_until < now())`

/** `probed`: the projects that this worker probes already, once for each pause. */
type Reservation = { probeMs: number; limit: number; probed?: string[] }

/** Reserves the probe of up to `limit` pauses, for this worker. Owners take turns; those that are probed already come later. */
export const reserveProbes = (tx: Tx, { probeMs, limit, probed = [] }: Reservation) =>
  many<VerifyingPause>(tx)`
    update sending_pauses p set probe_until = now() + ${seconds(probeMs)}
    where (p.project_id, p.domain) in (
      select s.project_id, s.domain
      from (${inTurnSql(sql`select s.project_id, s.domain, s.until as due_at from sending_pauses s where ${IS_DUE}`)}) as turn
      join sending_pauses s on s.project_id = turn.project_id and s.domain = turn.domain
      where ${IS_DUE}
      order by turn.in_owner + (select count(*) from unnest(${probed}::uuid[]) as b(id) where ${ownerSql(sql`b.id`)} = turn.owner), turn.due_at
      limit ${limit} for update of s skip locked)
    returning ${PAUSE}
  `

export type Probe = {
  email: ClaimedEmail | undefined
  /** There is an email of the domain, though it could not be claimed now: a worker has it, or is about to. */
  othersWait: boolean
}

/** A held email `e` that is not in hand. */
const WAITS_FOR_PROBE = sql`e.state in ('deferred', 'queued') and e.error_code = ${sql.lit(HELD)}`

/** A suspect is sent alone, once it is queued. */
const MAY_PROBE = sql`(e.crashes < ${sql.lit(SUSPECT_CRASHES)}
  and not exists (select from streams t where t.project_id = e.project_id and t.id = e.stream_id and ${isStopped}))`

/** Streams, and emails of each, in which another email of the domain is looked for. */
const MAX_STREAMS = 20
const MAX_LOOKED_AT = 200

/**
 * Claims the email that shows what a frequent reply is about: a queued one of the sender domain, transactional first, to an address that was not
 * refused, if possible also in another domain. If none is queued, the one whose refusal has been held longest.
 */
export async function claimProbe(db: Pool, worker: number, pause: VerifyingPause): Promise<Probe> {
  const [claimed] = await transact(db, (tx) => many(tx, probeSql(worker, pause)))
  return { email: claimed?.id ? claimed : undefined, othersWait: claimed?.othersWait ?? false }
}

const probeSql = (worker: number, pause: VerifyingPause) => {
  const { projectId, domain, fingerprint } = pause
  return sql<ClaimedEmail & Pick<Probe, 'othersWait'>>`
      with me as materialized (
        ${leaseOf(worker)}
      ), refused as materialized (
        select e.to_address from held_refusals h join emails e on e.project_id = h.project_id and e.id = h.email_id
        where h.project_id = ${projectId} and h.domain = ${domain} and h.fingerprint = ${fingerprint}
        order by h.place limit ${MAX_LOOKED_AT}
      ), others as materialized (
        select f.id, f.turn, exists (select from refused r where split_part(r.to_address, '@', 2) = split_part(f.to_address, '@', 2)) as beside from (
          select q.*, 1 as turn from ${queuedElsewhere(pause, PRIORITIES.transactional, projectId)} as q
          union all select q.*, 1 from ${deferredByPause(pause)} as q
          union all select q.*, 2 from ${queuedInCampaigns(pause)} as q
          union all select q.*, 2 from ${queuedElsewhere(pause, PRIORITIES.bulk, workflowStream(projectId))} as q
        ) as f
        where not exists (select from refused r where r.to_address = f.to_address)
        order by turn, beside limit ${MAX_STREAMS}
      ), other as materialized (
        select e.project_id, e.id from emails e join others o on o.id = e.id
        where e.project_id = ${projectId} and e.state in ('queued', 'deferred')
        order by o.turn, o.beside limit 1 for update of e skip locked
      ), held as materialized (
        select e.project_id, e.id from held_refusals h join emails e on e.project_id = h.project_id and e.id = h.email_id
        where h.project_id = ${projectId} and h.domain = ${domain} and h.fingerprint = ${fingerprint} and ${WAITS_FOR_PROBE} and ${MAY_PROBE}
          and not exists (select from others)
        order by h.place limit 1 for update of e skip locked
      ), claimed as (
        update emails e set state = 'sending', worker = ${worker}, attempts = attempts + 1, handed_over_at = null, due_at = null, updated_at = now()
        from (select * from other union all select * from held) as chosen
        where e.project_id = chosen.project_id and e.id = chosen.id and exists (select from me)
        returning ${CLAIMED_COLUMNS}
      )
      -- One row without an email when there is none to claim.
      select claimed.*, exists (select from others) or ${isInHand(pause)} as "othersWait" from (select) as one left join claimed on true
    `
}

/** Not "=", as in the claim: else PostgreSQL may scan the primary key, past every email ever sent. */
const isInQueue = (projectId: string, streamId: RawBuilder<unknown>) =>
  sql`(project_id, stream_id) >= (${projectId}::uuid, ${streamId}) and (project_id, stream_id) <= (${projectId}::uuid, ${streamId})`

const queuedInCampaigns = ({ projectId, domain }: VerifyingPause) => sql`(
  select q.id, q.to_address from (
    select t.id from streams t where t.project_id = ${projectId} and t.from_domain = ${domain} and not ${isStopped} limit ${MAX_STREAMS}
  ) as t cross join lateral (
    select id, to_address, error_code from emails
    where state = 'queued' and lane = ${sql.lit(PRIORITIES.bulk)} and ${isInQueue(projectId, sql`t.id`)} and crashes < ${SUSPECT_CRASHES}
    order by lane, project_id, stream_id, id limit ${MAX_STREAMS}
  ) as q where q.error_code is distinct from ${HELD})`

const isFromDomain = (domain: string) => sql`lower(split_part(c.from_address, '@', 2)) = ${domain}`

const queuedElsewhere = ({ projectId, domain }: VerifyingPause, priority: number, streamId: string) => sql`(
  select q.id, q.to_address from (
    select id, to_address, content_id, error_code from emails
    where state = 'queued' and lane = ${sql.lit(priority)} and ${isInQueue(projectId, sql`${streamId}::uuid`)} and crashes < ${SUSPECT_CRASHES}
    order by lane, project_id, stream_id, id limit ${MAX_LOOKED_AT}
  ) as q join contents c on c.project_id = ${projectId} and c.id = q.content_id
  where q.error_code is distinct from ${HELD} and ${isFromDomain(domain)})`

const deferredByPause = ({ projectId, domain }: VerifyingPause) => sql`(
  select q.id, q.to_address from (
    select id, to_address, content_id, stream_id from emails
    where state = 'deferred' and error_code = 'domain_paused' and project_id = ${projectId} and crashes < ${SUSPECT_CRASHES}
    order by due_at limit ${MAX_LOOKED_AT}
  ) as q join contents c on c.project_id = ${projectId} and c.id = q.content_id
  where ${isFromDomain(domain)}
    and not exists (select from streams t where t.project_id = ${projectId} and t.id = q.stream_id and ${isStopped}))`

/** Workers have few emails at a time: their index is small. */
const isInHand = ({ projectId, domain }: VerifyingPause) => sql`exists (
  select from emails s join contents c on c.project_id = s.project_id and c.id = s.content_id
  where s.state = 'sending' and s.project_id = ${projectId} and s.error_code is distinct from ${HELD} and ${isFromDomain(domain)})`

/** `refused`: by the server, with whatever reply. `open`: without a reply so far. */
type ProbeOutcome = 'accepted' | 'refused' | 'open' | 'otherwise'

/** Null: there was no such email. */
type Findings = {
  outcome: ProbeOutcome | null
  /** Whether refusals with that reply are still held, and whether the email of one of them may be sent as a probe. */
  hasHeld: boolean
  mayProbe: boolean
  othersWait?: boolean
}

/**
 * The verdict of the probe of a pause. `end`: the domain sends again. If a held email was accepted, its settlement has queued the others again; else
 * they are asked again, each of them. `pause`: still open, and the pause doubles. `retry`: the probe did not get to the server, or could not be claimed,
 * so another follows soon. `requeue`: nothing can show it, since the streams of all held emails are stopped. The domain must not wait for the person
 * who stopped them: the held refusals are dropped and their emails queued again, in the streams that are stopped. When these go on, the emails are
 * sent again, and their replies are evidence of that time.
 */
export function concludeProbe({ outcome, hasHeld, mayProbe, othersWait = false }: Findings): ProbeConclusion {
  if (outcome === 'accepted') return 'end'
  if (outcome === 'refused' || outcome === 'open') return 'pause'
  if (outcome === 'otherwise' || othersWait) return 'retry'
  if (!hasHeld) return 'end'
  return mayProbe ? 'retry' : 'requeue'
}

type ProbeConclusion = 'end' | 'requeue' | 'pause' | 'retry'

/** Whether a pause goes on after its probe. While it does, its held refusals are not judged, even if the streak of their reply has ended. */
export const isStillPaused = (conclusion: ProbeConclusion) => conclusion === 'pause' || conclusion === 'retry'

/** Ends the probe of a pause by the outcome that is in the database, and the pause itself unless it goes on. */
export async function endProbe(tx: Tx, pause: VerifyingPause, { email, othersWait }: Probe, timing: RefusalTiming) {
  const { projectId, domain, fingerprint, failedProbes } = pause
  const findings = await one(tx, findingsSql(pause, email))
  const conclusion = concludeProbe({ ...findings, othersWait })
  // Streaks before pauses, as in `holdSql`: avoids deadlocks.
  if (conclusion === 'end' && findings.outcome !== 'accepted')
    await sql`
      delete from refusal_streaks where project_id = ${projectId} and domain = ${domain} and fingerprint = ${fingerprint}
    `.execute(tx)
  if (conclusion === 'requeue') await requeueHeld(tx, pause)
  const failed = conclusion === 'pause' ? 1 : 0
  const pauseMs = failed ? durationOf(failedProbes + 1, timing) : timing.pauseMs
  if (isStillPaused(conclusion))
    await sql`
      update sending_pauses set probe_until = null, failed_probes = failed_probes + ${failed}, until = now() + ${seconds(pauseMs)}
      where project_id = ${projectId} and domain = ${domain} and verifies
    `.execute(tx)
  else await sql`delete from sending_pauses where project_id = ${projectId} and domain = ${domain} and verifies`.execute(tx)
  return conclusion
}

/** The streak stays: the next refusal with that reply pauses the domain again. */
const requeueHeld = (tx: Tx, { projectId, domain, fingerprint }: VerifyingPause) =>
  sql`
    with waiting as materialized (
      select e.id from held_refusals h join emails e on e.project_id = h.project_id and e.id = h.email_id
      where h.project_id = ${projectId} and h.domain = ${domain} and h.fingerprint = ${fingerprint} and ${WAITS_FOR_PROBE}
      order by e.id for update of h, e
    ), dropped as (
      delete from held_refusals h where h.project_id = ${projectId} and h.email_id in (select id from waiting)
    )
    update emails e set state = 'queued', error = null, error_code = null, updated_at = now()
    where e.project_id = ${projectId} and e.id in (select id from waiting)
  `.execute(tx)

const durationOf = (failedProbes: number, { pauseMs, maxPauseMs }: RefusalTiming) =>
  backoffMs(failedProbes, { first: pauseMs, longest: maxPauseMs })

/** Gives the probe of a pause back: it was not sent. */
export const returnProbe = (tx: Tx, { projectId, domain }: VerifyingPause) =>
  sql`update sending_pauses set probe_until = null where project_id = ${projectId} and domain = ${domain} and verifies`.execute(tx)

const findingsSql = ({ projectId, domain, fingerprint }: VerifyingPause, email: ClaimedEmail | undefined) => sql<
  Omit<Findings, 'othersWait'>
>`
  select (
      select case
        when e.state = 'sent' then 'accepted'
        when e.state in ('sending', 'unknown') then 'open'
        when ${IS_HELD} or e.state = 'deferred' and e.error_code = 'transient' then 'refused'
        else 'otherwise' end
      from emails e where e.project_id = ${projectId} and e.id = ${email?.id ?? null}::uuid) as outcome,
    count(*) > 0 as "hasHeld", coalesce(bool_or(${MAY_PROBE}), false) as "mayProbe"
  from held_refusals h join emails e on e.project_id = h.project_id and e.id = h.email_id
  where h.project_id = ${projectId} and h.domain = ${domain} and h.fingerprint = ${fingerprint} and ${WAITS_FOR_PROBE}`
