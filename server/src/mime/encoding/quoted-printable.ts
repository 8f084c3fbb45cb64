const [TAB, LF, CR, SPACE, DOT, EQUALS] = [0x09, 0x0a, 0x0d, 0x20, 0x2e, 0x3d]
const HEX = Buffer.from('0123456789ABCDEF')
/** Characters of a line: 76, less the `=` of a soft break. */
export const MAX_COLUMN = 75

export type QuotedWriter = { out: Buffer; at: number; column: number }

/** Worst case: three bytes for each one, and a soft break after every 25 of those. */
export const boundOfQuoted = (bytes: number) => 4 * bytes + 3

/** Quoted-printable of text with CRLF line breaks. */
export function quotedPrintable(text: string | Buffer) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  const writer = { out: Buffer.allocUnsafe(boundOfQuoted(bytes.length)), at: 0, column: 0 }
  writeQuoted(writer, bytes, 'plain')
  return writer.out.toString('latin1', 0, writer.at)
}

/**
 * Writes quoted-printable into a buffer: five times as fast as building a string. In the form `relaxed` the second of two spaces and all tabs are
 * encoded too: so the bytes are in the relaxed form of DKIM already, and their hash is the hash of the body. It may also be continued: a space
 * at either end is encoded, because its neighbours are unknown here.
 */
export function writeQuoted(writer: QuotedWriter, bytes: Uint8Array, form: 'plain' | 'relaxed') {
  const { out } = writer
  const isRelaxed = form === 'relaxed'
  let { at, column } = writer
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!
    if (byte === CR && bytes[index + 1] === LF) {
      out[at++] = CR
      out[at++] = LF
      column = 0
      index++
      continue
    }
    let isLiteral = byte > SPACE && byte < 0x7f && byte !== EQUALS
    if (byte === SPACE || byte === TAB) {
      // A blank before a line break may be lost on the way.
      const isBetween = index + 1 < bytes.length && bytes[index + 1] !== CR
      isLiteral = isBetween && (!isRelaxed || (byte === SPACE && index > 0 && bytes[index - 1] !== SPACE))
    }
    if (column + (isLiteral ? 1 : 3) > MAX_COLUMN) {
      out[at++] = EQUALS
      out[at++] = CR
      out[at++] = LF
      column = 0
    }
    // Encoded, because every server on the way would have to dot-stuff the line.
    if (byte === DOT && column === 0) isLiteral = false
    if (isLiteral) {
      out[at++] = byte
      column++
    } else {
      out[at++] = EQUALS
      out[at++] = HEX[byte >> 4]!
      out[at++] = HEX[byte & 15]!
      column += 3
    }
  }
  writer.at = at
  writer.column = column
}
