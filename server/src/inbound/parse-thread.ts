import { createHash } from 'node:crypto'
import type { Attachment, Email } from 'postal-mime'
import type { Report } from '../delivery/feedback/dsn.ts'
import { storable } from '../lib/storable.ts'
import { decodeMailCharsets } from './charsets.ts'
import type { ParsedMessage } from './parsed-message.ts'

// Runs in a thread. Whatever a message does here, it does to this thread, which can be killed.

decodeMailCharsets()
const { default: PostalMime, decodeWords } = await import('postal-mime')

/** A mail of 25 MB as programs write them has 350,000 lines; each takes memory, and somebody may send nothing but line ends. */
const MAX_LINES = 1_000_000
const LIMITS = { maxNestingDepth: 50, maxHeadersSize: 256 * 1024 }
const MAX_TEXT = 65_536
const MAX_SHORT = 998
const MAX_HEADERS = 100
const MAX_ATTACHMENTS = 100
const MAX_REPORT_BYTES = 64 * 1024

/** Undefined when it cannot be read, now or later. */
export async function parse(bytes: Uint8Array): Promise<ParsedMessage | undefined> {
  if (hasTooManyLines(bytes)) return undefined
  const mail = await PostalMime.parse(bytes, { ...LIMITS, forceRfc822Attachments: true }).catch(() => undefined)
  return mail && { ...letterOf(mail), fingerprint: fingerprintOf(bytes, mail) }
}

function letterOf(mail: Email): Omit<ParsedMessage, 'fingerprint'> {
  const from = mail.from?.address ? { name: cut(mail.from.name), address: cut(mail.from.address) } : null
  return {
    messageId: mail.messageId ? storable(mail.messageId).replace(/^\s*<|>\s*$/g, '') : null,
    subject: cut(mail.subject ?? ''),
    from,
    replyTo: mail.replyTo?.[0]?.address ? cut(mail.replyTo[0].address) : null,
    text: mail.text === undefined ? null : cut(mail.text, MAX_TEXT),
    textTruncated: (mail.text?.length ?? 0) > MAX_TEXT,
    html: mail.html === undefined ? null : cut(mail.html, MAX_TEXT),
    htmlTruncated: (mail.html?.length ?? 0) > MAX_TEXT,
    headers: headersOf(mail),
    attachments: mail.attachments.slice(0, MAX_ATTACHMENTS).map(({ filename, mimeType, content }) => ({
      filename: filename === null ? null : cut(filename, 255),
      contentType: cut(mimeType, 255),
      size: (content as ArrayBuffer).byteLength,
    })),
    report: reportIn(mail),
  }
}

/** Over the body and the headers that make a message what it is; servers on the way add others, also when they send it again. */
function fingerprintOf(bytes: Uint8Array, { headers }: Email) {
  const headerOf = (name: string) => headers.find(({ key }) => key === name)?.value ?? ''
  const hash = createHash('sha256').update(JSON.stringify(['from', 'subject', 'date'].map(headerOf)))
  return hash.update(bytes.subarray(startOfBody(bytes))).digest('hex')
}

function startOfBody(bytes: Uint8Array) {
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf('\r\n\r\n')
  return at < 0 ? 0 : at + 4
}

function hasTooManyLines(bytes: Uint8Array) {
  let lines = 0
  for (let at = bytes.indexOf(10); at >= 0 && lines <= MAX_LINES; at = bytes.indexOf(10, at + 1)) lines++
  return lines > MAX_LINES
}

const cut = (text: string, max = MAX_SHORT) => storable(text.slice(0, max))

const headersOf = ({ headers }: Email) =>
  Object.fromEntries(
    headers
      .slice(0, MAX_HEADERS)
      .map(({ key, value }) => [cut(key, 100), cut(decodeWords(value.slice(0, 2 * MAX_SHORT)))] as const)
      .reverse(),
  )

const REPORTS: Record<string, Report['is']> = {
  'message/delivery-status': 'delivery-status',
  'message/global-delivery-status': 'delivery-status',
  'message/feedback-report': 'feedback-report',
}
const ORIGINALS = new Set(['message/rfc822', 'message/global', 'text/rfc822-headers', 'message/global-headers'])

/** Only what says of itself that it is one: a person may attach the report that somebody else got. */
function reportIn({ headers, attachments }: Email): Report | null {
  const type = headers.find(({ key }) => key === 'content-type')?.value ?? ''
  if (!/^\s*multipart\/report\b/i.test(type)) return null
  const told = attachments.find(({ mimeType }) => Object.hasOwn(REPORTS, mimeType))
  const original = attachments.find(({ mimeType }) => ORIGINALS.has(mimeType))
  return {
    is: told ? REPORTS[told.mimeType]! : 'other',
    fields: textOf(told),
    original: textOf(original).split(/\r?\n\r?\n/, 1)[0]!,
  }
}

const textOf = (part: Attachment | undefined) =>
  part ? storable(Buffer.from((part.content as ArrayBuffer).slice(0, MAX_REPORT_BYTES)).toString()) : ''
