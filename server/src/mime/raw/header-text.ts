import { decodeCharset } from './charset.ts'

const WORD = /=\?([^?\s*]{1,60})(?:\*[^?\s]*)?\?([qb])\?([^?\s]*)\?=/gi
/** Encoded words with nothing but space between them: that space is not part of the text. */
const WORDS = /=\?[^?\s]{1,60}\?[qb]\?[^?\s]*\?=(?:\s+(?==\?[^?\s]{1,60}\?[qb]\?[^?\s]*\?=)|=\?[^?\s]{1,60}\?[qb]\?[^?\s]*\?=)*/gi

/** Decodes encoded words (RFC 2047) of any charset. A character may be cut between two words of one charset. */
export const decodeWords = (text: string) =>
  text.includes('=?') ? text.replace(WORDS, (words) => joinWords([...words.matchAll(WORD)])) : text

function joinWords(words: RegExpExecArray[]) {
  let text = ''
  let charset = ''
  let bytes: Buffer[] = []
  const flush = () => {
    if (bytes.length) text += decodeCharset(Buffer.concat(bytes), charset)
    bytes = []
  }
  for (const [, given = '', kind = '', encoded = ''] of words) {
    if (given.toLowerCase() !== charset) flush()
    charset = given.toLowerCase()
    bytes.push(kind.toLowerCase() === 'b' ? Buffer.from(encoded, 'base64') : decodeQ(encoded))
  }
  flush()
  return text
}

const decodeQ = (encoded: string) =>
  Buffer.from(
    encoded.replaceAll('_', ' ').replace(/=([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

/** The value of a header such as Content-Type, and its parameters by lower-case name. */
export type Structured = { value: string; parameters: Map<string, string> }

const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;"]*)/g

export function readStructured(given: string): Structured {
  const text = given.slice(0, MAX_STRUCTURED)
  const semicolon = text.indexOf(';')
  const value = (semicolon < 0 ? text : text.slice(0, semicolon))
    .replace(/\(.*\)/g, '')
    .trim()
    .toLowerCase()
  const raw = new Map<string, string>()
  for (const [, name = '', quoted = ''] of text.slice(Math.max(0, semicolon)).matchAll(PARAMETER)) {
    const key = name.toLowerCase()
    if (!raw.has(key) && raw.size < MAX_PARAMETERS) raw.set(key, unquoted(quoted))
  }
  return { value, parameters: joinPieces(raw) }
}

const MAX_PARAMETERS = 100
/** Longest value that is read: an unclosed quote makes the search quadratic. */
const MAX_STRUCTURED = 8_192

const unquoted = (text: string) => (text.startsWith('"') ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text)

/** Joins parameters in pieces, and decodes those of RFC 2231: `filename*0*=utf-8''a%20; filename*1=b`. */
function joinPieces(raw: Map<string, string>) {
  const parameters = new Map<string, string>()
  for (const [key, value] of raw) {
    const [, name = key, number, isEncoded] = /^([^*]+)(?:\*(\d+))?(\*)?$/.exec(key) ?? []
    if (number === undefined && !isEncoded) parameters.set(name, parameters.get(name) ?? decodeWords(value))
    else if (number === undefined || number === '0') parameters.set(name, joinFrom(raw, name, number !== undefined))
  }
  return parameters
}

function joinFrom(raw: Map<string, string>, name: string, isSplit: boolean) {
  const pieces: string[] = []
  let charset: string | undefined
  for (let n = 0; n < MAX_PARAMETERS; n++) {
    const key = isSplit ? `${name}*${n}` : name
    const plain = isSplit ? raw.get(key) : undefined
    const encoded = raw.get(`${key}*`)
    if (plain === undefined && encoded === undefined) break
    const [, given, rest = encoded ?? ''] = (n === 0 && /^([^']*)'[^']*'(.*)$/s.exec(encoded ?? '')) || []
    if (encoded !== undefined) charset ??= given ?? ''
    pieces.push(encoded === undefined ? plain! : percentDecoded(rest))
    if (!isSplit) break
  }
  const joined = pieces.join('')
  return charset === undefined ? decodeWords(joined) : decodeCharset(Buffer.from(joined, 'latin1'), charset)
}

/** One character per byte. */
const percentDecoded = (text: string) => text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
