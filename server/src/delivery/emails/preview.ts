import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { z } from 'zod'
import { findContact } from '../../contacts/record/contact.ts'
import { columns, type RowOf } from '../../db/columns.ts'
import { type Db, maybeOne } from '../../db/index.ts'
import { FrameUrl, frameUrlOf } from '../../http/preview-frame.ts'
import { findProjectOwner } from '../../ledger/owner-sql.ts'
import { ownValue } from '../../lib/own-value.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { escapeHtml } from '../../lib/text/html.ts'
import { MASK } from '../../lib/text/mask.ts'
import { isReservedHeader } from '../../mime/compose.ts'
import { unsubscribeHeaders } from '../../preferences/footer.ts'
import { preferenceLinks } from '../../preferences/link.ts'
import type { Recipient } from '../../templates/language/variables.ts'
import { resolveFromName } from '../../templates/outgoing-html.ts'
import { findMissing, previewContent, sampleRecipient } from '../../templates/preview.ts'
import { hasTags, inspectTemplate } from '../../templates/rendering/render.ts'
import { listHeaders } from '../message/list-headers.ts'
import { readStored } from '../message/stored/read-stored.ts'
import { findBytes } from '../outbox/contents/pieces.ts'
import { type OwnVariables, variablesFor } from '../outbox/own-variables.ts'
import type { EmailType } from '../rules/may-send.ts'

const Header = z.object({ name: z.string(), value: z.string() })

export const EmailPreview = z.object({
  subject: z.string(),
  html: z.string(),
  text: z.string(),
  frameUrl: FrameUrl,
  headers: z
    .array(Header)
    .describe('The headers that can be rebuilt: without signatures and what servers on the way added. None of a received email.'),
  requestDataCleared: z.boolean().describe('The values of the request are no longer stored: the preview has only those of the contact.'),
  clearedVariables: z.array(z.string()).describe('Variables that have no value any more, probably because the request had it. Shown as ▢.'),
})

export const SandboxPreview = z.object({
  html: z.string(),
  text: z.string(),
  frameUrl: FrameUrl,
  headers: z.array(Header),
  attachments: z.array(z.object({ filename: z.string(), contentType: z.string(), bytes: z.int(), inline: z.boolean() })),
})

type Context = { db: Db; secrets: Secrets; publicUrl: string }
type EmailId = { projectId: string; id: string }
const OF_EMAIL = columns('emails', 'e', ['id', 'sourceType', 'campaignId', 'toName', 'messageId', 'createdAt', 'vars', 'onlyVars'])
const OF_CONTENT = columns('contents', 'c', [
  ...(['type', 'subject', 'previewText', 'body', 'headers', 'rawForm'] as const),
  ...(['fromAddress', 'fromName', 'replyTo'] as const),
])
type Row = RowOf<typeof OF_EMAIL> &
  RowOf<typeof OF_CONTENT> & {
    vars: Record<string, unknown> | null
    type: EmailType
    headers: Record<string, string>
    contactId: string | null
    to: string
    projectName: string
    projectLanguage: string
    contentId: string
  }

/** Stands for a value that was sent with the request and is no longer stored. */
const CLEARED = '▢'

/**
 * Renders an email again: rendered emails are not stored. From its content, today's data of the contact, and the values of the request as
 * long as they are kept. Without tracking, so that looking at it counts as nothing. Undefined when there is no such email.
 */
export async function previewEmail({ db, secrets, publicUrl }: Context, { projectId, id, isMasked }: EmailId & { isMasked: boolean }) {
  const found = await findRow(db, { projectId, id })
  if (!found) return undefined
  const email = isMasked ? { ...found, vars: await maskedVars(db, projectId, found) } : found
  const frameUrl = frameUrlOf(secrets, { kind: isMasked ? 'masked-email' : 'email', projectId, id })
  if (email.sourceType === 'INBOUND')
    return { ...showReceived(email), frameUrl, headers: [], requestDataCleared: false, clearedVariables: [] }
  if (email.rawForm !== null) return { ...(await showSubmitted({ db, secrets }, projectId, email)), frameUrl, clearedVariables: [] }
  const contact = email.contactId === null ? undefined : await findContact(db, projectId, email.contactId)
  const recipient = sampleRecipient({ publicUrl, secrets, projectId }, contact, contact ? {} : { email: email.to })
  Object.assign(recipient, preferenceLinks(secrets, publicUrl, { projectId, contactId: recipient.id, emailId: id }))
  Object.assign(recipient, variablesFor(recipient, email))
  const cleared = email.vars === null ? await findCleared(projectId, email, recipient) : []
  for (const path of cleared) setValue(recipient.data, path)
  const shown = await previewContent(projectId, { ...email, fromName: resolveFromName(email) }, recipient)
  const headers = rebuildHeaders(email, shown.subject, {
    ...listHeaders({ ...email, projectId }, new URL(publicUrl).hostname),
    ...(contact ? unsubscribeHeaders(email.type, recipient, email.headers) : {}),
  })
  return { ...shown, frameUrl, headers, requestDataCleared: email.vars === null, clearedVariables: cleared.map((path) => path.join('.')) }
}

/**
 * Without the values that only this email has. Current data of the contact is no secret of the email; which of the others are stored nowhere else
 * is not known any more.
 */
async function maskedVars(db: Db, projectId: string, { vars, onlyVars, contactId, campaignId }: Row) {
  if (vars === null || campaignId !== null) return vars
  const { as, data } = onlyVars ? (vars as OwnVariables) : { as: { id: contactId }, data: vars }
  const stored = as.id === null ? undefined : await findContact(db, projectId, as.id)
  const masked = Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, isDeepStrictEqual(value, ownValue(stored?.data ?? {}, key)) ? value : maskAll(value)]),
  )
  return onlyVars ? { as, data: masked } : masked
}

const maskAll = (value: unknown): unknown => {
  if (value === null) return null
  if (Array.isArray(value)) return value.map(maskAll)
  if (typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, maskAll(inner)]))
  return MASK
}

const findRow = (db: Db, { projectId, id }: EmailId) =>
  maybeOne<Row>(db)`
    select ${OF_EMAIL}, ${OF_CONTENT}, e.to_address as "to", p.name as "projectName", p.language as "projectLanguage", e.content_id as "contentId",
      case when e.test then (select k.id from contacts k where k.project_id = e.project_id and k.email = e.to_address) else e.contact_id end
        as "contactId"
    from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id join projects p on p.id = e.project_id
    where e.project_id = ${projectId} and e.id = ${id} and p.deleted_at is null
  `

/** In the order of the message. */
function rebuildHeaders(email: Row, subject: string, ours: Record<string, string>) {
  const own = Object.entries(email.headers).filter(([name]) => !isReservedHeader(name))
  const hasReplyTo = own.some(([name]) => name.toLowerCase() === 'reply-to')
  const headers: [string, string][] = [
    ['From', showMailbox(resolveFromName(email), email.fromAddress)],
    ['To', showMailbox(email.toName, email.to)],
    ...(email.replyTo && !hasReplyTo ? [['Reply-To', email.replyTo] as [string, string]] : []),
    ['Subject', subject],
    ['Date', email.createdAt.toUTCString().replace('GMT', '+0000')],
    ['Message-ID', `<${email.messageId}>`],
    ['X-Sterna-Id', email.id],
    ...own,
    ...Object.entries(ours),
  ]
  return headers.map(([name, value]) => ({ name, value }))
}

const showMailbox = (name: string | null, address: string) => (name ? `${name} <${address}>` : address)

/** A received message is no template: it is shown as it came. */
function showReceived({ subject, body }: Row) {
  const isHtml = /<[a-z!/]/i.test(body)
  return { subject, html: isHtml ? body : asHtml(body), text: isHtml ? '' : body }
}

const asHtml = (text: string) => `<pre style="white-space:pre-wrap">${escapeHtml(text)}</pre>`

/** A message of SMTP submission is shown as it was sent, as long as it is stored. */
async function showSubmitted({ db, secrets }: Pick<Context, 'db' | 'secrets'>, projectId: string, email: Row) {
  const { subject, contentId } = email
  const owner = await findProjectOwner(db, projectId)
  const row = sql`from contents where project_id = ${projectId} and id = ${contentId}`
  const read = await readStored({ owner, secrets, isTracked: false, load: () => findBytes(db, { column: sql`raw`, row }) })
  if (!read) return { subject, html: '<p>The message is no longer stored.</p>', text: '', headers: [], requestDataCleared: true }
  const { html, text, headers } = read
  const ours = rebuildHeaders({ ...email, headers: {} }, subject, {}).filter(({ name }) => ADDED.test(name) && !hasName(headers, name))
  return { subject, html: html ?? asHtml(text ?? ''), text: text ?? '', headers: [...headers, ...ours], requestDataCleared: false }
}

/** Headers that we add to a message that lacks them. */
const ADDED = /^(date|message-id|x-sterna-id)$/i
const hasName = (headers: { name: string }[], wanted: string) => headers.some(({ name }) => name.toLowerCase() === wanted.toLowerCase())

async function findCleared(projectId: string, { subject, previewText, body }: Row, recipient: Recipient) {
  if (![subject, previewText ?? '', body].some(hasTags)) return []
  // A body without tags may be larger than a template.
  const { references } = await inspectTemplate({ subject, previewText, body: hasTags(body) ? body : '' }, projectId)
  return findMissing(references, recipient)
}

/** Sets a value at a path, unless something else is in the way. Copies the objects on the path: they belong to the contact. */
function setValue(data: Record<string, unknown>, [key, ...rest]: string[]) {
  if (!rest.length) {
    data[key!] = CLEARED
    return
  }
  const inner = ownValue(data, key!) ?? {}
  if (typeof inner !== 'object' || Array.isArray(inner)) return
  const copy = { ...(inner as Record<string, unknown>) }
  setValue(copy, rest)
  data[key!] = copy
}

/** A message in the sandbox, as it would have been sent, without its tracking. Undefined when there is no such message. */
export async function previewSandboxMessage({ db, secrets }: Pick<Context, 'db' | 'secrets'>, { projectId, id }: EmailId) {
  const owner = await findProjectOwner(db, projectId)
  const row = sql`from sandbox_messages where project_id = ${projectId} and id = ${id}`
  const read = await readStored({ owner, secrets, isTracked: true, load: () => findBytes(db, { column: sql`source`, row }) })
  if (!read) return undefined
  const { html, text, ...rest } = read
  const frameUrl = frameUrlOf(secrets, { kind: 'sandbox', projectId, id })
  return { ...rest, html: html ?? '', text: text ?? '', frameUrl }
}
