import { BOUNDARY, base64Lines, encodeBody, filenameParameter, header, mailbox, nameParameter, plainHeader } from './encode.ts'

type Mailbox = { name?: string | null; address: string }
export type Attachment = { filename: string; contentType: string; contentId: string | null; inline: boolean; content: Uint8Array }

/** Everything a mail consists of. Times and ids come from its row, so that composing it twice gives the same bytes. */
export type MessageFields = {
  id: string
  messageId: string
  date: Date
  from: Mailbox
  to: Mailbox
  replyTo: string | null
  /** Named in the mail too: whoever complains about it sends it along, often without the envelope. */
  returnPath?: string | undefined
  subject: string
  html: string
  text: string
  /** The customer's own, checked when they were accepted. */
  headers: Record<string, string>
  attachments: Attachment[]
}

/** In bytes, encoded: what a receiver may be expected to take. */
export const MAX_MESSAGE = 40 * 1024 * 1024

/** Both with CRLF line ends; the header without the empty line after it. */
export type ComposedMessage = { head: string; body: string }

/** As it travels. */
export function bytesOf(composed: ComposedMessage) {
  const bytes = Buffer.allocUnsafe(sizeOf(composed))
  writeTo(bytes, composed)
  return bytes
}

/** A body is ASCII, a header need not be. */
export const sizeOf = ({ head, body }: ComposedMessage) => Buffer.byteLength(head) + EMPTY_LINE.length + body.length

/** Returns how many bytes that were. */
export function writeTo(bytes: Buffer, { head, body }: ComposedMessage) {
  const end = bytes.write(head)
  bytes.write(EMPTY_LINE, end, 'latin1')
  bytes.write(body, end + EMPTY_LINE.length, 'latin1')
  return end + EMPTY_LINE.length + body.length
}

const EMPTY_LINE = '\r\n'

export function compose(mail: MessageFields): ComposedMessage {
  const content = withAttachments(mail, withImages(mail, textAndHtml(mail)))
  const own = Object.entries(mail.headers).filter(([name]) => !OURS.has(name.toLowerCase()))
  const replyTo = mail.replyTo && !hasHeader(mail.headers, 'reply-to') ? [plainHeader('Reply-To', mail.replyTo)] : []
  const head = [
    plainHeader('From', mailbox(mail.from)),
    plainHeader('To', mailbox(mail.to)),
    ...replyTo,
    header('Subject', mail.subject),
    plainHeader('Date', mail.date.toUTCString().replace('GMT', '+0000')),
    plainHeader('Message-ID', `<${mail.messageId}>`),
    plainHeader('X-Sterna-Id', mail.id),
    ...(mail.returnPath ? [plainHeader('X-Sterna-Return-Path', mail.returnPath)] : []),
    ...own.map(([name, value]) => header(name, value)),
    plainHeader('MIME-Version', '1.0'),
    content.head,
  ]
  return { head: head.join(''), body: content.body }
}

/** A mail has one of each; what stands here twice is read differently by everyone. */
const OURS = new Set([
  'from',
  'to',
  'subject',
  'date',
  'message-id',
  'x-sterna-id',
  'x-sterna-return-path',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
])

const hasHeader = (headers: Record<string, string>, name: string) => Object.keys(headers).some((key) => key.toLowerCase() === name)

type Part = { head: string; body: string }

const textAndHtml = ({ id, text, html }: MessageFields): Part =>
  multipart('alternative', `${id}-a`, [textPart('plain', text), textPart('html', html)])

function textPart(kind: 'plain' | 'html', text: string): Part {
  const { encoding, body } = encodeBody(text)
  return {
    head: `Content-Type: text/${kind}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n`,
    body: `${body}\r\n`,
  }
}

function withImages({ id, attachments }: MessageFields, content: Part): Part {
  const inline = attachments.filter((attachment) => attachment.inline)
  return inline.length ? multipart('related; type="multipart/alternative"', `${id}-r`, [content, ...inline.map(filePart)]) : content
}

function withAttachments({ id, attachments }: MessageFields, content: Part): Part {
  const files = attachments.filter((attachment) => !attachment.inline)
  return files.length ? multipart('mixed', `${id}-m`, [content, ...files.map(filePart)]) : content
}

function filePart({ filename, contentType, contentId, inline, content }: Attachment): Part {
  const head = [
    plainHeader('Content-Type', `${isComposite(contentType) ? 'application/octet-stream' : contentType}; ${nameParameter(filename)}`),
    'Content-Transfer-Encoding: base64\r\n',
    plainHeader('Content-Disposition', `${inline ? 'inline' : 'attachment'}; ${filenameParameter(filename)}`),
    ...(contentId ? [plainHeader('Content-ID', `<${contentId}>`)] : []),
  ]
  return { head: head.join(''), body: base64Lines(content) }
}

/** These must not be in base64, and a reader would look for parts and headers in them. As plain bytes they are a file like any other. */
const isComposite = (contentType: string) => /^(multipart|message)\//i.test(contentType)

/** The boundary cannot stand in a body, whatever is in there: see how bodies are encoded. */
function multipart(kind: 'alternative' | 'related; type="multipart/alternative"' | 'mixed', name: string, parts: Part[]): Part {
  const boundary = BOUNDARY + name
  const body = parts.map((part) => `--${boundary}\r\n${part.head}\r\n${part.body}`).join('')
  return { head: plainHeader('Content-Type', `multipart/${kind}; boundary="${boundary}"`), body: `${body}--${boundary}--\r\n` }
}
