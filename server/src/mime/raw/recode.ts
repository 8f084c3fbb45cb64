import { isAscii } from 'node:buffer'
import { decodedBody } from './decode.ts'
import { encodeBytes, encodeText, replacedPart } from './encode-part.ts'
import { fieldsOf } from './head.ts'
import { type MimePart, readMimeTree } from './parts.ts'

/** A message that cannot be sent by a server without 8BITMIME. */
class NotRecodable extends Error {}

/**
 * The message in ASCII, for servers without 8BITMIME: parts with other bytes are re-encoded, everything else stays as it is. Its headers must
 * be ASCII. A signed part cannot be changed.
 */
export function recodeTo7bit(message: Buffer): Buffer {
  const out: Buffer[] = []
  recodePart(message, readMimeTree(message), out)
  return Buffer.concat(out)
}

const SIGNED = new Set(['multipart/signed', 'application/pkcs7-mime', 'application/x-pkcs7-mime'])

function recodePart(message: Buffer, part: MimePart, out: Buffer[]) {
  const { head, start, end, parts, type } = part
  const isPlain = () => isAscii(message.subarray(start, end))
  if (SIGNED.has(type)) {
    if (!isPlain()) throw new NotRecodable('A signed message cannot be encoded for a server without 8BITMIME.')
    return void out.push(message.subarray(head.start, end))
  }
  if (!parts.length && isPlain()) return void out.push(with7bitHead(message, part), message.subarray(start, end))
  if (!parts.length) return void out.push(recodedLeaf(message, part))
  out.push(with7bitHead(message, part))
  let at = start
  for (const inner of parts) {
    out.push(asciiOnly(message.subarray(at, inner.head.start)))
    recodePart(message, inner, out)
    at = inner.end
  }
  out.push(asciiOnly(message.subarray(at, end)))
}

function recodedLeaf(message: Buffer, part: MimePart) {
  // Such a part must not have an encoding (RFC 2046); it is too deep to be read.
  if (/^(multipart|message)\//.test(part.type))
    throw new NotRecodable('The message has too many nested parts for a server without 8BITMIME.')
  const body = decodedBody(message, part)
  return replacedPart(message, part, part.type.startsWith('text/') ? encodeText(body) : encodeBytes(body))
}

const CRLF = Buffer.from('\r\n')
const SEVEN_BIT = Buffer.from('Content-Transfer-Encoding: 7bit\r\n')

/** The head of a part whose body is ASCII now. */
function with7bitHead(message: Buffer, { head, start, encoding }: MimePart): Buffer {
  if (encoding !== '8bit' && encoding !== 'binary') return message.subarray(head.start, start)
  const fields: Buffer[] = []
  for (const field of fieldsOf(message, head))
    fields.push(field.name === 'content-transfer-encoding' ? SEVEN_BIT : message.subarray(field.start, field.end))
  return Buffer.concat([...fields, CRLF])
}

/** Text around parts, which mail programs do not show. */
const asciiOnly = (bytes: Buffer) => (isAscii(bytes) ? bytes : Buffer.from(bytes.map((byte) => (byte > 0x7f ? 0x3f : byte))))
