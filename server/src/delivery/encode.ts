/** How text travels in a mail: encoded words in headers, quoted-printable in bodies. Everything here is ASCII afterwards. */

const CRLF = '\r\n'
const MAX_LINE = 76
/** What a receiver must take; a line beyond it may be cut. */
const LONGEST_LINE = 998

const isAscii = (text: string) => /^[\x20-\x7e]*$/.test(text)

/** Line breaks as mail has them, whatever they were; no other control characters. */
export const normaliseLines = (text: string) =>
  text
    .replace(/\r\n|\r|\n/g, CRLF)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to remove
    .replace(/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]/g, '')

/** A header, folded. The value is text for people: a subject, a name, anything a customer gave. */
export function header(name: string, value: string) {
  const clean = value.replace(/[\r\n]+/g, ' ')
  const fits = isAscii(clean) && !clean.includes('=?') && clean.split(' ').every((word) => word.length <= LONGEST_LINE - 100)
  return fold(`${name}: ${fits ? clean : encodeWords(clean)}`)
}

/** A header whose value is written as it is: ours, with nothing from outside in it. */
export const plainHeader = (name: string, value: string) => fold(`${name}: ${value}`)

/** Breaks before a space, so that joining the lines again gives the same text. */
function fold(line: string) {
  if (line.length <= MAX_LINE) return line + CRLF
  let folded = ''
  let length = 0
  for (const [index, word] of line.split(' ').entries()) {
    // Not right after the name: a line with nothing but white space before it is not allowed.
    const breaks = index > 1 && length + 1 + word.length > MAX_LINE
    folded += index === 0 ? word : `${breaks ? CRLF : ''} ${word}`
    length = breaks ? word.length + 1 : length + word.length + 1
  }
  return folded + CRLF
}

/** As many encoded words of at most 75 characters as it takes; never through the middle of a character. */
function encodeWords(text: string) {
  const words: string[] = []
  let bytes: Buffer[] = []
  let size = 0
  const flush = () => {
    if (size) words.push(`=?UTF-8?B?${Buffer.concat(bytes).toString('base64')}?=`)
    bytes = []
    size = 0
  }
  for (const character of text) {
    const encoded = Buffer.from(character)
    // 45 bytes are 60 characters of base64, and 12 around them.
    if (size + encoded.length > 45) flush()
    bytes.push(encoded)
    size += encoded.length
  }
  flush()
  return words.join(' ')
}

/** A mailbox with its name. A name that looks like an address, or has a comma, must not be read as one. */
export function mailbox({ name, address }: { name?: string | null; address: string }) {
  const clean = name?.replace(/[\r\n]+/g, ' ').trim()
  if (!clean) return address
  if (!isAscii(clean)) return `${encodeWords(clean)} <${address}>`
  return `${/^[\w !#$%&'*+/=?^`{|}~-]+$/.test(clean) && !clean.includes('=?') ? clean : quote(clean)} <${address}>`
}

const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`

/** The name of a file, for those who know RFC 2231 and for those who do not. */
export function parameter(name: string, value: string) {
  if (isAscii(value)) return `${name}=${quote(value)}`
  const plain = value.replace(/[^\x20-\x7e]|["\\]/g, '_')
  const encoded = encodeURIComponent(value).replace(/['()*!~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
  return `${name}="${plain}"; ${name}*=UTF-8''${encoded}`
}

export const base64Lines = (bytes: Buffer) => bytes.toString('base64').replace(/.{76}/g, `$&${CRLF}`) + CRLF

const HEX = Array.from({ length: 256 }, (_, byte) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`)

/** Text that needs nothing: ASCII in short lines. Three questions: one for all of them takes more stack than there is. */
export const isPlain = (text: string) => !/[^\x20-\x7e\t\r\n]/.test(text) && !/[^\r\n]{901}/.test(text) && !/[ \t](\r\n|$)/.test(text)

/** Quoted-printable, for text with CRLF line breaks. */
export function quotedPrintable(text: string) {
  const lines = text.split(CRLF)
  let out = ''
  for (let index = 0; index < lines.length; index++) out += encodeLine(lines[index]!) + (index < lines.length - 1 ? CRLF : '')
  return out
}

function encodeLine(line: string) {
  if (line.length <= MAX_LINE && /^[\x21-\x3c\x3e-\x7e]?(?:[\x20-\x3c\x3e-\x7e\t]*[\x21-\x3c\x3e-\x7e])?$/.test(line)) return line
  const bytes = Buffer.from(line)
  let out = ''
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    const space = byte === 0x20 || byte === 0x09
    const last = at === bytes.length - 1
    const piece = (byte > 0x20 && byte < 0x7f && byte !== 0x3d) || (space && !last) ? String.fromCharCode(byte) : HEX[byte]!
    if (length + piece.length > MAX_LINE - 1) {
      // A space before a soft break is followed by "=", so it is kept.
      out += `=${CRLF}`
      length = 0
    }
    out += piece
    length += piece.length
  }
  return out
}
