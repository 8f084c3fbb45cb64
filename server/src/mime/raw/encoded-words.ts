import type { Steps } from '../../lib/text/steps.ts'
import { decodeCharset, isKnownCharset } from './charset.ts'

/** An encoded word (RFC 2047): `=?charset*language?encoding?text?=`. */
type Word = { end: number; charset: string; isBase64: boolean; text: string }

const MAX_CHARSET = 60
const [QUESTION, EQUALS] = [0x3f, 0x3d]
const isBlank = (code: number) => code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0

/** The word that begins here. Its text ends at the first question mark, so characters belong to the attempts at two words at most. */
function readWord(given: string, start: number, steps: Steps): Word | undefined {
  const charsetEnd = endOfPiece(given, start + 2, start + 2 + MAX_CHARSET + 1, steps)
  const kind = given[charsetEnd + 1]?.toLowerCase()
  if (charsetEnd < 0 || charsetEnd === start + 2 || (kind !== 'q' && kind !== 'b')) return undefined
  if (given.charCodeAt(charsetEnd + 2) !== QUESTION) return undefined
  const textEnd = endOfPiece(given, charsetEnd + 3, given.length, steps)
  if (textEnd < 0 || given.charCodeAt(textEnd + 1) !== EQUALS) return undefined
  const [charset = ''] = given.slice(start + 2, charsetEnd).split('*', 1)
  return { end: textEnd + 2, charset: charset.toLowerCase(), isBase64: kind === 'b', text: given.slice(charsetEnd + 3, textEnd) }
}

/** The next question mark; -1 when blanks or the limit come first. */
function endOfPiece(given: string, from: number, limit: number, steps: Steps) {
  for (let at = from; at < given.length && at <= limit; at++) {
    steps.count++
    const code = given.charCodeAt(at)
    if (code === QUESTION) return at
    if (isBlank(code)) return -1
  }
  return -1
}

/** Decodes encoded words of any charset. A character may be cut between two words of one charset; blanks between words are not part of the text. */
export function decodeWords(given: string, steps: Steps = { count: 0 }): string {
  let decoded = ''
  let from = 0
  for (let at = given.indexOf('=?'); at >= 0; at = given.indexOf('=?', at)) {
    const first = readWord(given, at, steps)
    if (!first) {
      at += 2
      continue
    }
    decoded += given.slice(from, at)
    const words = [first]
    at = first.end
    for (let next: Word | undefined = first; next; ) {
      const start = skipBlanks(given, at, steps)
      next = given.startsWith('=?', start) ? readWord(given, start, steps) : undefined
      if (next) words.push(next)
      at = next?.end ?? at
    }
    decoded += joinWords(words)
    from = at
  }
  return from ? decoded + given.slice(from) : given
}

function skipBlanks(given: string, from: number, steps: Steps) {
  let at = from
  while (isBlank(given.charCodeAt(at))) {
    steps.count++
    at++
  }
  return at
}

function joinWords(words: Word[]) {
  let text = ''
  let charset = ''
  let bytes: Buffer[] = []
  const flush = () => {
    if (bytes.length) text += decodeCharset(Buffer.concat(bytes), charset)
    bytes = []
  }
  for (const word of words) {
    if (word.charset !== charset) flush()
    charset = word.charset
    bytes.push(word.isBase64 ? Buffer.from(word.text, 'base64') : decodeQ(word.text))
  }
  flush()
  return text
}

const decodeQ = (encoded: string) =>
  Buffer.from(
    encoded.replaceAll('_', ' ').replace(/=([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

/** Whether a word has a charset that we cannot decode. Mail programs that can would show another text. */
export function hasUnknownCharset(given: string) {
  const steps = { count: 0 }
  for (let at = given.indexOf('=?'); at >= 0; at = given.indexOf('=?', at + 2)) {
    const word = readWord(given, at, steps)
    if (word && !isKnownCharset(word.charset)) return true
  }
  return false
}
