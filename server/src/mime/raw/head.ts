/** A header field of a message: its lower-case name, and its bytes with all its lines and line ends. */
export type HeaderField = { name: string; bytes: Buffer }

/** The header fields of a message or of a part, and where its body begins. */
export type Head = { fields: HeaderField[]; bodyStart: number }

/** A message that readers may take for different things. The text is the reply to its sender. */
export class MalformedMessage extends Error {}

const CRLF = Buffer.from('\r\n')
const [TAB, SPACE] = [0x09, 0x20]
/** RFC 5322: printable ASCII without a colon, and no space before the colon. Some readers accept such a space, others do not. */
const NAME = /^[!-9;-~]+$/

/** Reads header fields of a message until its empty line. Throws for a line that is none: readers disagree about what follows it. */
export function readHead(message: Buffer): Head {
  const isEnd = () => false
  return scanHead(message, 0, isEnd, (line) => {
    throw new MalformedMessage(`A header line is not valid: ${line.slice(0, 60)}`)
  })
}

/** The same for a part. Lines that are no fields are passed over, as mail programs do. `isEnd`: the line is a boundary around the part. */
export const readPartHead = (message: Buffer, start: number, isEnd: (line: string) => boolean): Head =>
  scanHead(message, start, isEnd, () => {})

function scanHead(message: Buffer, start: number, isEnd: (line: string) => boolean, onInvalid: (line: string) => void): Head {
  const fields: HeaderField[] = []
  let fieldStart = -1
  let name = ''
  const endField = (end: number) => {
    if (fieldStart >= 0) fields.push({ name, bytes: message.subarray(fieldStart, end) })
    fieldStart = -1
  }
  let at = start
  while (at < message.length) {
    const found = message.indexOf(CRLF, at)
    const lineEnd = found < 0 ? message.length : found
    const next = Math.min(message.length, lineEnd + CRLF.length)
    if (lineEnd === at) {
      endField(at)
      return { fields, bodyStart: next }
    }
    const isContinued = message[at] === SPACE || message[at] === TAB
    if (!isContinued) {
      endField(at)
      const line = message.toString('latin1', at, Math.min(lineEnd, at + MAX_NAME))
      if (isEnd(line)) return { fields, bodyStart: at }
      const colon = line.indexOf(':')
      if (colon > 0 && NAME.test(line.slice(0, colon))) {
        fieldStart = at
        name = line.slice(0, colon).toLowerCase()
      } else onInvalid(line)
    } else if (fieldStart < 0) onInvalid(message.toString('latin1', at, lineEnd))
    at = next
  }
  endField(message.length)
  return { fields, bodyStart: message.length }
}

/** Longest start of a line that is looked at for a name or a boundary. */
const MAX_NAME = 300

/** The bytes of a field behind its colon, unfolded and decoded: UTF-8 if they are valid UTF-8, else one character per byte. */
export function fieldValue({ name, bytes }: HeaderField) {
  const utf8 = bytes.toString('utf8')
  const text = utf8.includes('\ufffd') ? bytes.toString('latin1') : utf8
  return text
    .slice(name.length + 1)
    .replace(/\r\n/g, '')
    .trim()
}

/** The value of the first field with this name; empty without one. */
export function headerOf({ fields }: Head, wanted: string) {
  const field = fields.find(({ name }) => name === wanted)
  return field ? fieldValue(field) : ''
}
