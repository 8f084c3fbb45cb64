import { sql } from 'kysely'
import { maybeOne, type Tx } from '../../db/index.ts'
import { newId } from '../../lib/id.ts'

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
  /** In hexadecimal digits. */
  fingerprint: string
}

/**
 * Records a received email and returns the Message-ID under which it is kept, or undefined when it is a repetition: the same message to the
 * same address. A Message-ID that another message to this address already has identifies neither, so the later one gets one of its own.
 */
export async function keepReceived(tx: Tx, mail: ReceivedMail): Promise<string | undefined> {
  if (await insert(tx, mail)) return mail.messageId
  if (await isRepetition(tx, mail)) return undefined
  const messageId = unnamedId(mail.fingerprint)
  return (await insert(tx, { ...mail, messageId })) ? messageId : undefined
}

/** For a message without a Message-ID that identifies it. */
export const unnamedId = (hash: string) => `${hash}@unnamed.invalid`

async function insert(tx: Tx, mail: ReceivedMail): Promise<boolean> {
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
    insert into contents (project_id, id, type, subject, body, from_address, from_name, reply_to, fingerprint)
    values (${mail.projectId}, ${contentId}, 'TRANSACTIONAL', ${mail.subject}, ${mail.body}, ${mail.from}, ${mail.fromName}, ${mail.replyTo},
      decode(${mail.fingerprint}, 'hex'))
  `.execute(tx)
  return true
}

/** Emails received before there were fingerprints count as other messages: one too many is better than one lost. */
const isRepetition = (tx: Tx, { projectId, to, messageId, fingerprint }: ReceivedMail) =>
  maybeOne(
    tx,
    sql`
      select 1 from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
      where e.project_id = ${projectId} and e.to_address = ${to} and e.message_id = ${messageId} and e.source_type = 'INBOUND'
        and c.fingerprint = decode(${fingerprint}, 'hex')
    `,
  )
