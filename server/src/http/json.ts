import { isUtf8 } from 'node:buffer'
import { fail, type Issue } from '../lib/errors.ts'

const MAX_DEPTH = 32
const MAX_ISSUES = 10
/** Text that may decode to something PostgreSQL or JavaScript cannot hold: escapes, exponents, long numbers. Most bodies have none. */
const SUSPICIOUS = /\\u|__proto__|\d{16}|\de/i
const LONE_SURROGATE = /\p{Surrogate}/u

/** A JSON body as a value that can be stored as it is: bounded depth, no U+0000, whole surrogate pairs, exact numbers. */
export function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) malformed('The body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  if (isTooDeep(text)) malformed(`The body is nested more than ${MAX_DEPTH} levels deep.`)
  const value = parse(text)
  if (SUSPICIOUS.test(text)) refuseUnstorable(value)
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

/** Looks only outside strings and before parsing: JSON.parse takes any depth, everything after it recurses. */
function isTooDeep(text: string) {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === 0x22) at = endOfString(text, at + 1)
    else if (char === 0x7b || char === 0x5b) {
      if (++depth > MAX_DEPTH) return true
    } else if (char === 0x7d || char === 0x5d) depth--
  }
  return false
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
