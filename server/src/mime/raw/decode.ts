import { decodeCharset } from './charset.ts'
import type { MimePart } from './parts.ts'

/** The body of a part without its transfer encoding. */
export function decodedBody(message: Buffer, { encoding, start, end }: MimePart): Buffer {
  const bytes = message.subarray(start, end)
  if (encoding === 'base64') return decodeBase64(bytes)
  return encoding === 'quoted-printable' ? decodeQuotedPrintable(bytes) : bytes
}

/** Padded pieces in a row, as some programs write them. */
const MAX_PIECES = 1_000

/** Node passes over characters that are not base64, and ends at padding. */
function decodeBase64(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1')
  const pieces: Buffer[] = []
  let at = 0
  while (at < text.length && pieces.length < MAX_PIECES) {
    const padding = text.indexOf('=', at)
    const end = padding < 0 ? text.length : padding
    pieces.push(Buffer.from(text.slice(at, end), 'base64'))
    at = end
    while (at < text.length && (text[at] === '=' || text[at] === '\r' || text[at] === '\n')) at++
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

const [CR, LF, EQUALS] = [0x0d, 0x0a, 0x3d]
const HEX = new Int8Array(256).fill(-1)
for (const [value, digit] of [...'0123456789ABCDEF'].entries()) {
  HEX[digit.charCodeAt(0)] = value
  HEX[digit.toLowerCase().charCodeAt(0)] = value
}

/** Spaces at the end of a line were added on the way (RFC 2045). An `=` without two digits stands for itself. */
function decodeQuotedPrintable(bytes: Buffer): Buffer {
  const out = Buffer.allocUnsafe(bytes.length)
  let length = 0
  /** End of the last character that is not a blank of the source. */
  let kept = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === EQUALS) {
      const [high, low] = [HEX[bytes[at + 1] ?? 0]!, HEX[bytes[at + 2] ?? 0]!]
      if (high >= 0 && low >= 0) {
        out[length++] = high * 16 + low
        kept = length
        at += 2
        continue
      }
      const next = endOfSoftBreak(bytes, at + 1)
      if (next > 0) {
        kept = length
        at = next - 1
        continue
      }
    }
    if (byte === CR && bytes[at + 1] === LF) length = kept
    out[length++] = byte
    if (byte !== 0x20 && byte !== 0x09) kept = length
  }
  return out.subarray(0, length)
}

/** Behind the blanks and the line end that follow an `=`; 0 when it does not end a line. */
function endOfSoftBreak(bytes: Buffer, from: number) {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at++
  if (at === bytes.length) return at
  return bytes[at] === CR && bytes[at + 1] === LF ? at + 2 : 0
}

/** The text of a part, with the line ends of the message. */
export const decodedText = (message: Buffer, part: MimePart) =>
  decodeCharset(decodedBody(message, part), part.parameters.get('charset') ?? '')
