import { base64Lines } from '../encode.ts'
import { quotedPrintable } from '../quoted-printable.ts'
import type { HeaderField } from './head.ts'
import type { MimePart } from './parts.ts'

type EncodedBody = { encoding: 'quoted-printable' | 'base64'; body: string }

/** Text as quoted-printable, bytes as base64, both ASCII. A line that begins like a boundary is possible only in quoted-printable. */
export function encodeText(text: Buffer): EncodedBody {
  const body = quotedPrintable(text)
  return /^--/m.test(body) ? encodeBytes(text) : { encoding: 'quoted-printable', body }
}

export const encodeBytes = (bytes: Buffer): EncodedBody => ({ encoding: 'base64', body: base64Lines(bytes).trimEnd() })

/** A part with another body, as ASCII: its other headers stay as they are. */
export function replacedPart({ head }: MimePart, { encoding, body }: EncodedBody, contentType?: string): Buffer {
  const fields = head.fields.flatMap((field) => headerFor(field, contentType))
  return Buffer.concat([...fields, Buffer.from(`Content-Transfer-Encoding: ${encoding}\r\n\r\n${body}`, 'latin1')])
}

function headerFor({ name, bytes }: HeaderField, contentType: string | undefined): Buffer[] {
  if (name === 'content-transfer-encoding') return []
  return name === 'content-type' && contentType !== undefined ? [Buffer.from(`Content-Type: ${contentType}\r\n`)] : [bytes]
}
