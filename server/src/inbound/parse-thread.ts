import { createHash } from 'node:crypto'
import type { Attachment, Email } from 'postal-mime'
import type { MessageReport, ParsedMessage } from '../delivery/feedback/inbound-message.ts'
import { storable } from '../lib/text/storable.ts'
import { KB } from '../lib/text/units.ts'
import { lowerPriority } from '../lib/threads/lower-priority.ts'
import { READING } from '../lib/threads/reading-threads.ts'
import { noteThread } from '../lib/threads/thread-progress.ts'
import { MalformedMessage } from '../mime/raw/head.ts'
import { readMimeTree } from '../mime/raw/parts.ts'
import { installMessageDecoder } from './charsets.ts'

// Runs in a thread, which can be killed when a message takes too much time or memory.

lowerPriority()

installMessageDecoder()
const { default: PostalMime, decodeWords } = await import('postal-mime')

/** Every line takes memory. An ordinary message of 25 MB has 350,000 lines; a crafted one may consist of line ends only. */
const MAX_LINES = 1_000_000
/** Headers of all parts together. */
const LIMITS = { maxNestingDepth: 50, maxHeadersSize: 256 * KB }
const MAX_TEXT = 65_536
const MAX_SHORT = 998
const MAX_HEADERS = 100
const MAX_ATTACHMENTS = 100
const MAX_REPORT_BYTES = 64 * KB

/** Undefined when the message can never be parsed. */
export async function parse({
  message: bytes,
  progress,
}: {
  message: Uint8Array
  progress: Int32Array
}): Promise<ParsedMessage | undefined> {
  noteThread(progress)
  Atomics.store(progress, 0, READING)
  if (hasTooManyLines(bytes) || hasTooManyParts(bytes)) return undefined
  const email = await PostalMime.parse(bytes, { ...LIMITS, forceRfc822Attachments: true }).catch(() => undefined)
  return email && { ...contentOf(email), fingerprint: fingerprintOf(bytes, email) }
}

function contentOf(email: Email): Omit<ParsedMessage, 'fingerprint'> {
  const from = email.from?.address ? { name: cut(email.from.name), address: cut(email.from.address) } : null
  return {
    messageId: email.messageId ? storable(email.messageId).replace(/^\s*<|>\s*$/g, '') : null,
    subject: cut(email.subject ?? ''),
    from,
    replyTo: email.replyTo?.[0]?.address ? cut(email.replyTo[0].address) : null,
    text: email.text === undefined ? null : cut(email.text, MAX_TEXT),
    textTruncated: (email.text?.length ?? 0) > MAX_TEXT,
    html: email.html === undefined ? null : cut(email.html, MAX_TEXT),
    htmlTruncated: (email.html?.length ?? 0) > MAX_TEXT,
    headers: headersOf(email),
    attachments: email.attachments.slice(0, MAX_ATTACHMENTS).map(({ filename, mimeType, content }) => ({
      filename: filename === null ? null : cut(filename, 255),
      contentType: cut(mimeType, 255),
      size: (content as ArrayBuffer).byteLength,
    })),
    report: reportIn(email),
  }
}

/** Over the body and the identifying headers: relays add other headers, and add different ones when they send a message again. */
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

/**
 * The library has no limits for the number of parts and the header of one. A message whose lines do not end in CRLF has no parts for us; the
 * limit for all headers holds for it, too.
 */
function hasTooManyParts(bytes: Uint8Array) {
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (!message.subarray(0, LIMITS.maxHeadersSize).includes('\r\n\r\n')) return false
  try {
    readMimeTree(message)
    return false
  } catch (err) {
    if (err instanceof MalformedMessage) return true
    throw err
  }
}

const cut = (text: string, max = MAX_SHORT) => storable(text.slice(0, max))

const headersOf = ({ headers }: Email) =>
  Object.fromEntries(
    headers
      .slice(0, MAX_HEADERS)
      .map(({ key, value }) => [cut(key, 100), cut(decodeWords(value.slice(0, 2 * MAX_SHORT)))] as const)
      .reverse(),
  )

const REPORTS: Record<string, MessageReport['is']> = {
  'message/delivery-status': 'delivery-status',
  'message/global-delivery-status': 'delivery-status',
  'message/feedback-report': 'feedback-report',
}
const ORIGINALS = new Set(['message/rfc822', 'message/global', 'text/rfc822-headers', 'message/global-headers'])

/** Only for a message of type multipart/report: a person may also attach a report to an ordinary message. */
function reportIn({ headers, attachments }: Email): MessageReport | null {
  const type = headers.find(({ key }) => key === 'content-type')?.value ?? ''
  if (!/^\s*multipart\/report\b/i.test(type)) return null
  const report = attachments.find(({ mimeType }) => Object.hasOwn(REPORTS, mimeType))
  const original = attachments.find(({ mimeType }) => ORIGINALS.has(mimeType))
  return {
    is: report ? REPORTS[report.mimeType]! : 'other',
    fields: textOf(report),
    original: textOf(original).split(/\r?\n\r?\n/, 1)[0]!,
  }
}

const textOf = (part: Attachment | undefined) =>
  part ? storable(Buffer.from((part.content as ArrayBuffer).slice(0, MAX_REPORT_BYTES)).toString()) : ''
