import { MB } from '../lib/text/units.ts'
import { BOUNDARY, base64Lines, encodeBody, filenameParameter, header, mailbox, nameParameter, plainHeader } from './encoding/encode.ts'

type Mailbox = { name?: string | null; address: string }
export type Attachment = { filename: string; contentType: string; contentId: string | null; inline: boolean; content: Uint8Array }

/** Everything a message consists of. Date and ids come from the row of the email, so that composing it twice gives the same bytes. */
export type MessageFields = {
  id: string
  messageId: string
  date: Date
  from: Mailbox
  to: Mailbox
  replyTo: string | null
  /** Also written to a header: complaint reports contain the message, often without its envelope. */
  returnPath?: string | undefined
  subject: string
  html: string
  text: string
  /** Custom headers, validated when the email was accepted. */
  headers: Record<string, string>
  attachments: Attachment[]
}

/** Largest encoded message, in bytes: what receivers can be expected to accept. */
export const MAX_MESSAGE = 40 * MB

/**
 * Both with CRLF line ends; `head` without the empty line after it. No line begins with a dot. A body that was encoded in advance is bytes, in the
 * relaxed form of DKIM.
 */
export type ComposedMessage = {
  head: string
  body: string | Buffer
  /** Encoding of the head if it is not UTF-8: latin1 (one character per byte) for a message received by SMTP. Lines of its body may begin with a dot. */
  encoding?: 'latin1'
}

/** The message as sent. */
export function bytesOf(composed: ComposedMessage) {
  const bytes = Buffer.allocUnsafe(sizeOf(composed))
  writeTo(bytes, composed)
  return bytes
}

/** Size in bytes. A body has one byte per character, a header need not. */
export const sizeOf = ({ head, body, encoding }: ComposedMessage) => Buffer.byteLength(head, encoding) + EMPTY_LINE.length + body.length

/** Returns the number of bytes written. */
export function writeTo(bytes: Buffer, { head, body, encoding }: ComposedMessage) {
  const end = bytes.write(head, encoding)
  bytes.write(EMPTY_LINE, end, 'latin1')
  if (typeof body === 'string') bytes.write(body, end + EMPTY_LINE.length, 'latin1')
  else bytes.set(body, end + EMPTY_LINE.length)
  return end + EMPTY_LINE.length + body.length
}

const EMPTY_LINE = '\r\n'

export function compose(fields: MessageFields): ComposedMessage & { body: string } {
  const { id, text, html, attachments } = fields
  const images = attachments.filter(({ inline }) => inline)
  const files = attachments.filter(({ inline }) => !inline)
  const texts = multipart('alternative', `${id}-a`, [textPart('plain', text), textPart('html', html)])
  const shown = withFiles(texts, 'related; type="multipart/alternative"', `${id}-r`, images)
  const { head, body } = withFiles(shown, 'mixed', `${id}-m`, files)
  return { head: headersOf(fields, head), body }
}

type HeaderFields = Omit<MessageFields, 'html' | 'text' | 'attachments'>

/** With a body of `compileBody`. */
export const composeAround = (fields: HeaderFields, body: Buffer): ComposedMessage => ({
  head: headersOf(fields, multipartHead('alternative', `${BOUNDARY}${fields.id}-a`)),
  body,
})

function headersOf(fields: HeaderFields, contentHead: string) {
  const custom = Object.entries(fields.headers).filter(([name]) => !isReservedHeader(name))
  const replyTo = fields.replyTo && !hasHeader(fields.headers, 'reply-to') ? [plainHeader('Reply-To', fields.replyTo)] : []
  return [
    plainHeader('From', mailbox(fields.from)),
    plainHeader('To', mailbox(fields.to)),
    ...replyTo,
    header('Subject', fields.subject),
    plainHeader('Date', fields.date.toUTCString().replace('GMT', '+0000')),
    plainHeader('Message-ID', `<${fields.messageId}>`),
    plainHeader('X-Sterna-Id', fields.id),
    ...(fields.returnPath ? [plainHeader('X-Sterna-Return-Path', fields.returnPath)] : []),
    ...custom.map(([name, value]) => header(name, value)),
    plainHeader('MIME-Version', '1.0'),
    contentHead,
  ].join('')
}

/** Headers that must occur once: mail programs disagree about duplicates. Custom ones are dropped. */
const RESERVED = /^(from|to|subject|date|message-id|x-sterna-(id|return-path)|mime-version|content-(type|transfer-encoding))$/i

export const isReservedHeader = (name: string) => RESERVED.test(name)

const hasHeader = (headers: Record<string, string>, name: string) => Object.keys(headers).some((key) => key.toLowerCase() === name)

type Part = { head: string; body: string }

function textPart(kind: 'plain' | 'html', text: string): Part {
  const { encoding, body } = encodeBody(text)
  return {
    head: `Content-Type: text/${kind}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n`,
    body: `${body}\r\n`,
  }
}

const withFiles = (content: Part, kind: MultipartKind, name: string, files: Attachment[]): Part =>
  files.length ? multipart(kind, name, [content, ...files.map(filePart)]) : content

function filePart({ filename, contentType, contentId, inline, content }: Attachment): Part {
  const head = [
    plainHeader('Content-Type', `${isComposite(contentType) ? 'application/octet-stream' : contentType}; ${nameParameter(filename)}`),
    'Content-Transfer-Encoding: base64\r\n',
    plainHeader('Content-Disposition', `${inline ? 'inline' : 'attachment'}; ${filenameParameter(filename)}`),
    ...(contentId ? [plainHeader('Content-ID', `<${contentId}>`)] : []),
  ]
  return { head: head.join(''), body: base64Lines(content) }
}

/** Such types must not be base64-encoded, and mail programs would parse parts and headers in them. As octet-stream they are plain files. */
const isComposite = (contentType: string) => /^(multipart|message)\//i.test(contentType)

/** The boundary cannot occur in a body, whatever it contains: see `encodeBody`. */
function multipart(kind: MultipartKind, name: string, parts: Part[]): Part {
  const boundary = BOUNDARY + name
  const body = parts.map((part) => `--${boundary}\r\n${part.head}\r\n${part.body}`).join('')
  return { head: multipartHead(kind, boundary), body: `${body}--${boundary}--\r\n` }
}

type MultipartKind = 'alternative' | 'related; type="multipart/alternative"' | 'mixed'

const multipartHead = (kind: MultipartKind, boundary: string) => plainHeader('Content-Type', `multipart/${kind}; boundary="${boundary}"`)
