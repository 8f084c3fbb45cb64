import { sql } from 'kysely'
import { type Pool, type Tx, transact } from '../../db/index.ts'
import { keepNewest } from '../../db/wipe-rows.ts'
import { newId } from '../../lib/id.ts'
import { MB } from '../../lib/text/units.ts'
import type { OutgoingMessage, SendOutcome, Transport } from './transport.ts'

const STORED: SendOutcome = { is: 'accepted', response: '250 kept in the sandbox' }

const DELIVERED: SendOutcome = { ...STORED, feedback: [{ is: 'delivery' }] }

/** Outcomes by local part, or by its part before a plus sign. */
const BEHAVIOURS = new Map<string, SendOutcome>([
  ['delivered', DELIVERED],
  ['bounce', { ...STORED, feedback: [{ is: 'bounce', reason: '550 5.1.1 No such user (sandbox)' }] }],
  ['full', { ...STORED, feedback: [{ is: 'soft-bounce', reason: '552 5.2.2 Mailbox full (sandbox)' }] }],
  ['complaint', { ...STORED, feedback: [{ is: 'delivery' }, { is: 'complaint' }] }],
  ['delay', { is: 'refused', at: 'recipient', code: 451, response: '451 4.3.0 Try again later (sandbox)' }],
  ['refuse', { is: 'refused', at: 'recipient', code: 550, response: '550 5.1.1 No such user (sandbox)' }],
])

const MAX_MESSAGES = 1_000
const MAX_BYTES = 100 * MB
/** New messages, or bytes of them, after which old ones are deleted. */
const TRIM_AFTER_MESSAGES = 50
const TRIM_AFTER_BYTES = 5 * MB

/** Sends nothing: stores messages, to be read in the sandbox. `delivers`: reports a delivery for every address without another outcome. */
export function createSandboxTransport(db: Pool, { delivers }: { delivers: boolean }): Transport {
  const ordinary = delivers ? DELIVERED : STORED
  const isTrimDue = createTrimSchedule()
  return {
    async send(outgoing, handOver) {
      if (!isOfProject(outgoing)) return { is: 'not-sent', at: 'message', error: 'the sandbox only stores emails of projects' }
      const outcome = BEHAVIOURS.get(outgoing.recipient.split(/[+@]/)[0]!) ?? ordinary
      if (outcome.is === 'refused') return outcome
      const permit = await handOver()
      if (!permit?.()) return { is: 'withheld' }
      await transact(db, async (tx) => {
        await store(tx, outgoing)
        if (isTrimDue(outgoing)) await trim(tx, outgoing.projectId)
      })
      return outcome
    },
    refusesForGood: true,
    async close() {},
  }
}

type ProjectMessage = OutgoingMessage & { projectId: string }
const isOfProject = (outgoing: OutgoingMessage): outgoing is ProjectMessage => outgoing.projectId !== null

/** True from time to time, and for the first message of a project: other processes may have filled its sandbox. */
function createTrimSchedule() {
  const share = 1 / TRIM_AFTER_MESSAGES
  const levels = new Map<string, number>()
  return ({ projectId, message }: ProjectMessage) => {
    const level = (levels.get(projectId) ?? 1) + share + message.length / TRIM_AFTER_BYTES
    levels.set(projectId, level >= 1 ? 0 : level)
    return level >= 1
  }
}

const store = (tx: Tx, { projectId, id, recipient, from, subject, message }: ProjectMessage) =>
  sql`
    insert into sandbox_messages (project_id, id, email_id, recipient, sender, subject, source)
    values (${projectId}, ${newId()}, ${id}, ${recipient}, ${from}, ${subject}, ${message})
  `.execute(tx)

const trim = (tx: Tx, projectId: string) =>
  keepNewest(tx, 'sandbox_messages', {
    of: sql`project_id = ${projectId}`,
    bytes: sql`octet_length(source)`,
    maxRows: MAX_MESSAGES,
    maxBytes: MAX_BYTES,
  })
