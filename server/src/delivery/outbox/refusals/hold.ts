import { sql } from 'kysely'
import { storable } from '../../../lib/text/storable.ts'
import { HOUR, MINUTE, SECOND } from '../../../lib/text/units.ts'
import type { Settlement } from '../settle.ts'

/**
 * `holdMs`: how long a refusal waits for an accepted recipient. `pauseMs`: the first pause of a sender domain after equal refusals; each
 * further one is twice as long, up to `maxPauseMs`. `probeMs`: time for the replies to a pair of probes.
 */
export type RefusalTiming = { holdMs: number; pauseMs: number; maxPauseMs: number; probeMs: number }
export const REFUSAL_TIMING: RefusalTiming = { holdMs: 10 * SECOND, pauseMs: 5 * SECOND, maxPauseMs: 30 * MINUTE, probeMs: MINUTE }

/** Equal replies in a row, without an accepted recipient, that pause the sender domain. */
export const MAX_EQUAL_REPLIES = 5

/** Age at which replies that nothing has followed are no evidence about the present. */
const STREAK_SECONDS = HOUR / SECOND

/** The error, and its code, of an email whose refusal is held. */
export const HELD = 'verifying_refusal'

/** A held email `e` that waits. */
export const IS_HELD = sql`e.state = 'deferred' and e.error_code = ${sql.lit(HELD)}`

/** A refusal whose consequences are written once it is known that it is not about us. */
export type HeldRefusal = { fingerprint: string; reply: string; unknownRecipient: boolean }

/**
 * Holds refusals, as one statement: their emails wait, equal replies are counted, and the one that is too many pauses the sender domain. The
 * count is in the database, since the emails of a sender domain are sent by several workers.
 */
export const holdSql = (settlements: Settlement[], { pauseMs }: RefusalTiming) => sql<{ id: string }>`
  with given as materialized (
    select * from jsonb_to_recordset(${JSON.stringify(heldIn(settlements))}::jsonb) as s(
      "projectId" uuid, id uuid, attempts int, subject text, "toAddress" text, domain text, fingerprint text, reply text, "unknownRecipient" boolean, counts boolean,
      "order" int)
  ), waiting as (
    update emails e set state = 'deferred', error = ${HELD}, error_code = ${HELD}, subject = coalesce(s.subject, e.subject),
      to_address = coalesce(s."toAddress", e.to_address), worker = null,
      handed_over_at = null, unknown_since = null, due_at = null, updated_at = now()
    from given s
    where e.project_id = s."projectId" and e.id = s.id and e.attempts = s.attempts and e.state in ('sending', 'unknown')
    returning s.*
  ), held as (
    insert into held_refusals as h (project_id, email_id, domain, fingerprint, reply, unknown_recipient)
    select "projectId", id, domain, fingerprint, reply, "unknownRecipient" from waiting order by counts, "order"
    -- A probe that was refused again.
    on conflict (project_id, email_id) do update set domain = excluded.domain, fingerprint = excluded.fingerprint, reply = excluded.reply,
      unknown_recipient = excluded.unknown_recipient, place = default
    returning h.*
  ), counted as (
    insert into refusal_streaks as t (project_id, domain, fingerprint, replies, first_place)
    select h.project_id, h.domain, h.fingerprint, count(*), min(h.place)
    from held h join waiting w on w."projectId" = h.project_id and w.id = h.email_id where w.counts
    group by 1, 2, 3 order by 1, 2, 3 -- consistent lock order: avoids deadlocks
    on conflict (project_id, domain, fingerprint) do update set last_at = now(),
      replies = excluded.replies + case when ${IS_FRESH} then t.replies else 0 end,
      first_place = case when ${IS_FRESH} then t.first_place else excluded.first_place end
    returning t.*
  ), paused as (
    insert into sending_pauses as p (project_id, domain, reason, fingerprint, until, verifies)
    select distinct on (h.project_id, h.domain) h.project_id, h.domain, h.reply, h.fingerprint, now() + ${seconds(pauseMs)}, true
    from counted c join held h on h.project_id = c.project_id and h.domain = c.domain and h.fingerprint = c.fingerprint
    where c.replies >= ${MAX_EQUAL_REPLIES}
    order by h.project_id, h.domain
    on conflict (project_id, domain) do update set ${VERIFIES_INSTEAD}
  )
  select id from waiting
`

/** A pause `p` for another reason starts anew as one that verifies. */
export const VERIFIES_INSTEAD = sql`verifies = true, fingerprint = excluded.fingerprint, reason = excluded.reason, cause = null, failed_probes = 0,
  probed_alone = 0,  until = excluded.until, probe_until = null, since = now(), escalated = false where not p.verifies`

const IS_FRESH = sql`t.last_at > now() - make_interval(secs => ${STREAK_SECONDS})`

export const seconds = (ms: number) => sql`make_interval(secs => ${ms / SECOND})`

/** In order of settlement. A refusal that is followed by an accepted recipient of its sender domain in the same batch does not count. */
function heldIn(settlements: Settlement[]) {
  const accepted = new Set<string>()
  const held = settlements.toReversed().flatMap(({ projectId, id, attempts, state, subject, toAddress, domain = '', refusal }) => {
    const sender = `${projectId} ${domain}`
    if (state === 'sent') accepted.add(sender)
    if (!refusal) return []
    const { fingerprint, reply, unknownRecipient } = refusal
    const texts = { subject: subject && storable(subject), fingerprint: storable(fingerprint), reply: storable(reply) }
    return [{ projectId, id, attempts, toAddress, domain, ...texts, unknownRecipient, counts: !accepted.has(sender) }]
  })
  return held.toReversed().map((each, order) => ({ ...each, order }))
}

/** Part of the statement that settles emails: a recipient that was accepted ends the streaks of its sender domain. Locks in order of the keys. */
export const endStreaksSql = sql`
  delete from refusal_streaks where (project_id, domain, fingerprint) in (
    select t.project_id, t.domain, t.fingerprint
    from (select distinct "projectId", domain from settled where state = 'sent') as s
    join refusal_streaks t on t.project_id = s."projectId" and t.domain = s.domain
    order by 1, 2, 3 for update of t)
  returning project_id`

/**
 * Further parts, for batches with emails that were held. Such an email is no longer held, whatever its outcome. If it was accepted, the reply was
 * about us: all held refusals with that reply are void, and their emails are queued again.
 */
export const releaseHeldCtes = sql`, released as (
      delete from held_refusals h
      where (h.project_id, h.email_id) in (select "projectId", id from settled where "wasHeld" and code is distinct from ${HELD})
      returning h.project_id, h.email_id, h.domain, h.fingerprint
    ), about_us as materialized (
      select distinct r.project_id, r.domain, r.fingerprint
      from released r join settled s on s."projectId" = r.project_id and s.id = r.email_id where s.state = 'sent'
    ), void as (
      delete from held_refusals h using about_us a
      where h.project_id = a.project_id and h.domain = a.domain and h.fingerprint = a.fingerprint
        and not exists (select from settled s where s."projectId" = h.project_id and s.id = h.email_id)
      returning h.project_id, h.email_id
    ), sent_again as (
      update emails e set state = 'queued', error = null, error_code = null, updated_at = now()
      from void v where e.project_id = v.project_id and e.id = v.email_id and ${IS_HELD}
    ), resumed as (
      delete from sending_pauses p using about_us a where p.project_id = a.project_id and p.domain = a.domain and p.verifies
        -- Always true: streaks are locked before pauses, as when refusals are held, which avoids deadlocks.
        and (select count(*) from ended_streaks) >= 0
    )`
