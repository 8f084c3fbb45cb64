import { KB } from '../../lib/text/units.ts'

/** A header field: its lower-case name, and where its lines begin and end, with their line ends. */
export type HeaderField = { name: string; start: number; end: number }

/** The range of the header lines of a message or of a part, and where its body begins. */
export type Head = { start: number; end: number; bodyStart: number }

/** A message that readers may take for different things, or that is too much to read. The text is the reply to its sender. */
export class MalformedMessage extends Error {}

const CRLF = Buffer.from('\r\n')
const [TAB, SPACE] = [0x09, 0x20]
/** RFC 5322: printable ASCII without a colon, and no space before the colon. Some readers accept such a space, others do not. */
const NAME = /^[!-9;-~]+$/

/** Finds the empty line that ends the header of a message. Throws for a line that is no header: readers disagree about what follows it. */
export function readHead(message: Buffer, maxSize = message.length): Head {
  const head = findHead(message, { start: 0, maxSize })
  const onInvalid = (at: number) => {
    throw new MalformedMessage(`A header line is not valid: ${message.toString('latin1', at, Math.min(endOfLine(message, at), at + 60))}`)
  }
  // Reads all lines, to find those that are not valid.
  for (const _ of fieldsOf(message, head, onInvalid));
  return head
}

type Limits = {
  start: number
  /** Largest size; reading ends there. */
  maxSize: number
  /** The line is a boundary around the part, and ends its header. */
  isEnd?: (line: string) => boolean
}

/** Finds where a header ends: at an empty line, at a boundary around the part, or at the end of the message. */
export function findHead(message: Buffer, { start, maxSize, isEnd }: Limits): Head {
  let at = start
  while (at < message.length) {
    const lineEnd = endOfLine(message, at)
    if (lineEnd === at) return { start, end: at, bodyStart: Math.min(message.length, at + CRLF.length) }
    if (isEnd && message[at] === DASH && isEnd(message.toString('latin1', at, Math.min(lineEnd, at + MAX_NAME))))
      return { start, end: at, bodyStart: at }
    at = Math.min(message.length, lineEnd + CRLF.length)
    if (at - start > maxSize) throw new MalformedMessage(`A header is larger than ${maxSize / KB} KB`)
  }
  return { start, end: message.length, bodyStart: message.length }
}

const DASH = 0x2d
/** Longest start of a line that is looked at for a name or a boundary. */
const MAX_NAME = 300

function endOfLine(message: Buffer, from: number) {
  const found = message.indexOf(CRLF, from)
  return found < 0 ? message.length : found
}

/**
 * The fields of a header, one at a time: a header may consist of a million lines. Lines that are no fields are passed over, as mail programs do.
 */
export function* fieldsOf(message: Buffer, { start, end }: Head, onInvalid: (at: number) => void = () => {}): Generator<HeaderField> {
  let field: HeaderField | undefined
  let at = start
  while (at < end) {
    const next = Math.min(end, endOfLine(message, at) + CRLF.length)
    const isContinued = message[at] === SPACE || message[at] === TAB
    if (isContinued && field) field.end = next
    else {
      if (field) yield field
      const name = isContinued ? undefined : nameAt(message, at, next)
      if (name === undefined) onInvalid(at)
      field = name === undefined ? undefined : { name, start: at, end: next }
    }
    at = next
  }
  if (field) yield field
}

function nameAt(message: Buffer, at: number, lineEnd: number) {
  const line = message.toString('latin1', at, Math.min(lineEnd, at + MAX_NAME))
  const colon = line.indexOf(':')
  return colon > 0 && NAME.test(line.slice(0, colon)) ? line.slice(0, colon).toLowerCase() : undefined
}

/** The bytes of a field behind its colon, unfolded and decoded: UTF-8 if they are valid UTF-8, else one character per byte. */
export function fieldValue(message: Buffer, { name, start, end }: HeaderField) {
  const utf8 = message.toString('utf8', start, end)
  const text = utf8.includes('\ufffd') ? message.toString('latin1', start, end) : utf8
  return text
    .slice(name.length + 1)
    .replaceAll('\r\n', '')
    .trim()
}

/** The value of the first field with this name; empty without one. */
export function headerOf(message: Buffer, head: Head, wanted: string) {
  for (const field of fieldsOf(message, head)) if (field.name === wanted) return fieldValue(message, field)
  return ''
}

export function hasField(message: Buffer, head: Head, wanted: string) {
  for (const { name } of fieldsOf(message, head)) if (name === wanted) return true
  return false
}
