import { readAddress } from '../../lib/text/address.ts'
import { decodeWords } from './header-text.ts'

export type FromHeader = { name: string; address: string }

/** Longest value of a From header that is read. */
const MAX_LENGTH = 2_000

/**
 * The one address of a From header; undefined for anything else. Strict, because mail programs read a value that breaks the rules in different
 * ways: of `a@one.example <b@two.example>` some show the first address and some the second.
 */
export function readFromHeader(given: string): FromHeader | undefined {
  if (given.length > MAX_LENGTH) return undefined
  const text = withoutComments(given)
  if (text === undefined) return undefined
  const open = findUnquoted(text, '<')
  const address = readAddress((open < 0 ? text : /^<([^<>"\s]+)>\s*$/.exec(text.slice(open))?.[1]) ?? '')
  if (!address) return undefined
  const name = readPhrase(text.slice(0, Math.max(0, open)).trim(), address)
  return name === undefined ? undefined : { name: decodeWords(name).trim(), address }
}

/** The words of a display name without their quotes. Undefined for characters that must be quoted; an unquoted address may only be the own one. */
function readPhrase(phrase: string, address: string): string | undefined {
  if (phrase.toLowerCase() === address) return phrase
  if (!PHRASE.test(phrase)) return undefined
  return phrase.replace(QUOTED, (quoted) => quoted.slice(1, -1).replace(/\\(.)/g, '$1'))
}

const QUOTED = /"(?:[^"\\]|\\.)*"/g
/** A dot is not allowed by RFC 5322, and is everywhere: `J. Doe`. */
const PHRASE = /^(?:"(?:[^"\\]|\\.)*"|[^"(),:;<>@[\\\]])*$/u

/** Undefined when a comment or a quote does not end. */
function withoutComments(text: string): string | undefined {
  let result = ''
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    const isEscaped = character === '\\' && (isQuoted || depth > 0)
    const piece = isEscaped ? text.slice(at, at + 2) : character
    if (isEscaped) at++
    else if (character === '"' && !depth) isQuoted = !isQuoted
    else if (character === '(' && !isQuoted) depth++
    else if (character === ')' && depth > 0) {
      depth--
      // A comment is as good as a space.
      result += depth ? '' : ' '
      continue
    }
    if (!depth) result += piece
  }
  return depth || isQuoted ? undefined : result.trim()
}

function findUnquoted(text: string, wanted: string) {
  let isQuoted = false
  for (let at = 0; at < text.length; at++) {
    if (isQuoted && text[at] === '\\') at++
    else if (text[at] === '"') isQuoted = !isQuoted
    else if (!isQuoted && text[at] === wanted) return at
  }
  return -1
}
