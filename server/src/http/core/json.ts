import { isUtf8 } from 'node:buffer'
import { type FieldCode, type FieldIssue, fail } from '../../lib/errors/errors.ts'
import { fieldOf } from './field.ts'

/** A condition of ten levels has 33 in a body of its own, and more inside others. */
const MAX_DEPTH = 40
/** Values in a body, counted before it is parsed: 40 MB of `0,0,0…` would take seconds, and no endpoint needs as many. */
const MAX_VALUES = 100_000
const MAX_ISSUES = 10
/** Digits from which a number may be inexact. */
const LONG = 16
const LONE_SURROGATE = /\p{Surrogate}/u
const BYTE_ORDER_MARK = 0xfeff

/** Parsed bodies that may contain a value that cannot be stored. The text of most bodies rules that out, so they need no second pass. */
const suspects = new WeakSet<object>()

/** Parses a JSON body of bounded depth and number of values. Known fields must then pass `refuseUnstorable`. */
export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) malformed('The body is not valid UTF-8.')
  const text = withoutMark(bytes.toString('utf8'))
  const hasOddNumbers = scan(text)
  const value = parse(text)
  const isSuspect = hasOddNumbers || text.includes('\\u') || text.includes('__proto__')
  if (isSuspect && typeof value === 'object' && value !== null) suspects.add(value)
  return value
}

/** RFC 8259 allows a parser to ignore it, and .NET clients send it. */
const withoutMark = (text: string) => (text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text)

/** For bodies without a schema: all of it must be storable. */
export function readStorableJson(bytes: Buffer): unknown {
  const value = readJson(bytes)
  const errors: FieldIssue[] = []
  if (isSuspect(value)) findUnstorable(value, [], errors)
  if (errors.length) fail('VALIDATION_ERROR', { errors })
  return value
}

export const isSuspect = (value: unknown) => typeof value === 'object' && value !== null && suspects.has(value)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (err) {
    return malformed(`The body is not valid JSON: ${(err as Error).message.slice(0, 200)}`)
  }
}

export const malformed = (message: string): never => fail('VALIDATION_ERROR', { statusCode: 400, message })

/**
 * Checks depth and number of values before parsing, as JSON.parse does not limit them. Skips strings. True when there is a number with an
 * exponent, or with enough digits to be too large.
 */
function scan(text: string) {
  let depth = 0
  let digits = 0
  let values = 1
  let odd = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char >= 0x30 && char <= 0x39) {
      if (++digits >= LONG) odd = true
      continue
    }
    if (digits && (char | 0x20) === 0x65) odd = true
    digits = 0
    if (char === 0x22) at = endOfString(text, at + 1)
    else if (char === 0x2c) {
      if (++values > MAX_VALUES) tooManyValues()
    } else if (char === 0x7b || char === 0x5b) {
      if (++depth > MAX_DEPTH) malformed(`The body is nested more than ${MAX_DEPTH} levels deep.`)
    } else if (char === 0x7d || char === 0x5d) depth--
  }
  return odd
}

const tooManyValues = () => fail('PAYLOAD_TOO_LARGE', { message: 'The body contains more than 100,000 values.' })

/** Bytes in which most strings end. */
const NEAR = 32

/**
 * Counts the values of a body while it arrives, to refuse one with too many before the rest of it is kept. For valid JSON it agrees with
 * `scan`; of other bodies the parser says what is wrong.
 */
export function createValueCounter() {
  let values = 1
  let isInString = false
  let isEscaped = false

  /** Returns where the string ends: at its quotation mark, or at the end of the chunk. */
  function skipString(chunk: Buffer, from: number) {
    let at = from
    for (const near = Math.min(chunk.length, from + NEAR); at < near; at++) {
      if (isEscaped) isEscaped = false
      else if (chunk[at] === 0x5c) isEscaped = true
      else if (chunk[at] === 0x22) {
        isInString = false
        return at
      }
    }
    return at < chunk.length ? skipRest(chunk, at) : at
  }

  /** Faster than byte by byte in long strings, such as attachments. */
  function skipRest(chunk: Buffer, from: number) {
    const start = from + (isEscaped ? 1 : 0)
    const isEscapedAt = (at: number) => {
      let first = at
      while (first > start && chunk[first - 1] === 0x5c) first--
      return (at - first) % 2 === 1
    }
    let end = chunk.indexOf(0x22, start)
    while (end !== -1 && isEscapedAt(end)) end = chunk.indexOf(0x22, end + 1)
    isInString = end === -1
    isEscaped = isInString && isEscapedAt(chunk.length)
    return isInString ? chunk.length : end
  }

  return (chunk: Buffer) => {
    for (let at = isInString ? skipString(chunk, 0) + 1 : 0; at < chunk.length; at++) {
      if (chunk[at] === 0x22) {
        isInString = true
        at = skipString(chunk, at + 1)
      } else if (chunk[at] === 0x2c && ++values > MAX_VALUES) tooManyValues()
    }
  }
}

function endOfString(text: string, from: number) {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++
    if (escapes % 2 === 0) return at
  }
  return text.length
}

/**
 * Finds texts with U+0000 or a lone surrogate and inexact numbers, and removes `__proto__` keys. `path` is one mutable array: a string per
 * element would cost more than parsing.
 */
export function findUnstorable(value: unknown, path: PropertyKey[], issues: FieldIssue[]): void {
  if (issues.length >= MAX_ISSUES) return
  const report = (code: FieldCode, message: string) => issues.push({ field: fieldOf(path), message, code })
  if (typeof value === 'string') {
    if (value.includes('\0')) report('invalid_string', 'Must not contain the character U+0000.')
    else if (LONE_SURROGATE.test(value)) report('invalid_string', 'Must not contain half of a surrogate pair.')
  } else if (typeof value === 'number') {
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) report('too_big', 'Numbers beyond 2^53 lose digits; send it as a string.')
  } else if (Array.isArray(value)) {
    const last = path.push(0) - 1
    for (let index = 0; index < value.length; index++) {
      path[last] = index
      findUnstorable(value[index], path, issues)
    }
    path.pop()
  } else if (typeof value === 'object' && value !== null) findInObject(value as Record<string, unknown>, path, issues)
}

function findInObject(value: Record<string, unknown>, path: PropertyKey[], issues: FieldIssue[]) {
  for (const key of Object.keys(value)) {
    if (key === '__proto__') delete value[key]
    else if (key.includes('\0') || LONE_SURROGATE.test(key))
      issues.push({ field: fieldOf(path), message: 'Has a key that cannot be stored.', code: 'invalid_string' })
    else {
      path.push(key)
      findUnstorable(value[key], path, issues)
      path.pop()
    }
  }
}
