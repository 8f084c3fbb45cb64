import type { Steps } from '../../lib/text/steps.ts'
import { decodeCharset } from './charset.ts'
import { decodeWords } from './encoded-words.ts'

/** The value of a header such as Content-Type, and its parameters by lower-case name. */
export type Structured = { value: string; parameters: Map<string, string> }

const MAX_PARAMETERS = 100
/** Longest value that is read. */
const MAX_STRUCTURED = 8_192

/** Reads every character once: it never goes back. */
export function readStructured(given: string, steps: Steps = { count: 0 }): Structured {
  const scan = createScanner(given.slice(0, MAX_STRUCTURED), steps)
  const value = scan.until(SEMICOLON).trim().toLowerCase()
  const raw = new Map<string, string>()
  while (!scan.isAtEnd()) {
    scan.next()
    const name = scan.until(SEMICOLON, EQUALS).trim().toLowerCase()
    if (!scan.isAt(EQUALS)) continue
    scan.next()
    const parameter = scan.value()
    scan.until(SEMICOLON)
    if (name && !/[\s"]/.test(name) && !raw.has(name) && raw.size < MAX_PARAMETERS) raw.set(name, parameter)
  }
  return { value, parameters: joinPieces(raw) }
}

const [TAB, SPACE, QUOTE, OPEN, CLOSE, SEMICOLON, EQUALS, BACKSLASH] = [0x09, 0x20, 0x22, 0x28, 0x29, 0x3b, 0x3d, 0x5c]
const isBlank = (code: number) => code === SPACE || (code >= TAB && code <= 0x0d)

/** Passes over comments, which may be nested; one that is not closed reaches to the end. */
function createScanner(text: string, steps: Steps) {
  let at = 0

  function skipComment() {
    let depth = 0
    do {
      steps.count++
      const code = text.charCodeAt(at++)
      if (code === BACKSLASH) at++
      else if (code === OPEN) depth++
      else if (code === CLOSE) depth--
    } while (depth > 0 && at < text.length)
  }

  /** The text without comments up to one of the characters, or to the end. */
  function until(...ends: number[]) {
    let result = ''
    let start = at
    for (; at < text.length; steps.count++) {
      const code = text.charCodeAt(at)
      if (ends.includes(code)) break
      if (code !== OPEN) {
        at++
        continue
      }
      result += text.slice(start, at)
      skipComment()
      start = at
    }
    return result + text.slice(start, at)
  }

  /** Quoted text without quotes and escapes; without a closing quote it reaches to the end. */
  function quoted() {
    let result = ''
    let start = ++at
    for (; at < text.length && text.charCodeAt(at) !== QUOTE; at++) {
      steps.count++
      if (text.charCodeAt(at) !== BACKSLASH) continue
      result += text.slice(start, at)
      start = ++at
    }
    return result + text.slice(start, at++)
  }

  /** Behind an equals sign: quoted text, or a token. */
  function value() {
    for (; isBlank(text.charCodeAt(at)); at++) steps.count++
    if (text.charCodeAt(at) === QUOTE) return quoted()
    const start = at
    for (; at < text.length && !endsToken(text.charCodeAt(at)); at++) steps.count++
    return text.slice(start, at)
  }

  return { until, value, next: () => void at++, isAt: (code: number) => text.charCodeAt(at) === code, isAtEnd: () => at >= text.length }
}

const endsToken = (code: number) => code === SEMICOLON || code === QUOTE || isBlank(code)

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
