import { sql } from 'kysely'
import { type Pool, transact } from '../../db/index.ts'
import { newId } from '../../lib/id.ts'
import type { Outcome, Outgoing, Transport } from './transport.ts'

/** Addresses that behave: the part before the @, or before a plus sign in it. */
const BEHAVIOURS: Record<string, Outcome> = {
  bounce: { is: 'refused', code: 550, response: '550 5.1.1 No such user (sandbox)' },
  defer: { is: 'refused', code: 451, response: '451 4.3.0 Try again later (sandbox)' },
}

/** Nothing leaves the machine: mails are kept, to be looked at. */
export function createSandbox(db: Pool): Transport {
  return {
    async send(mail, handOver) {
      const behaviour = BEHAVIOURS[mail.recipient.split(/[+@]/)[0]!]
      if (behaviour) return behaviour
      if (!(await handOver())) return { is: 'withheld' }
      await transact(db, (tx) => keep(mail).execute(tx))
      return { is: 'accepted', response: '250 kept in the sandbox' }
    },
    async close() {},
  }
}

const keep = ({ projectId, id, recipient, sender, subject, message }: Outgoing) => sql`
  insert into sandbox_messages (project_id, id, email_id, recipient, sender, subject, source)
  values (${projectId}, ${newId()}, ${id}, ${recipient}, ${sender}, ${subject}, ${Buffer.from(message)})
`
