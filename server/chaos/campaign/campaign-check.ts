import { sql } from 'kysely'
import { many, type Tx } from '../../src/db/index.ts'
import { groupBy } from '../../src/lib/collections/group-by.ts'
import type { ReceivedMessage } from '../../test/support/servers/smtp-server.ts'
import { type Check, checkAgreement, checkRules } from '../support/check.ts'
import type { Sent } from '../support/load.ts'
import { type ChangeAck, type ChangeCall, type Started, SUBJECT } from './campaign.ts'
import type { Halt } from './campaign-halts.ts'

type Row = {
  id: string
  campaignId: string
  address: string
  messageId: string
  state: string
  error: string | null
  handedOverAt: Date | null
}
type Known = {
  projectId: string
  started: Started[]
  halts: Halt[]
  sent: ReadonlyMap<string, Sent<ChangeCall, ChangeAck>>
  received: ReceivedMessage[]
  evidence: boolean
}

export const LOST = 'a recipient that neither got the email nor has a reason why not'
export const TWICE = 'arrived more than once'

const UNKNOWN = 'outcome_unknown'
/** Longest age of a mark at the last byte of a message (2 s), and time for a busy machine to note the arrival. */
const WIRE_MS = 6_000

export const campaignChecks = (known: Known): Check[] => [
  async (tx) => checkEmails(await listEmails(tx, known.projectId), known),
  checkCampaigns(known),
  checkAudiences(known),
  checkEnds(known),
  checkAgreement(known.projectId),
]

const listEmails = (tx: Tx, projectId: string) =>
  many(
    tx,
    sql<Row>`
      select id, campaign_id as "campaignId", to_address as address, message_id as "messageId", state, error, handed_over_at as "handedOverAt"
      from emails where project_id = ${projectId}
    `,
  )

/** Compares the answers to clients, the rows, and the messages that arrived. */
function checkEmails(rows: Row[], { sent, halts, received, evidence }: Known) {
  const ids = new Set(rows.map(({ id }) => id))
  const copies = groupBy(received, ({ id }) => id)
  const copiesOf = ({ id }: Row) => copies.get(id) ?? []
  const calls = [...sent.values()]
  const leaving = new Map(calls.filter(({ call }) => !call.body.subscribed).map(({ call, ack }) => [call.body.email, ack?.at]))
  const cancelled = new Set(halts.filter(({ to }) => to === Number.POSITIVE_INFINITY).map(({ campaignId }) => campaignId))
  const haltsOf = groupBy(halts, ({ campaignId }) => campaignId)
  const tell = (row: Row) => `${JSON.stringify(row)} ${JSON.stringify(copiesOf(row))}`

  const isDone = (row: Row) => {
    const arrived = copiesOf(row).length > 0
    if (row.state === 'sent') return arrived
    if (row.state === 'skipped') return !arrived && row.error === 'unsubscribed' && leaving.has(row.address)
    if (row.state === 'cancelled') return !arrived && cancelled.has(row.campaignId)
    if (row.state !== 'failed') return false
    return row.error === UNKNOWN ? !evidence || !arrived : !arrived && row.address.startsWith('p550') && row.error?.startsWith('550')
  }
  const isMarkedAfter = (row: Row, time: number) => (row.handedOverAt?.getTime() ?? 0) > time
  const leftBy = ({ address }: Row) => leaving.get(address) ?? Number.POSITIVE_INFINITY
  const isIn = ({ from, to }: Halt, time: number | undefined) => time !== undefined && time > from && time < to
  const haltMeets = (row: Row, times: (number | undefined)[], afterMs = 0) =>
    (haltsOf.get(row.campaignId) ?? []).some((halt) => times.some((time) => isIn({ ...halt, from: halt.from + afterMs }, time)))
  const arrivals = (row: Row) => copiesOf(row).map(({ at }) => at)
  return [
    { rule: LOST, cases: rows.filter((row) => !isDone(row)).map(tell) },
    { rule: TWICE, cases: rows.filter((row) => copiesOf(row).length > 1).map(tell) },
    { rule: 'arrived, but is no email of ours', cases: [...copies.keys()].filter((id) => !ids.has(id)) },
    {
      rule: 'arrived with an edited content, or at another address',
      cases: rows.filter((row) => copiesOf(row).some((copy) => !isAsFrozen(row, copy))).map(tell),
    },
    { rule: 'an email to a contact created after the start', cases: rows.filter(({ address }) => address.includes('+new')).map(tell) },
    {
      rule: 'marked, or arrived, after the answer to the request that unsubscribed the contact',
      cases: rows.filter((row) => isMarkedAfter(row, leftBy(row)) || arrivals(row).some((at) => at > leftBy(row) + WIRE_MS)).map(tell),
    },
    {
      rule: 'marked after the answer to a pause or cancellation',
      cases: rows.filter((row) => haltMeets(row, [row.handedOverAt?.getTime()])).map(tell),
    },
    {
      rule: 'arrived longer after the answer to a pause or cancellation than a message can be on the wire',
      cases: rows.filter((row) => haltMeets(row, arrivals(row), WIRE_MS)).map(tell),
    },
  ]
}

const isAsFrozen = ({ messageId, address }: Row, copy: ReceivedMessage) =>
  copy.messageId === `<${messageId}>` && copy.recipients.join() === address && copy.subject === SUBJECT

const WITHOUT_DRAFTS = sql`c.status <> 'DRAFT'`

/** Every campaign has ended and balances, by a count of its rows that shares no code with the product. */
const checkCampaigns = ({ projectId, started }: Known) =>
  checkRules({
    'a campaign that has not ended': sql`
      select c.id, c.name, c.status, c.settled_at from campaigns c
      where c.project_id = ${projectId} and ${WITHOUT_DRAFTS} and (c.status not in ('SENT', 'CANCELLED') or c.settled_at is null)
    `,
    'a campaign whose counters differ from its emails, or do not add up': sql`
      select c.id, c.name, c.status, c.total_recipients, c.sent_count, c.failed_count, c.skipped_count, c.bounced_count, e.*
      from campaigns c cross join lateral (
        select count(*) as total, count(*) filter (where state = 'sent') as sent, count(*) filter (where state = 'failed') as failed,
          count(*) filter (where state in ('skipped', 'cancelled')) as skipped, count(*) filter (where bounced_at is not null) as bounced
        from emails e where e.project_id = c.project_id and e.campaign_id = c.id
      ) as e
      where c.project_id = ${projectId} and ${WITHOUT_DRAFTS} and (
        (c.total_recipients, c.sent_count, c.failed_count, c.skipped_count, c.bounced_count) <> (e.total, e.sent, e.failed, e.skipped, e.bounced)
        or c.total_recipients <> c.sent_count + c.failed_count + c.skipped_count)
    `,
    'a campaign whose excluded contacts differ from their counters': sql`
      select c.id, c.name, c.excluded_unsubscribed, c.excluded_suppressed, c.excluded_invalid, x.*
      from campaigns c cross join lateral (
        select count(*) filter (where reason = 'unsubscribed') as unsubscribed, count(*) filter (where reason = 'suppressed') as suppressed,
          count(*) filter (where reason = 'invalid') as invalid
        from campaign_excluded x where x.project_id = c.project_id and x.campaign_id = c.id
      ) as x
      where c.project_id = ${projectId}
        and (c.excluded_unsubscribed, c.excluded_suppressed, c.excluded_invalid) <> (x.unsubscribed, x.suppressed, x.invalid)
    `,
    'a campaign that was not started exactly once': sql`
      select c.id, c.name, a.starts from unnest(${started.map(({ id }) => id)}::uuid[]) as s(id)
      left join campaigns c on c.id = s.id cross join lateral (
        select count(*) as starts from campaign_audit a where a.project_id = c.project_id and a.campaign_id = c.id and a.action = 'started'
      ) as a
      where c.id is null or a.starts <> 1
    `,
    'a schedule that was started before its time': sql`
      select id, scheduled_for, started_at from campaigns where project_id = ${projectId} and started_at < scheduled_for
    `,
    'a stream that is left': sql`select id, paused_at, cancelled_at from streams where project_id = ${projectId}`,
  })

/** Matches − excluded = recipients, contact by contact. Addresses say which contacts match, and which are excluded from the start. */
const checkAudiences = ({ projectId, started }: Known) => {
  const audiences = sql`(
    select s.id as campaign_id, s.pattern, c.status from jsonb_to_recordset(
      ${JSON.stringify(started.map(({ id, group }) => ({ id, pattern: `%+${group}-%` })))}::jsonb) as s(id uuid, pattern text)
    join campaigns c on c.project_id = ${projectId} and c.id = s.id) as a`
  const recipient = sql`exists (select from emails e where e.project_id = ${projectId} and e.campaign_id = a.campaign_id and e.contact_id = k.id)`
  const excluded = sql`exists (
    select from campaign_excluded x where x.project_id = ${projectId} and x.campaign_id = a.campaign_id and x.contact_id = k.id)`
  return checkRules({
    'a matching contact that is neither recipient nor excluded, or both': sql`
      select a.campaign_id, k.email from ${audiences} join contacts k on k.project_id = ${projectId} and k.email like a.pattern
      -- A cancellation ends a freeze.
      where case when ${recipient} then ${excluded} else not ${excluded} and a.status <> 'CANCELLED' end
    `,
    'a recipient or excluded contact that does not match, or is there twice': sql`
      select a.campaign_id, k.email, count(*) from ${audiences} join (
        select campaign_id, contact_id from emails where project_id = ${projectId}
        union all select campaign_id, contact_id from campaign_excluded where project_id = ${projectId}
      ) as l on l.campaign_id = a.campaign_id
      left join contacts k on k.project_id = ${projectId} and k.id = l.contact_id
      group by a.campaign_id, a.pattern, k.email having count(*) > 1 or not coalesce(k.email like a.pattern, false)
    `,
    'a contact that was suppressed or unsubscribed from the start, and not excluded for that reason': sql`
      select a.campaign_id, k.email, x.reason from ${audiences} join contacts k on k.project_id = ${projectId} and k.email like a.pattern
      left join campaign_excluded x on x.project_id = ${projectId} and x.campaign_id = a.campaign_id and x.contact_id = k.id
      where a.status <> 'CANCELLED' and x.reason is distinct from case
        when k.email ~ '-[sd][0-9]+@' then 'suppressed' when k.email ~ '-u[0-9]+@' or not k.subscribed and x.reason is not null then 'unsubscribed' end
    `,
  })
}

/** Every email has ended, and with it whatever a worker knew of it. */
const checkEnds = ({ projectId, evidence }: Known) =>
  checkRules({
    'an email that has ended, but a worker still holds it or waits for it': sql`
      select id, state, worker, unknown_since from emails where project_id = ${projectId} and (worker is not null or unknown_since is not null)
    `,
    'an email whose end was not recorded exactly once': sql`
      select e.id, e.state, e.error, t.names
      from emails e left join (
        select email_id, array_agg(name order by name) as names from events where project_id = ${projectId} and email_id is not null group by 1
      ) t on t.email_id = e.id
      where e.project_id = ${projectId} and e.state in ('sent', 'failed') and t.names is distinct from
        array[case when e.error like '550%' then 'email.bounce' else 'email.' || e.state end]
        -- Failed as unknown, until the frozen worker that had handed it over woke up with the reply.
        and not ${evidence ? sql`false` : sql`e.state = 'sent' and t.names = array['email.failed', 'email.sent']`}
    `,
  })
