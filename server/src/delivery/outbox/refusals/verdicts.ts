import { sql } from 'kysely'
import { countAffected, type Db, many, scalar, type Tx } from '../../../db/index.ts'
import { recordset } from '../../../db/rows.ts'
import { addEntries } from '../outcomes/email-ledger.ts'
import { END_COLUMNS, type EndedEmail, EXPIRES_AFTER_DAYS, recordEnds } from '../outcomes/ended.ts'
import { HELD, IS_HELD, MAX_EQUAL_REPLIES, markFrequentSql, type RefusalTiming, seconds, VERIFIES_INSTEAD } from './hold.ts'
import { insertRefusalsSql } from './refusal.ts'

export const hasHeldRefusals = (db: Db) => scalar<boolean>(db)`select exists (select from held_refusals)`

/** A pause of the provider, or of the sender domain of a held refusal `h`: nothing of the domain is sent. */
const IS_PAUSED = sql`exists (
  select from sending_pauses p where p.domain = '' or p.project_id = h.project_id and p.domain = h.domain)`

/** While a domain is paused for a reply, only probes decide about its refusals. */
const IS_VERIFIED = sql`exists (
  select from sending_pauses p
  where p.project_id = h.project_id and p.domain = h.domain and p.fingerprint = h.fingerprint and p.verifies)`

/**
 * Whether a held refusal `h`, one of a few plain ones, stands, with the streak `t` of its reply: another recipient was accepted since, or its time is
 * over. While nothing of the domain can be sent, no recipient can be accepted, so the time that passes proves nothing.
 */
const standsPlainly = (holdMs: number) => sql`(
  h.plain and not h.frequent and (t.replies is null or h.place < t.first_place
    or t.replies < ${MAX_EQUAL_REPLIES} and h.held_at <= now() - ${seconds(holdMs)} and not ${IS_PAUSED}))`

/**
 * Acceptances shortly before and after are enough for a few equal refusals that suppress nobody. The email of one that would suppress its recipient
 * is sent again all the same: a relay may have refused us for half a minute only.
 */
const STANDS_AMONG_ACCEPTED = sql`(
  not h.unknown_recipient and not h.frequent and h.accepted_before and h.accepted_after <= h.held_at + interval '1 minute')`

const stands = (holdMs: number) => sql`(h.confirmed or not ${IS_VERIFIED} and (${standsPlainly(holdMs)} or ${STANDS_AMONG_ACCEPTED}))`

const AGE_LIMIT = sql`now() - make_interval(days => ${EXPIRES_AFTER_DAYS})`

/**
 * A held refusal `h` of an email `e` that is too old. Not right after it was refused: an email of a slow campaign may leave late. Emails of a
 * campaign do not expire while they wait for a person.
 */
const IS_EXPIRED = sql`(coalesce(e.requeued_at, e.send_at, e.created_at) < ${AGE_LIMIT} and h.held_at < now() - interval '1 hour' and not exists (
  select from streams s where s.project_id = e.project_id and s.id = e.stream_id and (s.paused_at is not null or s.expiry_from > ${AGE_LIMIT})))`

/**
 * Ends up to `limit` held emails whose refusals stand, with everything that follows: suppression, events and counters. Those that are too old
 * fail like any email that was retried in vain, and suppress no one. A refusal is removed in the same transaction, so its consequences are written
 * once. Returns how many ended.
 */
export async function applyVerdicts(tx: Tx, { holdMs, limit }: { holdMs: number; limit: number }) {
  const ended = await many<EndedEmail & { unknownRecipient: boolean }>(tx)`
    with judged as materialized (
      select h.project_id, h.email_id, h.reply, h.unknown_recipient, not ${stands(holdMs)} as expired
      from held_refusals h
      join emails e on e.project_id = h.project_id and e.id = h.email_id and ${IS_HELD}
      left join refusal_streaks t on t.project_id = h.project_id and t.domain = h.domain and t.fingerprint = h.fingerprint
      where ${IS_EXPIRED} or ${stands(holdMs)}
      order by 1, 2 limit ${limit} for update of h, e skip locked
    ), removed as (
      delete from held_refusals h using judged j where h.project_id = j.project_id and h.email_id = j.email_id
    ), ended as (
      update emails e set
        state = 'failed',
        error = j.reply,
        error_code = case when j.expired then 'transient' when j.unknown_recipient then 'bounced' else 'rejected' end,
        vars = case when j.unknown_recipient and not j.expired then null else e.vars end,
        due_at = null,
        updated_at = now()
      from judged j where e.project_id = j.project_id and e.id = j.email_id
      returning ${END_COLUMNS}, j.unknown_recipient and not j.expired as "unknownRecipient"
    ), refused as (
      ${insertRefusalsSql(sql`select "projectId", id, facts ->> 'messageId' as "messageId", error as reason from ended where "unknownRecipient"`)}
    )
    select * from ended
  `
  const refused = ended.filter(({ unknownRecipient }) => !unknownRecipient)
  const bounced = ended.filter(({ unknownRecipient }) => unknownRecipient).map((email) => ({ ...email, kind: 'failed' as const }))
  await recordEnds(tx, refused)
  // Without an event: the bounce that follows has one.
  await addEntries(tx, bounced)
  return ended.length
}

/**
 * Queues up to `limit` held emails again after which another recipient was accepted: refused alike, their refusals stand; accepted, they were about
 * us. One that gets another reply each time is asked less and less often. Call after `applyVerdicts`. Returns how many.
 */
export const askAgain = (tx: Tx, limit: number) =>
  countAffected(tx)`
    with chosen as materialized (
      select h.project_id, h.email_id
      from held_refusals h
      join emails e on e.project_id = h.project_id and e.id = h.email_id and ${IS_HELD}
      where h.accepted_after is not null and not h.confirmed and (h.frequent or not h.plain)
        and h.held_at <= now() - h.asks * h.asks * interval '1 minute' and not ${IS_PAUSED}
      order by 1, 2 limit ${limit} for update of h, e skip locked
    ), asked as (
      update held_refusals h set asks = h.asks + 1 from chosen c where h.project_id = c.project_id and h.email_id = c.email_id
    )
    update emails e set state = 'queued', due_at = null, updated_at = now()
    from chosen c where e.project_id = c.project_id and e.id = c.email_id
  `

/**
 * Pauses sender domains with too many equal replies that no pause verifies. There is one from the start, unless emails of the domain were on the wire,
 * but it may have ended for another reply, or with its domain. `onWire`: domains of which this worker has emails on the wire.
 */
export async function pauseStreaks(tx: Tx, { pauseMs }: RefusalTiming, onWire: { projectId: string; domain: string }[] = []) {
  const paused = await many<{ projectId: string; domain: string; fingerprint: string }>(tx)`
    insert into sending_pauses as p (project_id, domain, reason, fingerprint, until, verifies)
    select distinct on (t.project_id, t.domain) t.project_id, t.domain, h.reply, t.fingerprint, now() + ${seconds(pauseMs)}, true
    from refusal_streaks t
    join held_refusals h on h.project_id = t.project_id and h.domain = t.domain and h.fingerprint = t.fingerprint and h.place >= t.first_place
    where t.replies >= ${MAX_EQUAL_REPLIES}
      and not exists (select from sending_pauses v where v.project_id = t.project_id and v.domain = t.domain and v.verifies)
      and (t.project_id, t.domain) not in (
        select "projectId", domain from ${recordset('refusal_streaks', onWire, ['projectId', 'domain'])} as w)
    order by t.project_id, t.domain
    on conflict (project_id, domain) do update set ${VERIFIES_INSTEAD}
    returning p.project_id as "projectId", p.domain, p.fingerprint
  `
  if (!paused.length) return
  await markFrequentSql(sql`(
    select "projectId" as project_id, domain, fingerprint, false as on_wire
    from ${recordset('refusal_streaks', paused, ['projectId', 'domain', 'fingerprint'])} as p)`).execute(tx)
}

/**
 * Removes held refusals of emails that have ended otherwise (by a report, or cancelled), and streaks that are over. A held email without its
 * refusal, which there should not be, is queued again: else it would wait for ever.
 */
export async function tidyHeldRefusals(tx: Tx) {
  await sql`
    delete from held_refusals h where not exists (
      select from emails e where e.project_id = h.project_id and e.id = h.email_id and e.error_code = ${HELD}
        and e.state in ('deferred', 'queued', 'sending', 'unknown'))
  `.execute(tx)
  await sql`
    delete from refusal_streaks t where t.last_at < now() - interval '1 hour' and not exists (
      select from held_refusals h where h.project_id = t.project_id and h.domain = t.domain and h.fingerprint = t.fingerprint)
  `.execute(tx)
  await sql`
    update emails e set state = 'queued', error = null, error_code = null, updated_at = now()
    where ${IS_HELD} and e.due_at is null
      and not exists (select from held_refusals h where h.project_id = e.project_id and h.email_id = e.id)
  `.execute(tx)
}
