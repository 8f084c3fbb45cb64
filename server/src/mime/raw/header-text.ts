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
  const value = scan.until(';').trim().toLowerCase()
  const raw = new Map<string, string>()
  while (!scan.isAtEnd()) {
    scan.next()
    const name = scan.until(';=').trim().toLowerCase()
    if (scan.peek() !== '=') continue
    scan.next()
    const parameter = scan.value()
    scan.until(';')
    if (name && !/[\s"]/.test(name) && !raw.has(name) && raw.size < MAX_PARAMETERS) raw.set(name, parameter)
  }
  return { value, parameters: joinPieces(raw) }
}

/** Passes over comments, which may be nested; one that is not closed reaches to the end. */
function createScanner(text: string, steps: Steps) {
  let at = 0

  function skipComment() {
    let depth = 0
    do {
      steps.count++
      const character = text[at++]
      if (character === '\\') at++
      else if (character === '(') depth++
      else if (character === ')') depth--
    } while (depth > 0 && at < text.length)
  }

  /** The text without comments up to one of the characters, or to the end. */
  function until(ends: string) {
    let result = ''
    while (at < text.length && !ends.includes(text[at]!)) {
      steps.count++
      if (text[at] === '(') skipComment()
      else result += text[at++]
    }
    return result
  }

  /** Quoted text without quotes and escapes; without a closing quote it reaches to the end. */
  function quoted() {
    let result = ''
    for (at++; at < text.length && text[at] !== '"'; at++) {
      steps.count++
      if (text[at] === '\\') at++
      result += text[at] ?? ''
    }
    at++
    return result
  }

  /** Behind an equals sign: quoted text, or a token. */
  function value() {
    while (at < text.length && /\s/.test(text[at]!)) {
      steps.count++
      at++
    }
    if (text[at] === '"') return quoted()
    const start = at
    while (at < text.length && !/[\s;"]/.test(text[at]!)) {
      steps.count++
      at++
    }
    return text.slice(start, at)
  }

  return { until, value, next: () => void at++, peek: () => text[at], isAtEnd: () => at >= text.length }
}

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
