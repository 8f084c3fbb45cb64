import { base64Lines } from '../encoding/encode.ts'
import { quotedPrintable } from '../encoding/quoted-printable.ts'
import { fieldsOf } from './head.ts'
import type { MimePart } from './parts.ts'

type EncodedBody = { encoding: 'quoted-printable' | 'base64'; body: string }

/** Text as quoted-printable, bytes as base64, both ASCII. A line that begins like a boundary is possible only in quoted-printable. */
export function encodeText(text: Buffer): EncodedBody {
  const body = quotedPrintable(text)
  return /^--/m.test(body) ? encodeBytes(text) : { encoding: 'quoted-printable', body }
}

export const encodeBytes = (bytes: Buffer): EncodedBody => ({ encoding: 'base64', body: base64Lines(bytes).trimEnd() })

/** A part with another body, as ASCII: its other headers stay as they are. */
export function replacedPart(message: Buffer, { head }: MimePart, { encoding, body }: EncodedBody, contentType?: string): Buffer {
  const fields: Buffer[] = []
  for (const { name, start, end } of fieldsOf(message, head)) {
    if (name === 'content-type' && contentType !== undefined) fields.push(Buffer.from(`Content-Type: ${contentType}\r\n`))
    else if (name !== 'content-transfer-encoding') fields.push(message.subarray(start, end))
  }
  return Buffer.concat([...fields, Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n\r\n${body}`, 'latin1')])
}
