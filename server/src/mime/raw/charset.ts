import { isUtf8 } from 'node:buffer'
import { decodeWindows1252 } from '../../lib/text/windows-1252.ts'

/** Under these names text is labelled whose charset was not named: ASCII where it has other bytes too. */
const UNNAMED = new Set(['', 'utf8', 'utf-8', 'ascii', 'us-ascii', 'ansi_x3.4-1968'])
const WINDOWS_1252 = new Set(['iso-8859-1', 'iso8859-1', 'iso_8859-1', 'latin1', 'l1', 'windows-1252', 'cp1252', 'x-cp1252'])

/** Text of a message. Unknown charsets, and bytes that are not valid UTF-8 although they should be, are read as windows-1252. */
export function decodeCharset(bytes: Buffer, charset: string): string {
  const label = charset.trim().toLowerCase()
  if (UNNAMED.has(label)) return isUtf8(bytes) ? bytes.toString('utf8') : decodeWindows1252(bytes)
  if (WINDOWS_1252.has(label)) return decodeWindows1252(bytes)
  const decoder = decoderFor(label)
  return decoder ? decoder.decode(bytes) : decodeWindows1252(bytes)
}

/** Whether text of this charset is decoded as what it is. */
export function isKnownCharset(charset: string) {
  const label = charset.trim().toLowerCase()
  return UNNAMED.has(label) || WINDOWS_1252.has(label) || decoderFor(label) !== undefined
}

function decoderFor(label: string) {
  try {
    return new TextDecoder(label)
  } catch {
    return undefined
  }
}
