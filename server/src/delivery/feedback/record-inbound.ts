import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { CamelRow } from '../../db/columns.ts'
import { maybeOne, type Tx } from '../../db/index.ts'
import { recordEvents } from '../../events/record.ts'
import { newId } from '../../lib/id.ts'
import { readAddress } from '../../lib/text/address.ts'
import { addEntries } from '../outbox/outcomes/email-ledger.ts'
import type { InboundMessage, InboundOutcome } from './inbound-message.ts'

/** Records a message to an address of a project as an email and an `email.received` event. Nothing is ever sent because of it. */
export async function recordInboundEmail(
  tx: Tx,
  inbound: InboundMessage,
  { projectId, address }: { projectId: string; address: string },
): Promise<InboundOutcome> {
  const { from: author, subject, replyTo, fingerprint, text, textTruncated, html, htmlTruncated, headers, attachments } = inbound.parsed
  const id = newId()
  const from = readAddress(author?.address ?? '') ?? author?.address ?? inbound.sender
  // An unknown sender does not become a contact: the From header can be forged.
  const contact = await maybeOne<{ id: string }>(tx)`select id from contacts where project_id = ${projectId} and email = ${from}`
  const facts = { from, fromName: author?.name || null, to: address, replyTo, subject }
  const email = { ...facts, projectId, id, contactId: contact?.id ?? null, body: html ?? text ?? '', fingerprint }
  const messageId = await insertUnlessRepeated(tx, { ...email, messageId: messageIdOf(inbound) })
  if (!messageId) return 'repeated'
  const content = { text, textTruncated, html, htmlTruncated, headers, attachments }
  const data = { emailId: id, messageId, ...facts, ...NOT_SENT_BY_US, ...content, automatic: isAutomatic(inbound) }
  await recordEvents(tx, [{ projectId, name: 'email.received', emailId: id, data, contactId: email.contactId }])
  return 'received'
}

/** Event data that every email has, for one that was received. */
const NOT_SENT_BY_US = { templateId: null, campaignId: null, workflowExecutionId: null, sourceType: 'INBOUND' }

/** Sent by a program or to a list. Answering it automatically could start a loop. */
const isAutomatic = ({ sender, parsed: { headers } }: InboundMessage) =>
  sender === '' ||
  // Sent by Sterna itself.
  Object.hasOwn(headers, 'x-sterna-id') ||
  /^\s*auto-/i.test(headers['auto-submitted'] ?? '') ||
  /^\s*(bulk|junk|list|auto_reply)\b/i.test(headers.precedence ?? '') ||
  Object.hasOwn(headers, 'list-id')

// Message-IDs ----------------------------------------------------------------------------------------------------------

const MAX_MESSAGE_ID = 500

/** A message with no Message-ID, or one too long to be indexed, gets one from its bytes: a repetition has the same bytes. */
function messageIdOf({ parsed: { messageId }, message }: InboundMessage) {
  const isUsable = messageId && messageId.length <= MAX_MESSAGE_ID
  return isUsable ? messageId : contentMessageId(createHash('sha256').update(message).digest('hex'))
}

const contentMessageId = (hash: string) => `${hash}@unnamed.invalid`

/** `fingerprint`: in hexadecimal digits. */
type InboundEmail = Pick<CamelRow<'emails'>, 'projectId' | 'id' | 'contactId' | 'messageId'> &
  Pick<CamelRow<'contents'>, 'fromName' | 'replyTo' | 'subject' | 'body'> & { from: string; to: string; fingerprint: string }

/**
 * Returns the Message-ID under which the email is recorded, or undefined for a repetition: the same message to the same address. When another
 * message to this address already has the Message-ID, it identifies neither, so the later one gets one from its content.
 */
async function insertUnlessRepeated(tx: Tx, email: InboundEmail): Promise<string | undefined> {
  if (await insert(tx, email)) return email.messageId
  if (await isRepetition(tx, email)) return undefined
  const messageId = contentMessageId(email.fingerprint)
  return (await insert(tx, { ...email, messageId })) ? messageId : undefined
}

async function insert(tx: Tx, email: InboundEmail): Promise<boolean> {
  const contentId = newId()
  const inserted = await maybeOne<{ at: Date }>(tx)`
    insert into emails (project_id, id, content_id, contact_id, to_address, source_type, message_id, state, delivered_at, lane, stream_id,
      metered)
    values (${email.projectId}, ${email.id}, ${contentId}, ${email.contactId}, ${email.to}, 'INBOUND', ${email.messageId}, 'sent', now(), 0,
      ${email.projectId}, true)
    on conflict (project_id, to_address, message_id) where source_type = 'INBOUND' do nothing
    returning created_at as at
  `
  if (!inserted) return false
  await addEntries(tx, [{ projectId: email.projectId, id: email.id, kind: 'accepted', source: 'INBOUND', countedAt: inserted.at }])
  await sql`
    insert into contents (project_id, id, type, subject, body, from_address, from_name, reply_to, fingerprint)
    values (${email.projectId}, ${contentId}, 'TRANSACTIONAL', ${email.subject}, ${email.body}, ${email.from}, ${email.fromName},
      ${email.replyTo}, decode(${email.fingerprint}, 'hex'))
  `.execute(tx)
  return true
}

const isRepetition = (tx: Tx, { projectId, to, messageId, fingerprint }: InboundEmail) =>
  maybeOne(tx)`
    select 1 from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
    where e.project_id = ${projectId} and e.to_address = ${to} and e.message_id = ${messageId} and e.source_type = 'INBOUND'
      and c.fingerprint = decode(${fingerprint}, 'hex')
  `
