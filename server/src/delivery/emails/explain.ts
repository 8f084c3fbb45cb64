import { columns, type RowOf } from '../../db/columns.ts'
import { type Db, maybeOne } from '../../db/index.ts'
import { PRIORITIES } from '../outbox/streams/stream-of.ts'
import { findEmail } from './email.ts'
import { timelineOf } from './timeline.ts'

const ROW = columns('emails', 'e', [
  'state',
  'lane',
  'failures',
  'crashes',
  'worker',
  'handedOverAt',
  'dueAt',
  'retriedUnknown',
  'providerId',
])
type EmailFacts = RowOf<typeof ROW> & {
  projectId: string
  project: string
  /** Only for a scheduled email that was not claimed yet. */
  sendAt: Date | null
}

/** State and timeline of an email as text, for operators. Undefined when no email has this id. */
export async function explainEmail(db: Db, id: string): Promise<string | undefined> {
  const facts = await findFacts(db, id)
  const email = facts && (await findEmail(db, facts.projectId, id))
  if (!email) return undefined
  const rows: [string, string | number | null | undefined][] = [
    ['email', id],
    ['project', `${facts.project} (${facts.projectId})`],
    ['to', email.to],
    ['from', email.from],
    ['subject', email.subject],
    ['message-id', email.messageId],
    ['status', email.status],
    ['state', describeState(facts)],
    ['attempts', `${email.attempts}, of which ${facts.failures} failed`],
    ['error', email.error],
    ['provider id', facts.providerId],
    ['crashes', facts.crashes || null],
  ]
  const fields = rows.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => `${name.padEnd(12)}${value}`)
  const timeline = (await timelineOf(db, facts.projectId, email)).map(
    ({ at, what, details }) => `${at}  ${what}${'reason' in details ? `: ${details.reason}` : ''}`,
  )
  return [...fields, '', ...timeline].join('\n')
}

/** One index lookup per project: the primary key begins with the project. */
const findFacts = (db: Db, id: string) =>
  maybeOne<EmailFacts>(db)`
    select p.id as "projectId", p.name as project, ${ROW}, case when e.attempts = 0 then e.send_at end as "sendAt"
    from projects p cross join lateral (select * from emails where project_id = p.id and id = ${id}) as e
  `

function describeState({ state, lane, worker, handedOverAt, dueAt, sendAt, retriedUnknown }: EmailFacts) {
  const retried = retriedUnknown ? ', retried after an attempt with an unknown outcome' : ''
  if (state === 'queued')
    return `queued: waits for a worker, ${lane === PRIORITIES.transactional ? 'transactional' : 'bulk'} priority${retried}`
  if (state === 'deferred' && sendAt) return `scheduled: sent at ${sendAt.toISOString()}`
  if (state === 'deferred' && dueAt === null)
    return 'deferred: refused, and it is being checked whether that is about the recipient or about us'
  if (state === 'deferred') return `deferred: next attempt after ${dueAt?.toISOString()}${retried}`
  if (state === 'sending') return `sending: by worker ${worker}, ${handedOverAt ? 'handed over' : 'not yet handed over'}${retried}`
  if (state === 'unknown') return 'unknown: handed over without a reply; resolved by evidence or, after 15 minutes, by policy'
  return `${state}${retried}`
}
