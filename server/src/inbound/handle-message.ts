import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { maybeOne, type Tx } from '../db/index.ts'
import { readReport } from '../delivery/feedback/dsn.ts'
import { keepReceived, unnamedId } from '../delivery/feedback/record-inbound.ts'
import { applyReport, type EmailReport } from '../delivery/feedback/ses/apply.ts'
import { findReturnPath } from '../delivery/message/return-path.ts'
import { recordEvents } from '../events/record.ts'
import { readAddress } from '../lib/address.ts'
import { lowestId, newId } from '../lib/id.ts'
import type { ParsedMessage } from './parsed-message.ts'
import { findRecipient, type InboundRecipient, type Installation } from './recipient.ts'

/** A message as it came: from whom and to whom by its envelope, and every byte of it. */
export type Arrival = { sender: string; recipients: string[]; message: Buffer; letter: ParsedMessage }

/** What followed from it, for the log. */
export type HandledAs = 'reported' | 'received' | 'repeated' | 'ignored'

/** Everything that follows from a message, for all of its recipients. Nothing is ever sent because of it. */
export async function takeMessage(tx: Tx, site: Installation, arrival: Arrival): Promise<HandledAs[]> {
  const taken: HandledAs[] = []
  // In one order, so that two messages to the same mails do not wait for each other in a circle.
  for (const address of arrival.recipients.toSorted()) {
    const recipient = await findRecipient(tx, site, address)
    taken.push(recipient ? await takeFor(tx, site, arrival, recipient) : 'ignored')
  }
  return taken
}

async function takeFor(tx: Tx, { secrets }: Installation, arrival: Arrival, recipient: InboundRecipient): Promise<HandledAs> {
  if (recipient.is === 'return-path') return report(tx, arrival, recipient)
  if (recipient.is === 'project' && recipient.isDisabled) throw new Error('the project was disabled while the message came in')
  const { report: about } = arrival.letter
  if (!about) return recipient.is === 'project' ? receive(tx, arrival, recipient) : 'ignored'
  // Anybody can write a report to an address that anybody knows. It counts only with the signed return path of the mail it is about.
  const mail = about.is === 'feedback-report' && (await findReturnPath(tx, secrets, `${about.fields}\n${about.original}`))
  return mail ? report(tx, arrival, mail) : 'ignored'
}

// Reports about mails --------------------------------------------------------------------------------------------------

const MAX_KEPT = 64 * 1024
/**
 * Age of an email up to which reports about it count. Its return path is in its source, which may end up in a public archive, and anybody who
 * reads it there can complain. Receivers report bounces within days, and complaints within weeks.
 */
const REPORTABLE_DAYS = 60
const DAY_MS = 24 * 60 * 60 * 1_000

async function report(tx: Tx, { letter, sender, message }: Arrival, { projectId, emailId }: EmailReport['mail']): Promise<HandledAs> {
  if (emailId < lowestId(new Date(Date.now() - REPORTABLE_DAYS * DAY_MS))) return 'ignored'
  const says = readReport(letter, sender)
  if (!says) return 'ignored'
  const told = { ...says, mail: { projectId, emailId } }
  const id = `smtp:${hashOf(JSON.stringify(told))}`
  const kept = message.subarray(0, MAX_KEPT).toString().replaceAll('\0', '')
  return (await applyReport(tx, { id, message: kept, told })) ? 'reported' : 'ignored'
}

const hashOf = (content: string | Buffer) => createHash('sha256').update(content).digest('hex')

// Mail for a project ---------------------------------------------------------------------------------------------------

type Addressed = Extract<InboundRecipient, { is: 'project' }>

async function receive(tx: Tx, arrival: Arrival, { projectId, address }: Addressed): Promise<HandledAs> {
  const { letter } = arrival
  const id = newId()
  const from = readAddress(letter.from?.address ?? '') ?? letter.from?.address ?? arrival.sender
  // Whoever writes becomes no contact: From is what its sender likes it to be.
  const contact = await maybeOne(tx, sql<{ id: string }>`select id from contacts where project_id = ${projectId} and email = ${from}`)
  const facts = { from, fromName: letter.from?.name || null, to: address, replyTo: letter.replyTo, subject: letter.subject }
  const { fingerprint } = letter
  const mail = { ...facts, projectId, id, contactId: contact?.id ?? null, body: letter.html ?? letter.text ?? '', fingerprint }
  const messageId = await keepReceived(tx, { ...mail, messageId: messageIdOf(arrival) })
  if (!messageId) return 'repeated'
  const data = { emailId: id, messageId, ...facts, ...OF_EVERY_MAIL, ...contentOf(letter), automatic: isAutomatic(arrival) }
  await recordEvents(tx, [{ projectId, name: 'email.received', emailId: id, data, ...(contact ? { contactId: contact.id } : {}) }])
  return 'received'
}

const OF_EVERY_MAIL = { templateId: null, campaignId: null, workflowExecutionId: null, sourceType: 'INBOUND' }

const contentOf = ({ text, textTruncated, html, htmlTruncated, headers, attachments }: ParsedMessage) => ({
  text,
  textTruncated,
  html,
  htmlTruncated,
  headers,
  attachments,
})

const MAX_MESSAGE_ID = 500

/** Of one that has none, or one too long to be looked up by, what is in it: who sends it again sends the same bytes. */
function messageIdOf({ letter: { messageId }, message }: Arrival) {
  return messageId && messageId.length <= MAX_MESSAGE_ID ? messageId : unnamedId(hashOf(message))
}

/** Written by a machine, or to many: who answers it may get an answer from the machine, and so on. */
const isAutomatic = ({ sender, letter: { headers } }: Arrival) =>
  sender === '' ||
  // We have sent it ourselves.
  Object.hasOwn(headers, 'x-sterna-id') ||
  /^\s*auto-/i.test(headers['auto-submitted'] ?? '') ||
  /^\s*(bulk|junk|list|auto_reply)\b/i.test(headers.precedence ?? '') ||
  Object.hasOwn(headers, 'list-id')
