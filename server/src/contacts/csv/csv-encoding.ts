import { isUtf8 } from 'node:buffer'
import { StringDecoder } from 'node:string_decoder'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { KB } from '../../lib/text/units.ts'
import { decodeWindows1252 } from '../../lib/text/windows-1252.ts'
import { CsvUnreadable } from './csv-records.ts'
import { explainOtherFormat } from './other-formats.ts'

/** Bytes processed before yielding to the event loop, so that a large upload does not delay other requests. */
export const PIECE = 64 * KB
/** Bytes examined to detect UTF-16 without a byte order mark. */
const SAMPLE = 512

/** Converts the file to UTF-8 without a byte order mark, so that a byte offset identifies a row. */
export async function toUtf8(content: Buffer): Promise<Buffer> {
  const otherFormat = explainOtherFormat(content)
  if (otherFormat) throw new CsvUnreadable(otherFormat)
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

/** In UTF-16, Latin text has a zero in every second byte and hardly any zeros elsewhere. */
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

/** Carries an incomplete surrogate pair over to the next piece. */
function utf16Decoder(bigEndian: boolean) {
  const decoder = new StringDecoder('utf16le')
  return (piece: Buffer) => decoder.write(bigEndian ? Buffer.from(piece.subarray(0, piece.length & ~1)).swap16() : piece)
}

/** Checks piece by piece; each piece ends at a character boundary. */
async function holdsUtf8(content: Buffer) {
  let from = 0
  for await (const { length } of inPieces(content)) {
    let to = from + length
    if (to > content.length - 4) to = content.length
    else while (isContinuation(content[to]) && to > from) to--
    if (!isUtf8(content.subarray(from, to))) return false
    from = to
  }
  // A boundary may lie a few bytes before the end of its piece, so a remainder is possible.
  return isUtf8(content.subarray(from))
}

const isContinuation = (byte = 0) => (byte & 0xc0) === 0x80

const UTF8_SEQUENCE = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g
const NOT_ASCII = /[\x80-\xff]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters distinguish binary from text
const BINARY = /[\x00-\x08\x0e-\x1a\x1c-\x1f]/

const LETTERS = /[\xc0-\xff]/g
/** Words in Cyrillic, Greek, Hebrew or Arabic. Latin text hardly ever has three accented letters in a row. */
const LETTER_RUNS = /[\xc0-\xff]{3,}/g
/**
 * Bytes in positions that are implausible in windows-1252: a symbol or unassigned byte inside a word, a capital after a small letter or
 * between a capital and a small one, š or ž between consonants. These are accented letters in Mac OS Roman, or Polish in windows-1250.
 * Excludes bytes that do occur between letters: the euro sign, quotes, dashes, the ellipsis, ™ and œ.
 */
const MISPLACED = new RegExp(
  [
    '[\\x81\\x8d\\x8f\\x90\\x9d]',
    '(?<=[A-Za-z])[\\x82\\x83\\x86-\\x89\\x8b\\x98\\x9b\\xa3\\xa5\\xaf\\xb3\\xb9\\xbc\\xbe\\xbf](?=[A-Za-z])',
    '(?<=[a-z])[\\x8a\\x8c\\x8e\\x9f]|(?<=[A-Z])[\\x8a\\x8c\\x8e\\x9f](?=[a-z])',
    '(?<=[B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z])[\\x9a\\x9e](?=[b-df-hj-np-tv-z])',
  ].join('|'),
  'g',
)
/** More than one misplaced byte per this many letters is not a typo. */
const LETTERS_PER_MISPLACED = 4

const countOf = (bytes: string, pattern: RegExp) => bytes.match(pattern)?.length ?? 0

/** Every byte is a character in windows-1252, so binary, damaged UTF-8 and other encodings would be imported as garbage. */
async function refuseUnlessWindows1252(content: Buffer) {
  let sequences = 0
  let others = 0
  let letters = 0
  let inRuns = 0
  let misplaced = 0
  for await (const piece of inPieces(content)) {
    const bytes = piece.toString('latin1')
    if (BINARY.test(bytes)) throw new CsvUnreadable('The file is not CSV: it is not text.')
    const rest = bytes.replace(UTF8_SEQUENCE, '')
    sequences += (bytes.length - rest.length) / 2
    others += countOf(rest, NOT_ASCII)
    letters += countOf(bytes, LETTERS)
    inRuns += bytes.match(LETTER_RUNS)?.join('').length ?? 0
    misplaced += countOf(bytes, MISPLACED)
  }
  if (sequences > others) throw new CsvUnreadable('The file is UTF-8 with damaged characters. Save it again as CSV UTF-8.')
  if (inRuns * 2 > letters || misplaced * LETTERS_PER_MISPLACED > letters)
    throw new CsvUnreadable('The file is neither UTF-8 nor windows-1252. Save it as CSV UTF-8.')
}
