import { isAscii } from 'node:buffer'
import type { RawContent } from '../../delivery/outbox/contents/content.ts'
import { storable } from '../../lib/text/storable.ts'
import { KB } from '../../lib/text/units.ts'
import { type FromHeader, readFromHeader } from '../../mime/raw/from-header.ts'
import { fieldValue, type Head, type HeaderField, headerOf, MalformedMessage, readHead } from '../../mime/raw/head.ts'
import { decodeWords } from '../../mime/raw/header-text.ts'
import { type MimePart, readMimeTree } from '../../mime/raw/parts.ts'
import { RELAY_HEADER } from '../relay-headers.ts'

export type Submission = {
  /** The message without the headers that are removed. */
  raw: Buffer
  /** What it needs of the servers on its way: nothing, 8BITMIME for its body, or SMTPUTF8 for its headers. */
  form: RawContent['form']
  from: FromHeader
  subject: string
  replyTo: string | null
  /** Without its brackets; null when the message has none. */
  messageId: string | null
  idempotencyKey: string | undefined
  wantsTracking: boolean
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
 * Applies the rules for headers. Throws a MalformedMessage with the reason of a refusal. `chunks`: the message, which may be large: it is copied
 * once. `is8bit`: it has bytes that are not ASCII.
 */
export function readSubmission(chunks: Buffer[], is8bit: boolean): Submission {
  const { start, rest } = splitAfterHead(chunks)
  const head = readHead(start)
  if (head.bodyStart > MAX_HEAD) throw new MalformedMessage('The header is too large')
  refuseTwice(head)
  const from = readFromHeader(headerOf(head, 'from'))
  if (!from) throw new MalformedMessage('From must be exactly one address')
  const kept = head.fields.filter((field) => !isRemoved(field))
  const raw = Buffer.concat([...kept.map(({ bytes }) => endedLine(bytes)), Buffer.from('\r\n'), start.subarray(head.bodyStart), ...rest])
  return {
    raw,
    form: is8bit ? formOf(raw) : '7bit',
    from,
    subject: textOf(head, 'subject'),
    replyTo: textOf(head, 'reply-to') || null,
    messageId: readMessageId(headerOf(head, 'message-id')),
    idempotencyKey: readKey(head),
    wantsTracking: headerOf(head, 'x-sterna-track').toLowerCase() === 'true',
  }
}

/** `start` has the whole header, unless that is too large. */
function splitAfterHead(chunks: Buffer[]) {
  let [count, size] = [0, 0]
  while (count < chunks.length && size <= MAX_HEAD) size += chunks[count++]!.length
  return { start: Buffer.concat(chunks.slice(0, count)), rest: chunks.slice(count) }
}

function refuseTwice({ fields }: Head) {
  const seen = new Set<string>()
  for (const { name } of fields) {
    if (seen.has(name) && SINGLE.test(name)) throw new MalformedMessage(`The header ${name} occurs twice`)
    seen.add(name)
  }
}

/** The last line of a message without a body may lack its line end. */
const endedLine = (bytes: Buffer) => (bytes.at(-1) === 0x0a ? bytes : Buffer.concat([bytes, Buffer.from('\r\n')]))

const textOf = (head: Head, name: string) => storable(decodeWords(headerOf(head, name).slice(0, 8 * KB)).slice(0, MAX_SUBJECT))

function readMessageId(value: string) {
  const [, id] = /^<?([^<>\s]{1,500})>?$/.exec(value) ?? []
  return id === undefined ? null : storable(id)
}

const KEY = /^[\x20-\x7e]{1,255}$/

function readKey({ fields }: Head) {
  const field = fields.find(({ name }) => name === 'x-sterna-idempotency-key')
  const key = field && fieldValue(field)
  if (key !== undefined && !KEY.test(key))
    throw new MalformedMessage('X-Sterna-Idempotency-Key must be 1 to 255 printable ASCII characters')
  return key
}

const formOf = (raw: Buffer) =>
  headsOf(readMimeTree(raw)).every(({ fields }) => fields.every(({ bytes }) => isAscii(bytes))) ? '8bit' : 'utf8'

const headsOf = (part: MimePart): Head[] => [part.head, ...part.parts.flatMap(headsOf)]
