import { sql } from 'kysely'
import { type Db, many, scalar, type Tx } from '../../../db/index.ts'
import { addEntries } from '../email-ledger.ts'
import { END_COLUMNS, type EndedEmail, EXPIRES_AFTER_DAYS, recordEnds } from '../ended.ts'
import { HELD, IS_HELD, MAX_EQUAL_REPLIES, type RefusalTiming, seconds, VERIFIES_INSTEAD } from './hold.ts'
import { insertRefusalsSql } from './refusal.ts'

export const hasHeldRefusals = (db: Db) => scalar<boolean>(db)`select exists (select from held_refusals)`

/**
 * Whether a held refusal `h` with the streak `t` of its reply stands: a recipient of its sender domain was accepted after it, or its time is over
 * and the reply is not frequent. While the domain is paused for that reply, only probes decide. While nothing of the domain can be sent, no recipient
 * can be accepted, so the time that passes proves nothing.
 */
const stands = (holdMs: number) => sql`(
  not exists (
    select from sending_pauses p
    where p.project_id = h.project_id and p.domain = h.domain and p.fingerprint = h.fingerprint and p.verifies)
  and (t.replies is null or h.place < t.first_place
    or t.replies < ${MAX_EQUAL_REPLIES} and h.held_at <= now() - ${seconds(holdMs)} and not exists (
      select from sending_pauses p where p.domain = '' or p.project_id = h.project_id and p.domain = h.domain)))`

/** A held refusal `h` of the email `e` that is too old. Emails of a campaign do not expire while they wait for a person. */
const isExpired = sql`(h.held_at < now() - make_interval(days => ${EXPIRES_AFTER_DAYS}) and not exists (
  select from streams s where s.project_id = e.project_id and s.id = e.stream_id
    and (s.paused_at is not null or s.expiry_from > now() - make_interval(days => ${EXPIRES_AFTER_DAYS}))))`

/**
 * Ends up to `limit` held emails whose refusals stand, with everything that follows: suppression, events and counters. A refusal is removed in the
 * same transaction, so its consequences are written once. Returns how many ended.
 */
export async function applyVerdicts(tx: Tx, { holdMs, limit }: { holdMs: number; limit: number }) {
  const ended = await many<EndedEmail & { unknownRecipient: boolean }>(tx)`
    with judged as materialized (
      select h.project_id, h.email_id, h.reply, h.unknown_recipient, ${isExpired} as expired
      from held_refusals h
      join emails e on e.project_id = h.project_id and e.id = h.email_id and ${IS_HELD}
      left join refusal_streaks t on t.project_id = h.project_id and t.domain = h.domain and t.fingerprint = h.fingerprint
      where ${isExpired} or ${stands(holdMs)}
      order by 1, 2 limit ${limit} for update of h, e skip locked
    ), removed as (
      delete from held_refusals h using judged j where h.project_id = j.project_id and h.email_id = j.email_id
    ), ended as (
      update emails e set
        state = 'failed',
        error = case when j.expired then 'expired' else j.reply end,
        error_code = case when j.expired then 'expired' when j.unknown_recipient then 'bounced' else 'rejected' end,
        vars = case when j.unknown_recipient and not j.expired then null else e.vars end,
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
 * Pauses sender domains with too many equal replies that no pause verifies. There is one from the start, but it may have ended for another reply, or
 * with its domain.
 */
export const pauseStreaks = (tx: Tx, { pauseMs }: RefusalTiming) =>
  sql`
    insert into sending_pauses as p (project_id, domain, reason, fingerprint, until, verifies)
    select distinct on (t.project_id, t.domain) t.project_id, t.domain, h.reply, t.fingerprint, now() + ${seconds(pauseMs)}, true
    from refusal_streaks t
    join held_refusals h on h.project_id = t.project_id and h.domain = t.domain and h.fingerprint = t.fingerprint and h.place >= t.first_place
    where t.replies >= ${MAX_EQUAL_REPLIES}
      and not exists (select from sending_pauses v where v.project_id = t.project_id and v.domain = t.domain and v.verifies)
    order by t.project_id, t.domain
    on conflict (project_id, domain) do update set ${VERIFIES_INSTEAD}
  `.execute(tx)

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
