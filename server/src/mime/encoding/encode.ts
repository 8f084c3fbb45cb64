import type { Steps } from '../../lib/text/steps.ts'
import { quotedPrintable } from './quoted-printable.ts'

/** Encodes text for MIME: encoded words in headers, quoted-printable in bodies. The result is ASCII. */

const CRLF = '\r\n'
const MAX_LINE = 76
/** RFC 5322 limit: longer lines may be cut. */
const LONGEST_LINE = 998
/** Longest line sent without encoding: servers on the way have no reason to break it. */
export const LONGEST_PLAIN = 900

// Headers --------------------------------------------------------------------------------------------------------------

const isAscii = (text: string) => /^[\x20-\x7e]*$/.test(text)

/** Prevents header injection. A last check: line breaks are refused when a request is validated. */
const refuseBreaks = (text: string) => {
  if (/[\r\n\0]/.test(text)) throw new Error('a line break in a header')
  return text
}

/** Human-readable text as one line, without invisible characters. */
const oneLine = (text: string) =>
  text
    .replace(/[\r\n]+/g, ' ')
    // Byte order mark: some mail programs drop it, some show it.
    .replaceAll('\ufeff', '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to remove
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '')

/** Structured headers: mostly addresses, message ids or URIs in `<…>`, where white space is insignificant and encoded words are not allowed. */
const STRUCTURED = /^(reply-to|references|in-reply-to|list-.*|errors-to|disposition-notification-to|return-receipt-to|feedback-id)$/i

/** A folded header. The value is human-readable text, such as a subject, or a custom header. */
export function header(name: string, value: string) {
  return fold(`${refuseBreaks(name)}: ${encodeValue(name, oneLine(value))}`)
}

function encodeValue(name: string, text: string) {
  if (STRUCTURED.test(name)) {
    const encoded = encodeStructured(text, /^list-/i.test(name))
    if (encoded.split(' ').every((word) => word.length < LONGEST_LINE)) return encoded
  }
  return encodeText(text, LONGEST_LINE - name.length - 2)
}

/** A folded header whose value is written unchanged: our own, or built from validated parts. */
export const plainHeader = (name: string, value: string) => fold(refuseBreaks(`${name}: ${value}`))

/** Breaks before spaces, so that unfolding restores the same text. */
function fold(line: string) {
  if (line.length <= MAX_LINE) return line + CRLF
  let folded = ''
  let length = 0
  for (const [index, word] of line.split(' ').entries()) {
    // Directly after the name only if unavoidable: some mail programs take such a header for an empty one.
    const mayBreak = index > 1 || (index === 1 && (word.startsWith('=?') || length + 1 + word.length > LONGEST_LINE))
    const breaks = mayBreak && length + 1 + word.length > MAX_LINE
    folded += index === 0 ? word : `${breaks ? CRLF : ''} ${word}`
    length = breaks ? word.length + 1 : length + word.length + 1
  }
  return folded + CRLF
}

/** False for double, leading or trailing spaces, which do not survive folding. */
const isEvenlySpaced = (text: string) => !/^ | {2}| $/.test(text)

function looksEncoded(text: string) {
  const from = text.indexOf('=?')
  return from >= 0 && text.indexOf('?=', from + 2) >= 0
}

/** Encodes only the words that need it, so that addresses and links in a header stay readable. */
function encodeText(text: string, room: number) {
  if (!isEvenlySpaced(text)) return encodeWords(text)
  const lookAlike = looksEncoded(text)
  const isHard = (word: string) => !isAscii(word) || word.length > room || (lookAlike && word.includes('=?'))
  const out: string[] = []
  let hard: string[] = []
  const flush = () => {
    if (hard.length) out.push(encodeWords(hard.join(' ')))
    hard = []
  }
  for (const word of text.split(' ')) {
    if (isHard(word)) hard.push(word)
    else {
      flush()
      out.push(word)
    }
  }
  flush()
  return out.join(' ')
}

/** Each `<…>`, each quoted string, and the texts between them. A `<` or quote without an end is a text of its own. */
export function structuredTokens(text: string, steps: Steps = { count: 0 }): string[] {
  const tokens: string[] = []
  let hasClosingQuotes = true
  for (let at = 0; at < text.length; ) {
    let end = at + 1
    const opening = text[at]!
    if (opening === '<') end = endOfBrackets(text, at, steps)
    else if (opening === '"' && hasClosingQuotes) {
      end = endOfQuoted(text, at, steps)
      // After an unclosed quote no other one is closed either.
      hasClosingQuotes = end > at + 1
    } else if (opening !== '"') while (end < text.length && text[end] !== '<' && text[end] !== '"') end++
    steps.count += end - at
    tokens.push(text.slice(at, end))
    at = end
  }
  return tokens
}

function endOfBrackets(text: string, start: number, steps: Steps) {
  for (let at = start + 1; at < text.length && text[at] !== '<'; at++) {
    steps.count++
    if (text[at] === '>') return at + 1
  }
  return start + 1
}

function endOfQuoted(text: string, start: number, steps: Steps) {
  for (let at = start + 1; at < text.length; at++) {
    steps.count++
    if (text[at] === '"') return at + 1
    if (text[at] === '\\') at++
  }
  return start + 1
}

/** Collapses white space and encodes display names; never anything in `<…>`. */
function encodeStructured(text: string, holdsUris: boolean) {
  const tokens = structuredTokens(text.replace(/[ \t]+/g, ' ').trim())
  return tokens.map((token) => (token.startsWith('<') ? inBrackets(token, holdsUris) : encodeName(token))).join('')
}

/** Non-ASCII URIs are percent-encoded. Addresses have no ASCII form and stay unchanged, for servers with SMTPUTF8. */
const inBrackets = (token: string, isUri: boolean) =>
  isUri ? token.replace(/[^\x21-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed())) : token

/** Encoded words are not allowed in quoted strings, so the text is encoded without quotes. */
function encodeName(token: string) {
  if (token.length > 1 && token.startsWith('"') && !isAscii(token)) return encodeWords(token.slice(1, -1).replace(/\\(.)/gs, '$1'))
  let [start, end] = [0, token.length]
  while (start < end && SEPARATORS.has(token[start]!)) start++
  while (end > start && SEPARATORS.has(token[end - 1]!)) end--
  return token.slice(0, start) + encodeText(token.slice(start, end), LONGEST_LINE - 1) + token.slice(end)
}

/** Between addresses and in front of them; they stay outside of encoded words. */
const SEPARATORS = new Set([' ', ',', ';'])

/** Gives 52 characters of base64 and 12 around them: fits behind "Subject:" in a line of 76. */
const BYTES_PER_WORD = 39

/** Splits text into encoded words, never within a character. */
function encodeWords(text: string) {
  const words: string[] = []
  let from = 0
  let at = 0
  let size = 0
  for (const character of text) {
    const bytes = Buffer.byteLength(character)
    if (size + bytes > BYTES_PER_WORD) {
      words.push(text.slice(from, at))
      from = at
      size = 0
    }
    at += character.length
    size += bytes
  }
  words.push(text.slice(from))
  return words.map((word) => `=?UTF-8?B?${Buffer.from(word).toString('base64')}?=`).join(' ')
}

/** An address with its display name, quoted or encoded so that a name with a comma or an address in it is not parsed as an address. */
export function mailbox({ name, address }: { name?: string | null; address: string }) {
  const clean = oneLine(name ?? '').trim()
  if (!clean) return address
  if (!isAscii(clean) || !isEvenlySpaced(clean) || looksEncoded(clean) || clean.length > 300) return `${encodeWords(clean)} <${address}>`
  return `${/^[\w !#$%&'*+/=?^`{|}~-]+$/.test(clean) ? clean : quote(clean)} <${address}>`
}

const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`

const canStandInQuotes = (text: string) => isAscii(text) && isEvenlySpaced(text) && !looksEncoded(text) && text.length <= 300

/** Never empty: some mail programs read an empty name as none, and a file without a name cannot be saved. */
const cleanFilename = (given: string) => oneLine(given) || 'unnamed'

/**
 * The `filename` parameter of Content-Disposition (RFC 2231). Without a plain `filename` as fallback: some parsers, such as Python's, prefer
 * it and show a name full of underscores.
 */
export function filenameParameter(given: string) {
  const name = cleanFilename(given)
  if (canStandInQuotes(name)) return `filename=${quote(name)}`
  const pieces = percentEncoded(`UTF-8''`, name)
  return pieces.map((piece, index) => `filename*${pieces.length > 1 ? `${index}*` : ''}=${piece}`).join('; ')
}

/** The `name` parameter of Content-Type as encoded words, as mail programs write it: for those without RFC 2231. */
export function nameParameter(given: string) {
  const name = cleanFilename(given)
  return `name=${canStandInQuotes(name) ? quote(name) : `"${encodeWords(name)}"`}`
}

/** Space for the value between `filename*12*=` and the end of the line. */
const BYTES_PER_PIECE = 60

/** Splits between characters only: some mail programs decode each piece separately. */
function percentEncoded(charset: string, text: string) {
  const pieces = [charset]
  for (const character of text) {
    const encoded = /[\w.-]/.test(character) ? character : [...Buffer.from(character)].map(percent).join('')
    if (pieces.at(-1)!.length + encoded.length > BYTES_PER_PIECE) pieces.push('')
    pieces[pieces.length - 1] += encoded
  }
  return pieces
}

const percent = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`

// Bodies ---------------------------------------------------------------------------------------------------------------

export const base64Lines = ({ buffer, byteOffset, length }: Uint8Array) =>
  Buffer.from(buffer, byteOffset, length)
    .toString('base64')
    .replace(/.{76}(?=.)/g, `$&${CRLF}`) + CRLF

/** Prefix of all boundaries. It cannot occur in quoted-printable, where `=` is `=3D`. */
export const BOUNDARY = '=_'

/** Encodes the text of a part and names the encoding. */
export function encodeBody(given: string): { encoding: '7bit' | 'quoted-printable'; body: string } {
  // True for most bodies, and the test is cheaper than the normalisation that others need.
  const simple = /^[\x20-\x7e\t\n]*$/.test(given)
  const text = simple ? given.replaceAll('\n', CRLF) : normaliseLines(given)
  return isPlain(text, simple) ? { encoding: '7bit', body: text } : { encoding: 'quoted-printable', body: quotedPrintable(text) }
}

/** CRLF line breaks, no other control characters, no byte order mark. */
export const normaliseLines = (text: string) =>
  text
    .replace(/\r\n?|\n/g, CRLF)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to remove
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '')
    .replace(/^\ufeff+/, '')

/** ASCII that servers on the way have no reason to change: no long line, no space at the end of a line, no dot at its beginning. */
function isPlain(text: string, isKnownAscii: boolean) {
  if (!isKnownAscii && /[^\x20-\x7e\t\r\n]/.test(text)) return false
  if (text.includes(`--${BOUNDARY}`)) return false
  for (let from = 0; from < text.length; ) {
    const found = text.indexOf(CRLF, from)
    const end = found < 0 ? text.length : found
    if (end - from > LONGEST_PLAIN || text[from] === '.' || text[end - 1] === ' ' || text[end - 1] === '\t') return false
    from = end + CRLF.length
  }
  return true
}
