import { isUtf8 } from 'node:buffer'
import { StringDecoder } from 'node:string_decoder'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { decodeWindows1252 } from '../lib/windows-1252.ts'
import { CsvUnreadable } from './csv-records.ts'
import { formatOf } from './other-formats.ts'

/** The event loop turns between pieces, so that no upload holds up other requests, whatever its size. */
export const PIECE = 64 * 1024
/** Bytes in which UTF-16 without a byte order mark is looked for. */
const SAMPLE = 512

/** The file as UTF-8 without a byte order mark. The place of a row in it is then a number of bytes. */
export async function toUtf8(content: Buffer): Promise<Buffer> {
  const format = formatOf(content)
  if (format) throw new CsvUnreadable(format)
  const utf16 = utf16Of(content)
  if (utf16) return convert(content.subarray(utf16.start), utf16Decoder(utf16.bigEndian))
  const text = content.subarray(0, 3).equals(UTF8_MARK) ? content.subarray(3) : content
  if (await holdsUtf8(text)) return text
  await refuseUnlessWindows1252(text)
  return convert(text, decodeWindows1252)
}
const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf])

export async function* inPieces(content: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < content.length; from += PIECE) {
    yield content.subarray(from, from + PIECE)
    await nextTurn()
  }
}

async function convert(content: Buffer, decode: (piece: Buffer) => string) {
  const converted: Buffer[] = []
  for await (const piece of inPieces(content)) converted.push(Buffer.from(decode(piece)))
  return Buffer.concat(converted)
}

/** Latin text in UTF-16 has a zero in every second byte, and hardly any in between. */
function utf16Of(content: Buffer): { bigEndian: boolean; start: number } | undefined {
  const mark = content.subarray(0, 2).toString('hex')
  if (mark === 'fffe' || mark === 'feff') return { bigEndian: mark === 'feff', start: 2 }
  const sample = content.subarray(0, SAMPLE)
  const zeros = [0, 0] as [even: number, odd: number]
  for (const [at, byte] of sample.entries()) if (byte === 0) zeros[at % 2 === 0 ? 0 : 1]++
  const [even, odd] = zeros
  if (Math.max(even, odd) * 4 < sample.length || Math.min(even, odd) * 10 > Math.max(even, odd)) return undefined
  return { bigEndian: even > odd, start: 0 }
}

/** Keeps half a surrogate pair at the end of a piece for the next one. */
function utf16Decoder(bigEndian: boolean) {
  const decoder = new StringDecoder('utf16le')
  return (piece: Buffer) => decoder.write(bigEndian ? Buffer.from(piece.subarray(0, piece.length & ~1)).swap16() : piece)
}

/** Checks piece by piece, cut where a character starts. */
async function holdsUtf8(content: Buffer) {
  let from = 0
  for await (const { length } of inPieces(content)) {
    let to = from + length
    if (to > content.length - 4) to = content.length
    else while (isContinuation(content[to]) && to > from) to--
    if (!isUtf8(content.subarray(from, to))) return false
    from = to
  }
  return true
}

const isContinuation = (byte = 0) => (byte & 0xc0) === 0x80

const UTF8_SEQUENCE = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g
const NOT_ASCII = /[\x80-\xff]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: they tell binary from text
const BINARY = /[\x00-\x08\x0e-\x1a\x1c-\x1f]/

/** Every byte is a character in windows-1252, so binary and damaged UTF-8 would be imported as nonsense. */
async function refuseUnlessWindows1252(content: Buffer) {
  let sequences = 0
  let others = 0
  for await (const piece of inPieces(content)) {
    const bytes = piece.toString('latin1')
    if (BINARY.test(bytes)) throw new CsvUnreadable('The file is not CSV: it is not text.')
    const rest = bytes.replace(UTF8_SEQUENCE, '')
    sequences += (bytes.length - rest.length) / 2
    others += rest.match(NOT_ASCII)?.length ?? 0
  }
  if (sequences > others) throw new CsvUnreadable('The file is UTF-8 with damaged characters. Save it again as CSV UTF-8.')
}
