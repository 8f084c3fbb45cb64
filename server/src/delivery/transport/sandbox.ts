import { sql } from 'kysely'
import { type Pool, type Tx, transact } from '../../db/index.ts'
import { newId } from '../../lib/id.ts'
import { MB } from '../../lib/units.ts'
import type { OutgoingMessage, SendOutcome, Transport } from './transport.ts'

const KEPT: SendOutcome = { is: 'accepted', response: '250 kept in the sandbox' }

/** Addresses that behave: the part before the @, or before a plus sign in it. */
const BEHAVIOURS = new Map<string, SendOutcome>(
  Object.entries({
    delivered: { ...KEPT, feedback: [{ is: 'delivery' }] },
    bounce: { ...KEPT, feedback: [{ is: 'bounce', reason: '550 5.1.1 No such user (sandbox)' }] },
    full: { ...KEPT, feedback: [{ is: 'soft-bounce', reason: '552 5.2.2 Mailbox full (sandbox)' }] },
    complaint: { ...KEPT, feedback: [{ is: 'delivery' }, { is: 'complaint' }] },
    delay: { is: 'refused', at: 'recipient', code: 451, response: '451 4.3.0 Try again later (sandbox)' },
    refuse: { is: 'refused', at: 'recipient', code: 550, response: '550 5.1.1 No such user (sandbox)' },
  } satisfies Record<string, SendOutcome>),
)

const MAX_MESSAGES = 1_000
const MAX_BYTES = 100 * MB
/** Old ones are looked for after so many new ones, or so many bytes of them. */
const TRIM_AFTER_MESSAGES = 50
const TRIM_AFTER_BYTES = 5 * MB

/** Nothing leaves the machine: mails are kept, to be looked at. */
export function createSandboxTransport(db: Pool): Transport {
  const isFull = createGauge()
  return {
    async send(mail, handOver) {
      if (!isOfProject(mail)) return { is: 'not-sent', at: 'message', error: 'the sandbox keeps the mails of projects' }
      const outcome = BEHAVIOURS.get(mail.recipient.split(/[+@]/)[0]!) ?? KEPT
      if (outcome.is === 'refused') return outcome
      const permit = await handOver()
      if (!permit?.()) return { is: 'withheld' }
      await transact(db, async (tx) => {
        await keep(tx, mail)
        if (isFull(mail)) await trim(tx, mail.projectId)
      })
      return outcome
    },
    async close() {},
  }
}

type Kept = OutgoingMessage & { projectId: string }
const isOfProject = (mail: OutgoingMessage): mail is Kept => mail.projectId !== null

/** True from time to time, and for the first mail of a project: another process may have filled it. */
function createGauge() {
  const share = 1 / TRIM_AFTER_MESSAGES
  const levels = new Map<string, number>()
  return ({ projectId, message }: Kept) => {
    const level = (levels.get(projectId) ?? 1) + share + message.length / TRIM_AFTER_BYTES
    levels.set(projectId, level >= 1 ? 0 : level)
    return level >= 1
  }
}

const keep = (tx: Tx, { projectId, id, recipient, sender, subject, message }: Kept) =>
  sql`
    insert into sandbox_messages (project_id, id, email_id, recipient, sender, subject, source)
    values (${projectId}, ${newId()}, ${id}, ${recipient}, ${sender}, ${subject}, ${message})
  `.execute(tx)

/** The newest stay: so many, and so much. */
const trim = (tx: Tx, projectId: string) =>
  sql`
    delete from sandbox_messages where project_id = ${projectId} and id <= (
      select id from (
        select id, row_number() over newest as number, sum(octet_length(source)) over newest as bytes
        from sandbox_messages where project_id = ${projectId}
        window newest as (order by id desc rows unbounded preceding)
      ) as kept
      where number > ${MAX_MESSAGES} or (bytes > ${MAX_BYTES} and number > 1)
      order by id desc limit 1)
  `.execute(tx)
