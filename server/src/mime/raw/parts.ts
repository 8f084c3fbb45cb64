import type { Steps } from '../../lib/text/steps.ts'
import { KB, MB } from '../../lib/text/units.ts'
import { fieldsOf, fieldValue, findHead, type Head, MalformedMessage } from './head.ts'
import { readStructured } from './header-text.ts'

/** A part of a message, and the range of its body. A multipart, or an attached message, has parts of its own. */
export type MimePart = {
  head: Head
  /** Lower-case, such as `text/html`. */
  type: string
  /** Parameters of its Content-Type. */
  parameters: Map<string, string>
  /** Lower-case Content-Transfer-Encoding. */
  encoding: string
  start: number
  end: number
  parts: MimePart[]
}

const LINE_START = Buffer.from('\r\n--')
const CRLF = Buffer.from('\r\n')
/** Deeper parts are taken as one. */
const MAX_DEPTH = 30
const MAX_PARTS = 1_000
const MAX_PART_HEAD = 64 * KB
/** Headers of all parts together. */
const MAX_HEADS = MB
/** Lines that begin like a boundary, each of which is compared with those that are open. */
const MAX_LOOK_ALIKES = 100_000
/** RFC 2046 allows 70 characters. */
const MAX_BOUNDARY = 250

/** A line that ends the part before it. `level`: the index of its boundary among the open ones. */
type Delimiter = { at: number; next: number; level: number; isLast: boolean }
type Reader = { message: Buffer; open: string[]; parts: number; headBytes: number; lookAlikes: number; steps: Steps }

/**
 * Reads the parts of a message in one pass, as RFC 2046 says: a boundary of an outer part also ends the inner ones. Throws a MalformedMessage
 * when it has more parts or larger headers than any mail program makes.
 */
export function readMimeTree(message: Buffer, steps: Steps = { count: 0 }): MimePart {
  const reader: Reader = { message, open: [], parts: 0, headBytes: 0, lookAlikes: 0, steps }
  return readPart(reader, { at: 0, depth: 0, isInDigest: false }).part
}

/** All parts without parts of their own, in their order. */
export const leavesOf = (part: MimePart): MimePart[] => (part.parts.length ? part.parts.flatMap(leavesOf) : [part])

type Place = { at: number; depth: number; isInDigest: boolean }
/** `ended`: the line that ended the part; undefined at the end of the message. */
type Read = { part: MimePart; ended: Delimiter | undefined }

function readPart(reader: Reader, { at, depth, isInDigest }: Place): Read {
  // The message itself is none.
  if (reader.parts++ > MAX_PARTS) throw new MalformedMessage(`The message has more than ${MAX_PARTS} parts`)
  const { message } = reader
  const head = readPartHead(reader, at)
  const { type, encoding } = contentFields(message, head)
  const { value, parameters } = readStructured(type, reader.steps)
  const part: MimePart = {
    head,
    type: /^[^\s/]+\/[^\s/]+$/.test(value) ? value : isInDigest ? 'message/rfc822' : 'text/plain',
    parameters,
    encoding: readStructured(encoding, reader.steps).value || '7bit',
    start: head.bodyStart,
    end: message.length,
    parts: [],
  }
  const boundary = boundaryOf(part)
  const isOpen = depth < MAX_DEPTH
  if (boundary !== undefined && isOpen) return readMultipart(reader, part, boundary, depth)
  if (isAttachedMessage(part) && isOpen) {
    const inner = readPart(reader, { at: part.start, depth: depth + 1, isInDigest: false })
    part.parts = [inner.part]
    part.end = inner.part.end
    return { part, ended: inner.ended }
  }
  const ended = nextDelimiter(reader, part.start)
  if (ended) part.end = Math.max(part.start, ended.at)
  return { part, ended }
}

/** The header of the message itself may have all of the bytes. */
function readPartHead(reader: Reader, start: number): Head {
  const { message, open } = reader
  const isEnd = (line: string) => {
    reader.steps.count++
    return matchBoundary(open, line) !== undefined
  }
  const head = findHead(message, { start, maxSize: start === 0 ? MAX_HEADS : MAX_PART_HEAD, isEnd })
  reader.headBytes += head.end - start
  reader.steps.count += head.end - start
  if (reader.headBytes > MAX_HEADS) throw new MalformedMessage('The headers of the parts are larger than 1 MB')
  return head
}

/** The first Content-Type and Content-Transfer-Encoding. */
function contentFields(message: Buffer, head: Head) {
  let type: string | undefined
  let encoding: string | undefined
  for (const field of fieldsOf(message, head)) {
    if (field.name === 'content-type') type ??= fieldValue(message, field)
    else if (field.name === 'content-transfer-encoding') encoding ??= fieldValue(message, field)
  }
  return { type: type ?? '', encoding: encoding ?? '' }
}

/** Ends with the line after its last boundary that belongs to an outer part. */
function readMultipart(reader: Reader, part: MimePart, boundary: string, depth: number): Read {
  const level = reader.open.push(boundary) - 1
  let ended = nextDelimiter(reader, part.start)
  while (ended && ended.level === level && !ended.isLast) {
    const inner = readPart(reader, { at: ended.next, depth: depth + 1, isInDigest: part.type === 'multipart/digest' })
    part.parts.push(inner.part)
    ended = inner.ended
  }
  reader.open.length = level
  if (ended && ended.level === level) ended = nextDelimiter(reader, ended.next)
  if (ended) part.end = Math.max(part.start, ended.at)
  return { part, ended }
}

const boundaryOf = ({ type, parameters }: MimePart) => {
  const boundary = type.startsWith('multipart/') ? parameters.get('boundary')?.trimEnd() : undefined
  return boundary && boundary.length <= MAX_BOUNDARY ? boundary : undefined
}

/** Only without an encoding is it a message that can be read in place. */
const isAttachedMessage = ({ type, encoding }: MimePart) =>
  (type === 'message/rfc822' || type === 'message/global') && ['7bit', '8bit', 'binary'].includes(encoding)

/** The next line, from the line before `from` on, that is an open boundary. */
function nextDelimiter(reader: Reader, from: number): Delimiter | undefined {
  const { message, open } = reader
  if (!open.length) return undefined
  // The line end before a boundary belongs to it; it may be the one of an empty line or of the boundary before.
  let at = message.indexOf(LINE_START, Math.max(0, from - CRLF.length))
  while (at >= 0) {
    reader.steps.count++
    if (++reader.lookAlikes > MAX_LOOK_ALIKES) throw new MalformedMessage('The message has too many lines that look like a boundary')
    const found = message.indexOf(CRLF, at + LINE_START.length)
    const lineEnd = found < 0 ? message.length : found
    const line = message.toString('latin1', at + CRLF.length, Math.min(lineEnd, at + CRLF.length + MAX_BOUNDARY + MAX_PADDING))
    const match = matchBoundary(open, line)
    if (match) return { ...match, at, next: Math.min(message.length, lineEnd + CRLF.length) }
    at = message.indexOf(LINE_START, Math.max(lineEnd, at + 1))
  }
  return undefined
}

const MAX_PADDING = 50

function matchBoundary(open: string[], line: string) {
  if (!line.startsWith('--')) return undefined
  const text = line.trimEnd()
  for (let level = open.length - 1; level >= 0; level--) {
    const boundary = open[level]!
    if (!text.startsWith(boundary, 2)) continue
    const rest = text.slice(2 + boundary.length)
    if (rest === '' || rest === '--') return { level, isLast: rest === '--' }
  }
  return undefined
}
