import { isUtf8 } from 'node:buffer'
import { fail, type Issue } from '../lib/errors.ts'

const MAX_DEPTH = 32
const MAX_ISSUES = 10
/** So many digits may be more than a number holds. */
const LONG = 16
const LONE_SURROGATE = /\p{Surrogate}/u

/** A JSON body as a value that can be stored as it is: bounded depth, no U+0000, whole surrogate pairs, exact numbers. */
export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) malformed('The body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  const hasOddNumbers = scan(text)
  const value = parse(text)
  if (hasOddNumbers || text.includes('\\u') || text.includes('__proto__')) refuseUnstorable(value)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (err) {
    return malformed(`The body is not valid JSON: ${(err as Error).message.slice(0, 200)}`)
  }
}

export const malformed = (message: string): never => fail('VALIDATION_ERROR', { statusCode: 400, message })

/**
 * Looks only outside strings and before parsing: JSON.parse takes any depth, everything after it recurses. True when there is a
 * number with an exponent or so many digits that it may be too large. Most bodies have none.
 */
function scan(text: string) {
  let depth = 0
  let digits = 0
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
    else if (char === 0x7b || char === 0x5b) {
      if (++depth > MAX_DEPTH) malformed(`The body is nested more than ${MAX_DEPTH} levels deep.`)
    } else if (char === 0x7d || char === 0x5d) depth--
  }
  return odd
}

function endOfString(text: string, from: number) {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++
    if (escapes % 2 === 0) return at
  }
  return text.length
}

function refuseUnstorable(root: unknown) {
  const errors: Issue[] = []
  const report = (path: string, code: string, message: string) => {
    if (errors.length < MAX_ISSUES) errors.push({ field: path, message, code })
  }
  const walk = (value: unknown, path: string): void => {
    if (typeof value === 'string') {
      if (value.includes('\0')) report(path, 'invalid_string', 'Must not contain the character U+0000.')
      else if (LONE_SURROGATE.test(value)) report(path, 'invalid_string', 'Must not contain half of a surrogate pair.')
    } else if (typeof value === 'number') {
      if (Math.abs(value) > Number.MAX_SAFE_INTEGER) report(path, 'too_big', 'Numbers beyond 2^53 lose digits; send it as a string.')
    } else if (typeof value === 'object' && value !== null) {
      for (const key of Object.keys(value)) {
        if (key === '__proto__') delete (value as Record<string, unknown>)[key]
        else if (key.includes('\0') || LONE_SURROGATE.test(key)) report(path, 'invalid_string', 'Has a key that cannot be stored.')
        else walk((value as Record<string, unknown>)[key], path ? `${path}.${key}` : key)
      }
    }
  }
  walk(root, '')
  if (errors.length) fail('VALIDATION_ERROR', { errors })
}
