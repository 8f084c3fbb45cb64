import { sql } from 'kysely'
import { type Db, maybeOne } from '../../db/index.ts'
import { findEmail } from './email.ts'
import { timelineOf } from './timeline.ts'

type EmailFacts = {
  projectId: string
  project: string
  state: string
  lane: number
  failures: number
  crashes: number
  worker: number | null
  handedOverAt: Date | null
  dueAt: Date | null
  retriedUnknown: boolean
  providerId: string | null
}

/** The whole story of a mail in words, for an operator who was asked where it is. Undefined when no mail has this id. */
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
  const told = rows.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => `${name.padEnd(12)}${value}`)
  const story = (await timelineOf(db, facts.projectId, email)).map(
    ({ at, what, details }) => `${at}  ${what}${'reason' in details ? `: ${details.reason}` : ''}`,
  )
  return [...told, '', ...story].join('\n')
}

/** One look into the index per project: an id alone does not say whose it is. */
const findFacts = (db: Db, id: string) =>
  maybeOne(
    db,
    sql<EmailFacts>`
      select p.id as "projectId", p.name as project, e.state, e.lane, e.failures, e.crashes, e.worker, e.handed_over_at as "handedOverAt",
        e.due_at as "dueAt", e.retried_unknown as "retriedUnknown", e.provider_id as "providerId"
      from projects p cross join lateral (select * from emails where project_id = p.id and id = ${id}) as e
    `,
  )

function describeState({ state, lane, worker, handedOverAt, dueAt, retriedUnknown }: EmailFacts) {
  const again = retriedUnknown ? ', tried again after an attempt whose outcome nobody knew' : ''
  if (state === 'queued') return `queued: the next free worker takes it from the ${lane === 0 ? 'transactional' : 'bulk'} lane${again}`
  if (state === 'deferred') return `deferred: tried again from ${dueAt?.toISOString()}${again}`
  if (state === 'sending') return `sending: worker ${worker} has it, ${handedOverAt ? 'handed over' : 'not yet handed over'}${again}`
  if (state === 'unknown') return 'unknown: handed over, and no answer came; evidence or, after 15 minutes, the policy decides'
  return `${state}${again}`
}
