import { sql } from 'kysely'
import { many, type Tx } from '../../src/db/index.ts'
import type { EmailIds } from '../../test/support/servers/ses-event.ts'
import { type Broken, type Check, checkContacts, checkRules } from '../support/check.ts'
import type { Sent } from '../support/load.ts'
import type { FeedbackCall } from './feedback.ts'

type Told = { id: string; mails: EmailIds[] }
type Ledger = ReadonlyMap<string, Sent<FeedbackCall, true>>

export const LOST = 'acknowledged, but nobody has it'
export const TWICE = 'told of a mail more than once'

export const feedbackChecks = (inOrder: Told, inDisorder: Told, sent: Ledger): Check[] => [
  (tx) => compare(tx, inOrder, inDisorder),
  (tx) => checkKept(tx, sent),
  checkOnce(inDisorder.id),
  // Not the counters of emails: this suite takes back what happened to some of them.
  checkContacts(inOrder.id),
  checkContacts(inDisorder.id),
]

/** Whatever the order of the reports, emails, contacts and counters end up the same. */
async function compare(tx: Tx, inOrder: Told, inDisorder: Told): Promise<Broken[]> {
  const [expected, found] = [await storiesOf(tx, inOrder), await storiesOf(tx, inDisorder)]
  const different = found.flatMap((story, index) => (story === expected[index] ? [] : [`${story} instead of ${expected[index]}`]))
  const [expectedSums, foundSums] = [await sumsOf(tx, inOrder.id), await sumsOf(tx, inDisorder.id)]
  return [
    { rule: 'reported in random order, an email ended differently', cases: different },
    {
      rule: 'reported in random order, the counters differ',
      cases: foundSums === expectedSums ? [] : [`${foundSums} instead of ${expectedSums}`],
    },
    { rule: 'reported, but not ended', cases: found.filter((story) => !/^(sent|failed) /.test(story)) },
  ]
}

/** Everything recorded of each email and its contact, without ids and times of this run. */
async function storiesOf(tx: Tx, { id: projectId, mails }: Told) {
  const rows = await many(
    tx,
    sql<{ id: string; story: string }>`
      with told as (
        select email_id, string_agg(concat_ws(':', name, data ->> 'bounceType', data ->> 'reason',
          data - 'emailId' - 'messageId' - 'from' - 'sentAt'), ',' order by name, data ->> 'bounceType') as events
        from events where project_id = ${projectId} and email_id is not null group by 1
      ), changes as (
        select contact_id, string_agg(concat_ws(':', name, data ->> 'reason'), ',' order by id) as events
        from events where project_id = ${projectId} and email_id is null group by 1
      ), choices as (
        select contact_id, string_agg(concat_ws(':', source, subscribed), ',' order by id) as consents
        from consents where project_id = ${projectId} group by 1
      ), delays as (
        select email_id, string_agg(distinct details::text, ',') as delays
        from provider_notifications where project_id = ${projectId} and kind = 'DeliveryDelay' group by 1
      )
      select e.id, concat_ws(' ', e.state, e.error, e.to_address, e.attempts, e.provider_id is not null, e.sent_at is not null,
        'at', e.delivered_at, e.bounced_at, e.complained_at, e.unknown_since is null, e.worker is null, e.due_at is null,
        'events', t.events, 'contact', c.subscribed, h.events, k.consents, 'suppressed', s.reason, 'soft', b.created_at, b.forgiven,
        'delays', d.delays) as story
      from emails e
      left join contacts c on c.project_id = e.project_id and c.id = e.contact_id
      left join suppressions s on s.project_id = e.project_id and s.address = e.to_address
      left join soft_bounces b on b.project_id = e.project_id and b.address = e.to_address and b.email_id = e.id
      left join told t on t.email_id = e.id
      left join changes h on h.contact_id = e.contact_id
      left join choices k on k.contact_id = e.contact_id
      left join delays d on d.email_id = e.id
      where e.project_id = ${projectId}
    `,
  )
  const byId = new Map(rows.map(({ id, story }) => [id, story]))
  return mails.map(({ id }) => byId.get(id) ?? 'gone')
}

async function sumsOf(tx: Tx, projectId: string) {
  const events = await many(
    tx,
    sql`
      select name, sum(count)::int as count from (
        select name, count from event_counts where project_id = ${projectId}
        union all select name, count from event_count_deltas where project_id = ${projectId}) as both_halves
      group by name order by name
    `,
  )
  const people = await many(
    tx,
    sql`
      select sum(total)::int as total, sum(subscribed)::int as subscribed from (
        select total, subscribed from contact_counts where project_id = ${projectId}
        union all select total, subscribed from contact_count_deltas where project_id = ${projectId}) as both_halves
    `,
  )
  const suppressions = await many(
    tx,
    sql`
      select reason, count(*)::int from suppressions where project_id = ${projectId} group by 1 order by 1
    `,
  )
  return JSON.stringify({ events, people, suppressions })
}

async function checkKept(tx: Tx, sent: Ledger): Promise<Broken[]> {
  const told = new Set([...sent.values()].flatMap(({ call, ack }) => (ack ? [call.body.MessageId!] : [])))
  const rows = await many(
    tx,
    sql<{ id: string; done: boolean; error: string | null }>`select id, due_at is null as done, error from provider_notifications`,
  )
  const kept = new Map(rows.map((row) => [row.id, row]))
  const isOdd = (error: string | null) => error !== null && error !== 'This kind of event has no effect.'
  return [
    { rule: LOST, cases: [...told].filter((id) => !kept.has(id)) },
    { rule: 'stored, but not applied', cases: rows.filter(({ done }) => !done).map(({ id }) => id) },
    {
      rule: 'applied without the effect it should have',
      cases: rows.flatMap(({ id, error }) => (isOdd(error) ? [`${id} ${error}`] : [])),
    },
  ]
}

const checkOnce = (projectId: string) =>
  checkRules({
    [TWICE]: sql`
      select email_id, name, data ->> 'bounceType' as type, count(*) from events
      where project_id = ${projectId} and email_id is not null group by 1, 2, 3 having count(*) > 1
    `,
  })
