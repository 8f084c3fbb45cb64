import { sql } from 'kysely'
import { maybeOne, type Tx } from '../db/index.ts'
import { newId } from '../lib/id.ts'

export type ReceivedMail = {
  projectId: string
  id: string
  contactId: string | null
  messageId: string
  from: string
  fromName: string | null
  to: string
  replyTo: string | null
  subject: string
  body: string
}

/** The record of a mail that came in. False when it was there before: the same mail to the same address is one. */
export async function keepReceived(tx: Tx, mail: ReceivedMail): Promise<boolean> {
  const contentId = newId()
  const kept = await maybeOne(
    tx,
    sql`
      insert into emails (project_id, id, content_id, contact_id, to_address, source_type, message_id, state, delivered_at, lane, stream_id)
      values (${mail.projectId}, ${mail.id}, ${contentId}, ${mail.contactId}, ${mail.to}, 'INBOUND', ${mail.messageId}, 'sent', now(), 0,
        ${mail.projectId})
      on conflict (project_id, to_address, message_id) where source_type = 'INBOUND' do nothing
      returning id
    `,
  )
  if (!kept) return false
  await sql`
    insert into contents (project_id, id, type, subject, body, from_address, from_name, reply_to)
    values (${mail.projectId}, ${contentId}, 'TRANSACTIONAL', ${mail.subject}, ${mail.body}, ${mail.from}, ${mail.fromName}, ${mail.replyTo})
  `.execute(tx)
  return true
}
