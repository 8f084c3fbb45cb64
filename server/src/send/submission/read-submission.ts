import { isAscii } from 'node:buffer'
import type { RawContent } from '../../delivery/outbox/contents/content.ts'
import { storable } from '../../lib/text/storable.ts'
import { KB } from '../../lib/text/units.ts'
import { decodeWords } from '../../mime/raw/encoded-words.ts'
import { type FromHeader, readFromHeader } from '../../mime/raw/from-header.ts'
import { fieldsOf, fieldValue, type Head, type HeaderField, headerOf, MalformedMessage, readHead } from '../../mime/raw/head.ts'
import { type MimePart, readMimeTree } from '../../mime/raw/parts.ts'
import { RELAY_HEADER } from '../acceptance/relay-headers.ts'

export type Submission = {
  /** The message without the headers that are removed. */
  raw: Buffer
  /** Extension that servers on its way need: nothing, 8BITMIME for its body, or SMTPUTF8 for its headers. */
  form: RawContent['form']
  from: FromHeader
  subject: string
  replyTo: string | null
  /** Without its brackets; null when the message has none. */
  messageId: string | null
  idempotencyKey: string | undefined
  wantsTracking: boolean
  /** The parts of `raw`. */
  tree: MimePart
}

/** Receivers refuse larger headers: Postfix those over 100 KB. */
const MAX_HEAD = 128 * KB
const MAX_SUBJECT = 998

/** Headers of RFC 5322 and MIME that occur once. Mail programs disagree about which of two they show. */
const SINGLE =
  /^(from|reply-to|to|cc|message-id|in-reply-to|references|subject|date|mime-version|content-(type|transfer-encoding|disposition|id)|x-sterna-(idempotency-key|track))$/

/** Headers of the way a message took before, recipients that others must not see, and orders to us or to a relay. */
const REMOVED = /^(bcc|return-path|sender|received|resent-.*|arc-.*|authentication-results|dkim-signature|x-sterna-.*)$/

const isRemoved = ({ name }: HeaderField) => REMOVED.test(name) || RELAY_HEADER.test(name)

/**
 * Applies the rules for headers. Throws a MalformedMessage with the reason of a refusal. `chunks`: the message. A single chunk is changed in
 * place: it may have 40 MB. `is8bit`: it has bytes that are not ASCII.
 */
export function readSubmission(chunks: Buffer[], is8bit: boolean): Submission {
  const message = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  const head = readHead(message, MAX_HEAD)
  const kept = readKept(message, head)
  const from = readFromHeader(headerOf(message, head, 'from'))
  if (!from) throw new MalformedMessage('From must be exactly one address')
  const textOf = (name: string) => storable(decodeWords(headerOf(message, head, name).slice(0, 8 * KB)).slice(0, MAX_SUBJECT))
  const read = {
    from,
    subject: textOf('subject'),
    replyTo: textOf('reply-to') || null,
    messageId: readMessageId(headerOf(message, head, 'message-id')),
    idempotencyKey: readKey(message, head),
    wantsTracking: headerOf(message, head, 'x-sterna-track').toLowerCase() === 'true',
  }
  const raw = keepOnly(message, head, kept)
  const tree = readMimeTree(raw)
  return { ...read, raw, tree, form: is8bit ? formOf(raw, tree) : '7bit' }
}

/** Ranges of the lines that are kept. */
type Range = { start: number; end: number }

/** Throws for two headers of which readers show different ones. */
function readKept(message: Buffer, head: Head): Range[] {
  const seen = new Set<string>()
  const kept: Range[] = []
  for (const field of fieldsOf(message, head)) {
    const { name, start, end } = field
    if (SINGLE.test(name)) {
      if (seen.has(name)) throw new MalformedMessage(`The header ${name} occurs twice`)
      seen.add(name)
    }
    if (isRemoved(field)) continue
    const last = kept.at(-1)
    if (last?.end === start) last.end = end
    else kept.push({ start, end })
  }
  return kept
}

/** Moves the kept lines before the body, from the last to the first, so that none is overwritten before it has moved. */
function keepOnly(message: Buffer, { end, bodyStart }: Head, kept: Range[]): Buffer {
  // The empty line, or even the end of the last header line, may be missing.
  if (bodyStart - end < CRLF.length) return endedHead(message, kept)
  let start = end
  for (const range of kept.toReversed()) {
    start -= range.end - range.start
    message.copy(message, start, range.start, range.end)
  }
  return message.subarray(start)
}

const CRLF = Buffer.from('\r\n')

function endedHead(message: Buffer, kept: Range[]) {
  const lines = Buffer.concat(kept.map(({ start, end }) => message.subarray(start, end)))
  const isEnded = !lines.length || lines.subarray(-CRLF.length).equals(CRLF)
  return Buffer.concat([lines, ...(isEnded ? [] : [CRLF]), CRLF])
}

function readMessageId(value: string) {
  const [, id] = /^<?([^<>\s]{1,500})>?$/.exec(value) ?? []
  return id === undefined ? null : storable(id)
}

const KEY = /^[\x20-\x7e]{1,255}$/

function readKey(message: Buffer, head: Head) {
  for (const field of fieldsOf(message, head)) {
    if (field.name !== 'x-sterna-idempotency-key') continue
    const key = fieldValue(message, field)
    if (KEY.test(key)) return key
    throw new MalformedMessage('X-Sterna-Idempotency-Key must be 1 to 255 printable ASCII characters')
  }
  return undefined
}

const formOf = (raw: Buffer, tree: MimePart) => (hasAsciiHeads(raw, tree) ? '8bit' : 'utf8')

const hasAsciiHeads = (raw: Buffer, { head, parts }: MimePart): boolean =>
  isAscii(raw.subarray(head.start, head.end)) && parts.every((part) => hasAsciiHeads(raw, part))
