import { sql } from 'kysely'
import { many, type Tx } from '../../src/db/index.ts'
import type { ReceivedMessage } from '../../test/support/servers/smtp-server.ts'
import { type Check, checkAgreement, checkRules } from '../support/check.ts'
import type { Sent } from '../support/load.ts'
import type { SendAck, SendCall } from './mail.ts'

type Ledger = ReadonlyMap<string, Sent<SendCall, SendAck>>
type Row = { id: string; state: string; error: string | null; messageId: string; address: string; retriedUnknown: boolean }

export const LOST = 'accepted, but it neither arrived nor ended with a reason'
export const TWICE = 'arrived more often than it may'

const UNKNOWN = 'outcome_unknown'
const isRefused = ({ address, error }: Row) => address.startsWith('p550') && error?.startsWith('550')

/** `cancelled`: emails whose cancellation a node has confirmed. */
type Known = { projectId: string; sent: Ledger; received: ReceivedMessage[]; evidence: boolean; cancelled: ReadonlySet<string> }

export const mailChecks = ({ projectId, ...known }: Known): Check[] => [
  async (tx) => checkEmails(await listEmails(tx, projectId), known),
  checkEnds(projectId, known.evidence),
  checkAgreement(projectId),
]

const listEmails = (tx: Tx, projectId: string) =>
  many(
    tx,
    sql<Row>`
      select id, state, error, message_id as "messageId", to_address as address, retried_unknown as "retriedUnknown"
      from emails where project_id = ${projectId}
    `,
  )

/** Compares the responses to clients, the rows, and the messages that arrived. */
function checkEmails(rows: Row[], { sent, received, evidence, cancelled }: Omit<Known, 'projectId'>) {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const copies = new Map<string, ReceivedMessage[]>()
  for (const mail of received) copies.set(mail.id, [...(copies.get(mail.id) ?? []), mail])
  const accepted = [...sent.values()].flatMap(({ ack }) => ack?.emails ?? [])
  const asked = new Set([...sent.values()].flatMap(({ call }) => call.body.to))

  const isDone = (row: Row | undefined) => {
    if (row?.state === 'sent') return copies.has(row.id)
    if (row?.state === 'cancelled') return true
    if (row?.state !== 'failed') return false
    return row.error === UNKNOWN ? !evidence || !copies.has(row.id) : isRefused(row) && !copies.has(row.id)
  }
  const mayArrive = ({ retriedUnknown }: Row) => (retriedUnknown && !evidence ? 2 : 1)
  const addresses = new Map<string, number>()
  for (const { address } of rows) addresses.set(address, (addresses.get(address) ?? 0) + 1)
  const tell = ({ id, state, error, address }: Row) => `${id} ${address} ${state} ${error ?? ''} ${JSON.stringify(copies.get(id) ?? [])}`
  return [
    { rule: 'accepted, but there is no email', cases: accepted.filter((id) => !byId.has(id)) },
    { rule: LOST, cases: rows.filter((row) => !isDone(row)).map(tell) },
    { rule: 'cancelled, but it arrived', cases: rows.filter(({ id, state }) => state === 'cancelled' && copies.has(id)).map(tell) },
    {
      rule: 'its cancellation was confirmed, but it is not cancelled',
      cases: rows.filter(({ id, state }) => cancelled.has(id) && state !== 'cancelled').map(tell),
    },
    { rule: TWICE, cases: rows.filter((row) => (copies.get(row.id)?.length ?? 0) > mayArrive(row)).map(tell) },
    { rule: 'arrived, but there is no such email', cases: [...copies.keys()].filter((id) => !byId.has(id)) },
    { rule: 'an email that no request asked for', cases: rows.filter(({ address }) => !asked.has(address)).map(tell) },
    { rule: 'one recipient of a request, two emails', cases: [...addresses].filter(([, count]) => count > 1).map(([address]) => address) },
    {
      rule: 'copies that differ, or do not belong to their email',
      cases: rows.filter((row) => !areOneMessage(row, copies.get(row.id) ?? [])).map(tell),
    },
  ]
}

const areOneMessage = ({ messageId, address }: Row, copies: ReceivedMessage[]) =>
  copies.every(
    ({ messageId: theirs, recipients, hash }) => theirs === `<${messageId}>` && recipients.join() === address && hash === copies[0]!.hash,
  )

/** Failed as unknown, until the frozen worker that had handed it over woke up with the response. Possible only without evidence. */
const CORRECTED = sql`e.state = 'sent' and e.retried_unknown and t.names = array['email.failed', 'email.sent']`

const checkEnds = (projectId: string, evidence: boolean) =>
  checkRules({
    'an email that has not ended': sql`
      select id, to_address, state, error, worker, attempts, due_at from emails
      where project_id = ${projectId} and state not in ('sent', 'failed', 'cancelled')
    `,
    'an email that has ended, but a worker still holds it or waits for it': sql`
      select id, state, worker, unknown_since, due_at from emails
      where project_id = ${projectId} and state in ('sent', 'failed') and (worker is not null or unknown_since is not null)
    `,
    'an email whose end was not recorded exactly once': sql`
      select e.id, e.state, t.names
      from emails e left join (
        select email_id, array_agg(name order by name) as names from events where project_id = ${projectId} and email_id is not null group by 1
      ) t on t.email_id = e.id
      where e.project_id = ${projectId} and e.state <> 'cancelled' and t.names is distinct from
        array[case when e.error like '550%' then 'email.bounce' else 'email.' || e.state end]
        and not ${evidence ? sql`false` : CORRECTED}
    `,
    'a refused address that is not suppressed, or another that is': sql`
      select e.id, e.to_address, c.subscribed, s.address as suppressed
      from emails e
      join contacts c on c.project_id = e.project_id and c.id = e.contact_id
      left join suppressions s on s.project_id = e.project_id and s.address = e.to_address
      where e.project_id = ${projectId} and case when e.error like '550%' then s.address is null or c.subscribed else s.address is not null end
    `,
  })
