import { sql } from 'kysely'
import { many, type Tx } from '../../src/db/index.ts'
import { groupBy } from '../../src/lib/collections/group-by.ts'
import type { SendAck } from '../mail/mail.ts'
import type { AcceptedMessage, BadReply, Stage } from '../nodes/relay-server.ts'
import { type Check, checkAgreement, checkRules } from '../support/check.ts'
import type { Sent } from '../support/load.ts'
import type { RelayCall } from './relay.ts'

type Row = {
  id: string
  projectId: string
  state: string
  error: string | null
  address: string
  sender: string
  failures: number
  retriedUnknown: boolean
  bounced: boolean
  suppressed: boolean
  subscribed: boolean
}
type Known = {
  projects: string[]
  sent: ReadonlyMap<string, Sent<RelayCall, SendAck>>
  said: BadReply[]
  taken: AcceptedMessage[]
  /** How many emails of one sender domain the same permanent refusal may end before the breaker stops it. */
  breakerLimit: number
  /** How often the relay may have to say the same about us before sending is paused, with the probes that follow. */
  probeLimit: number
}

export const LOST = 'accepted, but it neither arrived nor ended with a reason that the relay gave about it'
export const TWICE = 'arrived more often than it may'

const UNKNOWN = 'outcome_unknown'
/** Three days of the retry schedule have more tries than this: only then may a temporary refusal end an email. */
const GIVE_UP_AFTER = 15
/** Answers that may end an email: those about its recipient, and those about this one message. */
const ABOUT_EMAIL = new Set<Stage>(['rcpt', 'data', 'dot'])
const isAboutMessage = ({ stage, reply }: BadReply) => stage === 'mail' && /^(552 5\.3\.4|501) /.test(reply)
const ABOUT_US = new Set<Stage>(['greeting', 'ehlo', 'starttls', 'auth'])
const isPermanent = ({ reply }: BadReply) => reply.startsWith('5')
const isUnknownRecipient = ({ stage, reply }: BadReply) => ABOUT_EMAIL.has(stage) && /^550 5\.1\.1 (?!Your )/.test(reply)
const isUnanswered = ({ stage, reply }: BadReply) => stage === 'dot' && reply === ''

export const relayChecks = (known: Known): Check[] => [
  async (tx) => checkEmails(await listEmails(tx, known.projects), known),
  ...known.projects.flatMap((projectId) => [checkEnds(projectId), checkAgreement(projectId)]),
]

const listEmails = (tx: Tx, projects: string[]) =>
  many(
    tx,
    sql<Row>`
      select e.id, e.project_id as "projectId", e.state, e.error, e.to_address as address, c.from_address as sender, e.failures,
        e.retried_unknown as "retriedUnknown", e.bounced_at is not null as bounced, s.address is not null as suppressed,
        coalesce(k.subscribed, true) as subscribed
      from emails e
      join contents c on c.project_id = e.project_id and c.id = e.content_id
      left join contacts k on k.project_id = e.project_id and k.id = e.contact_id
      left join suppressions s on s.project_id = e.project_id and s.address = e.to_address
      where e.project_id = any(${projects}::uuid[])
    `,
  )

/** Compares the answers to clients, the rows, and the relay's record of the same emails. */
function checkEmails(rows: Row[], { sent, said, taken, breakerLimit, probeLimit }: Known) {
  const ids = new Set(rows.map(({ id }) => id))
  const copies = countBy(taken, ({ id }) => id)
  // At MAIL FROM a relay knows no recipient yet.
  const bySubject = groupBy(said, ({ sender, recipient }) => recipient || sender)
  const about = ({ sender, address }: Row) => [...(bySubject.get(sender) ?? []), ...(bySubject.get(address) ?? [])]
  const accepted = [...sent.values()].flatMap(({ ack }) => ack?.emails ?? [])
  const tell = (row: Row) => {
    const answers = about(row).map(({ stage, reply }) => `${stage}: ${reply || 'closed'}`)
    return `${row.id} ${row.address} ${row.state} ${row.error ?? ''} (copies ${copies.get(row.id) ?? 0}, failures ${row.failures}; ${answers.join('; ')})`
  }

  const isReason = (row: Row) => (answer: BadReply) =>
    row.error?.includes(answer.reply) &&
    (isPermanent(answer) || row.failures >= GIVE_UP_AFTER) &&
    (ABOUT_EMAIL.has(answer.stage) || isAboutMessage(answer))
  const isDone = (row: Row) => {
    if (row.state === 'sent') return copies.has(row.id)
    if (row.state !== 'failed') return false
    return row.error === UNKNOWN ? about(row).some(isUnanswered) : about(row).some(isReason(row))
  }
  const mayArrive = (row: Row) => (row.retriedUnknown && about(row).some(isUnanswered) ? 2 : 1)
  const isHardBounced = (row: Row) => row.bounced || row.suppressed || !row.subscribed
  const mayBounce = (row: Row) => about(row).some(isUnknownRecipient)
  const endedBy = countBy(
    rows.filter((row) => row.state === 'failed' && row.error?.includes('[fault') && !mayBounce(row) && !about(row).some(isAboutMessage)),
    (row) => `${row.sender.split('@')[1]} ${row.error}`,
  )
  const aboutUs = countBy(
    said.filter((answer) => ABOUT_US.has(answer.stage) && isPermanent(answer)),
    ({ stage, reply }) => `${stage}: ${reply}`,
  )
  return [
    { rule: 'accepted, but there is no email', cases: accepted.filter((id) => !ids.has(id)) },
    { rule: LOST, cases: rows.filter((row) => !isDone(row)).map(tell) },
    { rule: TWICE, cases: rows.filter((row) => (copies.get(row.id) ?? 0) > mayArrive(row)).map(tell) },
    { rule: 'arrived, but is no email of ours', cases: [...copies.keys()].filter((id) => !ids.has(id)) },
    {
      rule: 'outcome unknown, though the relay answered or was ready to',
      cases: rows.filter((row) => row.retriedUnknown && !about(row).some(isUnanswered)).map(tell),
    },
    {
      rule: 'bounced, suppressed or unsubscribed, though the relay never said that there is no such recipient',
      cases: rows.filter((row) => isHardBounced(row) && !mayBounce(row)).map(tell),
    },
    {
      rule: 'failed as an unknown recipient, but not bounced, suppressed and unsubscribed',
      cases: rows
        .filter(({ state, error }) => state === 'failed' && error?.startsWith('550 5.1.1') && !error.startsWith('550 5.1.1 Your '))
        .filter(({ bounced, suppressed, subscribed }) => !bounced || !suppressed || subscribed)
        .map(tell),
    },
    {
      rule: 'more failures counted than the relay gave answers about the email',
      cases: rows.filter((row) => row.failures > about(row).length).map(tell),
    },
    {
      rule: 'the same permanent refusal ended more emails of a sender domain than the breaker allows',
      cases: [...endedBy].filter(([, count]) => count > breakerLimit).map(([refusal, count]) => `${count} × ${refusal}`),
    },
    {
      rule: 'the relay refused us, and was asked again and again',
      cases: [...aboutUs].filter(([, count]) => count > probeLimit).map(([refusal, count]) => `${count} × ${refusal}`),
    },
  ]
}

/** Every email has ended, with one event for its end: states, events and suppressions add up. */
const checkEnds = (projectId: string) =>
  checkRules({
    'an email that has not ended': sql`
      select id, to_address, state, error, worker, attempts, due_at from emails
      where project_id = ${projectId} and state not in ('sent', 'failed', 'skipped')
    `,
    'an email that has ended, but a worker still holds it or waits for it': sql`
      select id, state, worker, unknown_since from emails
      where project_id = ${projectId} and state in ('sent', 'failed', 'skipped') and (worker is not null or unknown_since is not null)
    `,
    'an email whose end was not recorded exactly once': sql`
      select e.id, e.state, e.error, t.names
      from emails e left join (
        select email_id, array_agg(name order by name) as names from events where project_id = ${projectId} and email_id is not null group by 1
      ) t on t.email_id = e.id
      where e.project_id = ${projectId} and t.names is distinct from
        array[case when e.bounced_at is not null then 'email.bounce' else 'email.' || e.state end]
    `,
    'a suppression without a bounced email': sql`
      select s.address from suppressions s where s.project_id = ${projectId} and not exists (
        select from emails e where e.project_id = s.project_id and e.to_address = s.address and e.bounced_at is not null)
    `,
  })

const countBy = <T>(list: T[], keyOf: (item: T) => string) => new Map([...groupBy(list, keyOf)].map(([key, items]) => [key, items.length]))
