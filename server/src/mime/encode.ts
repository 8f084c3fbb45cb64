/** How text travels in a mail: encoded words in headers, quoted-printable in bodies. Everything here is ASCII afterwards. */

const CRLF = '\r\n'
const MAX_LINE = 76
/** What a receiver must take; a line beyond it may be cut. */
const LONGEST_LINE = 998
/** What nobody on the way may feel like breaking. */
const LONGEST_PLAIN = 900

// Headers --------------------------------------------------------------------------------------------------------------

const isAscii = (text: string) => /^[\x20-\x7e]*$/.test(text)

/** A name or a value that would begin a line of its own. Nobody may get here with one: they are refused when they are accepted. */
const refuseBreaks = (text: string) => {
  if (/[\r\n\0]/.test(text)) throw new Error('a line break in a header')
  return text
}

/** Text for people as one line, without what nobody can see. */
const oneLine = (text: string) =>
  text
    .replace(/[\r\n]+/g, ' ')
    // The mark of a byte order: some readers drop it, some show it.
    .replaceAll('\ufeff', '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to remove
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '')

/** Headers with a grammar, most of them addresses, message ids or URIs in `<…>`, where blanks mean nothing and encoded words have no place. */
const STRUCTURED = /^(reply-to|references|in-reply-to|list-.*|errors-to|disposition-notification-to|return-receipt-to|feedback-id)$/i

/** A header, folded. The value is text for people, such as a subject, or anything a customer gave. */
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

/** A header whose value is written as it is: ours, or made of what was checked. */
export const plainHeader = (name: string, value: string) => fold(refuseBreaks(`${name}: ${value}`))

/** Breaks before a space, so that joining the lines again gives the same text. */
function fold(line: string) {
  if (line.length <= MAX_LINE) return line + CRLF
  let folded = ''
  let length = 0
  for (const [index, word] of line.split(' ').entries()) {
    // After the name only where nothing else helps: some readers take such a header for an empty one.
    const mayBreak = index > 1 || (index === 1 && (word.startsWith('=?') || length + 1 + word.length > LONGEST_LINE))
    const breaks = mayBreak && length + 1 + word.length > MAX_LINE
    folded += index === 0 ? word : `${breaks ? CRLF : ''} ${word}`
    length = breaks ? word.length + 1 : length + word.length + 1
  }
  return folded + CRLF
}

/** Two spaces, or one at an end, would not survive folding. */
const isEvenlySpaced = (text: string) => !/^ | {2}| $/.test(text)

function looksEncoded(text: string) {
  const from = text.indexOf('=?')
  return from >= 0 && text.indexOf('?=', from + 2) >= 0
}

/** Encodes the words that need it and leaves the others alone, so that an address or a link in a header stays one. */
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

/** One `<…>`, one quoted string, or the text between them. */
const TOKENS = /<[^<>]*>|"(?:[^"\\]|\\.)*"|[^<"]+|./gs

/** Collapses blanks and encodes names that need it; never anything in `<…>`. */
function encodeStructured(text: string, holdsUris: boolean) {
  const tokens =
    text
      .replace(/[ \t]+/g, ' ')
      .trim()
      .match(TOKENS) ?? []
  return tokens.map((token) => (token.startsWith('<') ? inBrackets(token, holdsUris) : encodeName(token))).join('')
}

/** A URI beyond ASCII has a form in ASCII. An address has none and stays as it is, for servers that take it. */
const inBrackets = (token: string, isUri: boolean) =>
  isUri ? token.replace(/[^\x21-\x7e]+/g, (part) => encodeURIComponent(part.toWellFormed())) : token

/** A quoted string must not hold an encoded word, so its text is encoded without the quotes. */
function encodeName(token: string) {
  if (token.startsWith('"') && !isAscii(token)) return encodeWords(token.slice(1, -1).replace(/\\(.)/gs, '$1'))
  const [, before, name, after] = /^([ ,;]*)(.*?)([ ,;]*)$/s.exec(token)!
  return before + encodeText(name!, LONGEST_LINE - 1) + after
}

/** 52 characters of base64 and 12 around them: short enough to stand behind "Subject:" in a line of 76. */
const BYTES_PER_WORD = 39

/** As many encoded words as it takes; never through the middle of a character. */
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

/** A mailbox with its name. A name that looks like an address, or has a comma, must not be read as one. */
export function mailbox({ name, address }: { name?: string | null; address: string }) {
  const clean = oneLine(name ?? '').trim()
  if (!clean) return address
  if (!isAscii(clean) || !isEvenlySpaced(clean) || looksEncoded(clean) || clean.length > 300) return `${encodeWords(clean)} <${address}>`
  return `${/^[\w !#$%&'*+/=?^`{|}~-]+$/.test(clean) ? clean : quote(clean)} <${address}>`
}

const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`

const canStandInQuotes = (text: string) => isAscii(text) && isEvenlySpaced(text) && !looksEncoded(text) && text.length <= 300

/** An empty name is read as none by some programs, and a file without a name cannot be saved. */
const nameOfFile = (given: string) => oneLine(given) || 'unnamed'

/**
 * The `filename` of Content-Disposition (RFC 2231). There is no plain `filename` beside the encoded one: some parsers, such as Python's,
 * take that and show a name full of underscores.
 */
export function filenameParameter(given: string) {
  const name = nameOfFile(given)
  if (canStandInQuotes(name)) return `filename=${quote(name)}`
  const pieces = percentEncoded(`UTF-8''`, name)
  return pieces.map((piece, index) => `filename*${pieces.length > 1 ? `${index}*` : ''}=${piece}`).join('; ')
}

/** The `name` of Content-Type as encoded words: for programs that know no RFC 2231. It is what mail programs write themselves. */
export function nameParameter(given: string) {
  const name = nameOfFile(given)
  return `name=${canStandInQuotes(name) ? quote(name) : `"${encodeWords(name)}"`}`
}

/** Room for the value between `filename*12*=` and the end of the line. */
const BYTES_PER_PIECE = 60

/** In pieces that each hold whole characters: some programs decode each piece by itself. */
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

/** What every boundary of ours begins with. In quoted-printable it cannot stand: there `=` is `=3D`. */
export const BOUNDARY = '=_'

/** Text as the body of a part, with the name of its encoding. */
export function encodeBody(given: string): { encoding: '7bit' | 'quoted-printable'; body: string } {
  // Most bodies are like this, and one look at them is cheaper than all that the others need.
  const simple = /^[\x20-\x7e\t\n]*$/.test(given)
  const text = simple ? given.replaceAll('\n', CRLF) : normaliseLines(given)
  return isPlain(text, simple) ? { encoding: '7bit', body: text } : { encoding: 'quoted-printable', body: quotedPrintable(text) }
}

/** Line breaks as mail has them, whatever they were; no other control characters. */
const normaliseLines = (text: string) =>
  text
    .replace(/\r\n?|\n/g, CRLF)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to remove
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '')
    .replace(/^\ufeff+/, '')

/** ASCII in lines that nobody on the way has a reason to touch: not long, no space at the end, no dot at the beginning. */
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

const [TAB, LF, CR, SPACE, DOT, EQUALS] = [0x09, 0x0a, 0x0d, 0x20, 0x2e, 0x3d]
const HEX = Buffer.from('0123456789ABCDEF')

/** Quoted-printable, for text with CRLF line breaks. Byte by byte into one buffer: five times as fast as building a string. */
function quotedPrintable(text: string) {
  const bytes = Buffer.from(text)
  // Three for each byte, and a soft break for every 73 of those.
  const out = Buffer.allocUnsafe(Math.ceil(bytes.length * 3 * (1 + 3 / 73)) + 3)
  let at = 0
  let column = 0
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]!
    if (byte === CR && bytes[index + 1] === LF) {
      out[at++] = CR
      out[at++] = LF
      column = 0
      index++
      continue
    }
    const endsLine = index + 1 === bytes.length || (bytes[index + 1] === CR && bytes[index + 2] === LF)
    const isBlank = byte === SPACE || byte === TAB
    let asItIs = isBlank ? !endsLine : byte > SPACE && byte < 0x7f && byte !== EQUALS
    if (column + (asItIs ? 1 : 3) > (endsLine ? MAX_LINE : MAX_LINE - 1)) {
      // A space before a soft break is followed by "=", so it is kept.
      out[at++] = EQUALS
      out[at++] = CR
      out[at++] = LF
      column = 0
    }
    // A line that begins with a dot is one that every server on the way has to mask.
    if (byte === DOT && column === 0) asItIs = false
    if (asItIs) {
      out[at++] = byte
      column++
    } else {
      out[at++] = EQUALS
      out[at++] = HEX[byte >> 4]!
      out[at++] = HEX[byte & 15]!
      column += 3
    }
  }
  return out.toString('latin1', 0, at)
}
