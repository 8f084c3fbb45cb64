import { type RawBuilder, sql } from 'kysely'
import { recordset } from '../../../db/rows.ts'
import { storable } from '../../../lib/text/storable.ts'
import { HOUR, MINUTE, SECOND } from '../../../lib/text/units.ts'
import type { Settlement } from '../outcomes/settlement.ts'

/**
 * `holdMs`: how long a plain refusal waits for an accepted recipient. `pauseMs`: the first pause of a sender domain after equal refusals; each
 * further one is twice as long, up to `maxPauseMs`. `probeMs`: time for the reply to a probe.
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

/** Whether emails of a sender domain are on the wire: their outcomes may end its streaks. */
export type IsOnWire = (sender: { projectId: string; domain: string }) => boolean

/**
 * Holds refusals: their emails wait, equal replies are counted, and the one that is too many pauses the sender domain, unless other emails of the
 * domain are on the wire: refusals of RCPT TO come before the replies to messages that were sent beside them. `pauseStreaks` pauses it later.
 * The count is in the database, since the emails of a sender domain are sent by several workers. Two statements of one transaction.
 */
export function holdSql(settlements: Settlement[], timing: RefusalTiming, isOnWire: IsOnWire = () => false) {
  const refusals = heldIn(settlements, isOnWire)
  const ofRefusal = ['projectId', 'domain', 'fingerprint', 'reply', 'unknownRecipient', 'plain'] as const
  const given = sql`${recordset('held_refusals', refusals, [...ofRefusal], {
    ...({ id: 'uuid', attempts: 'int', subject: 'text', toAddress: 'text', acceptedBefore: 'boolean', waitSeconds: 'float8' } as const),
    ...({ counts: 'boolean', onWire: 'boolean', order: 'int' } as const),
  })} as s`
  return [
    holdRowsSql(given, timing),
    markFrequentSql(
      sql`(select "projectId" as project_id, domain, fingerprint, bool_or("onWire") as on_wire from ${given} group by 1, 2, 3)`,
    ),
  ] as const
}

const holdRowsSql = (given: RawBuilder<unknown>, { pauseMs }: RefusalTiming) => sql<{ id: string }>`
  with given as materialized (
    select s.*, exists (
      select from held_refusals o where o.project_id = s."projectId" and o.email_id = s.id and o.fingerprint = s.fingerprint) as again
    from ${given}
  ), waiting as (
    update emails e set state = 'deferred', error = ${HELD}, error_code = ${HELD}, subject = coalesce(s.subject, e.subject),
      to_address = coalesce(s."toAddress", e.to_address), worker = null,
      handed_over_at = null, unknown_since = null, due_at = now() + make_interval(secs => s."waitSeconds"), updated_at = now()
    from given s
    where e.project_id = s."projectId" and e.id = s.id and e.attempts = s.attempts and e.state in ('sending', 'unknown')
    returning s.*
  ), held as (
    insert into held_refusals as h (project_id, email_id, domain, fingerprint, reply, unknown_recipient, plain, accepted_before)
    select "projectId", id, domain, fingerprint, reply, "unknownRecipient", plain, "acceptedBefore" from waiting order by counts, "order"
    -- A probe, or an email that was asked again. Another reply begins anew, but its email is asked less and less often.
    on conflict (project_id, email_id) do update set domain = excluded.domain, fingerprint = excluded.fingerprint, reply = excluded.reply,
      unknown_recipient = excluded.unknown_recipient, plain = excluded.plain, accepted_before = excluded.accepted_before, place = default,
      held_at = now(), frequent = h.frequent and ${IS_ALIKE}, accepted_after = case when ${IS_ALIKE} then h.accepted_after end,
      confirmed = ${IS_ALIKE} and h.accepted_after is not null and h.asks > 0
    returning h.*
  ), counted as (
    insert into refusal_streaks as t (project_id, domain, fingerprint, replies, first_place)
    select h.project_id, h.domain, h.fingerprint, count(*), min(h.place)
    from held h join waiting w on w."projectId" = h.project_id and w.id = h.email_id
    -- One email that is asked again and again is still a single one.
    where w.counts and not w.again
    group by 1, 2, 3 order by 1, 2, 3 -- consistent lock order: avoids deadlocks
    on conflict (project_id, domain, fingerprint) do update set last_at = now(),
      replies = excluded.replies + case when t.last_at > now() - make_interval(secs => ${STREAK_SECONDS}) then t.replies else 0 end
    returning t.*
  ), paused as (
    insert into sending_pauses as p (project_id, domain, reason, fingerprint, until, verifies)
    select distinct on (h.project_id, h.domain) h.project_id, h.domain, h.reply, h.fingerprint, now() + ${seconds(pauseMs)}, true
    from counted c join held h on h.project_id = c.project_id and h.domain = c.domain and h.fingerprint = c.fingerprint
    where c.replies >= ${MAX_EQUAL_REPLIES}
      and not exists (select from given s where s."projectId" = c.project_id and s.domain = c.domain and s."onWire")
    order by h.project_id, h.domain
    on conflict (project_id, domain) do update set ${VERIFIES_INSTEAD}
  )
  select id from waiting
`

/** Whether a refusal `h` that was held is given again. */
const IS_ALIKE = sql`h.fingerprint = excluded.fingerprint`

/**
 * Marks the held refusals of streaks that are too long, for rows of (`project_id`, `domain`, `fingerprint`, `on_wire`): once an accepted recipient
 * has ended its streak, nothing else tells how many they were. Not while emails of the domain are on the wire, unless it is paused already.
 */
export const markFrequentSql = (streaks: RawBuilder<unknown>) => sql<{ id: string }>`
  update held_refusals h set frequent = true
  from ${streaks} as s
  join refusal_streaks t on t.project_id = s.project_id and t.domain = s.domain and t.fingerprint = s.fingerprint
  where h.project_id = t.project_id and h.domain = t.domain and h.fingerprint = t.fingerprint and h.place >= t.first_place and not h.frequent
    and t.replies >= ${MAX_EQUAL_REPLIES} and (not s.on_wire or exists (
      select from sending_pauses p where p.project_id = t.project_id and p.domain = t.domain and p.verifies))
`

/** A pause `p` for another reason starts anew as one that verifies. */
export const VERIFIES_INSTEAD = sql`verifies = true, fingerprint = excluded.fingerprint, reason = excluded.reason, cause = null, failed_probes = 0,
  probed_alone = 0,  until = excluded.until, probe_until = null, since = now(), escalated = false where not p.verifies`

export const seconds = (ms: number) => sql`make_interval(secs => ${ms / SECOND})`

/** In order of settlement. A refusal that is followed by an accepted recipient of its sender domain in the same batch does not count. */
function heldIn(settlements: Settlement[], isOnWire: IsOnWire) {
  const accepted = new Set<string>()
  const held = settlements
    .toReversed()
    .flatMap(({ projectId, id, attempts, state, subject, toAddress, domain = '', refusal, waitSeconds = null }) => {
      const sender = `${projectId} ${domain}`
      if (state === 'sent') accepted.add(sender)
      if (!refusal) return []
      const texts = { subject: subject && storable(subject), fingerprint: storable(refusal.fingerprint), reply: storable(refusal.reply) }
      const counts = !accepted.has(sender)
      return [
        { ...refusal, projectId, id, attempts, toAddress, domain, ...texts, waitSeconds, counts, onWire: isOnWire({ projectId, domain }) },
      ]
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

/** Replies are written within this time of each other, which tells nothing about the order in which their dialogues began. */
const SLACK = sql`interval '1 second'`

/**
 * Part of the statement that settles emails: held refusals after which the dialogue of an accepted recipient began. One that was on the wire
 * already says nothing about the time after the refusal.
 */
export const acceptedAfterCte = ({ wereHeld }: { wereHeld: boolean }) => sql`, accepted_after as (
      update held_refusals h set accepted_after = now()
      from (
        select h.project_id, h.email_id
        from (
          select "projectId", domain, now() - make_interval(secs => min("secondsSinceBegin")) - ${SLACK} as began
          from settled where state = 'sent' and "secondsSinceBegin" is not null group by 1, 2
        ) as s join held_refusals h on h.project_id = s."projectId" and h.domain = s.domain and h.held_at < s.began
        where h.accepted_after is null${wereHeld ? IS_NOT_RELEASED : sql``}
          -- Always true: streaks are locked before held refusals, as when refusals are held, which avoids deadlocks.
          and (select count(*) from ended_streaks) >= 0
        order by 1, 2 for update of h
      ) as proven
      where h.project_id = proven.project_id and h.email_id = proven.email_id
    )`

/** A statement may change a row only once. */
const IS_NOT_RELEASED = sql`
          and not exists (select from settled r where r."projectId" = h.project_id and r.id = h.email_id)
          and not exists (select from about_us a where a.project_id = h.project_id and a.domain = h.domain and a.fingerprint = h.fingerprint)`

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
