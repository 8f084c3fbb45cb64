import { readAddress } from '../../lib/text/address.ts'
import type { Steps } from '../../lib/text/steps.ts'
import { decodeWords, hasUnknownCharset } from './encoded-words.ts'

/** `comment`: the text of its comments, which older mail programs show as the name. Undefined without any. */
export type FromHeader = { name: string; address: string; comment?: string }

/** Longest value of a From header that is read. */
const MAX_LENGTH = 2_000

/**
 * The one address of a From header; undefined for anything else. Strict, because mail programs read a value that breaks the rules in different
 * ways: of `a@one.example <b@two.example>` some show the first address and some the second. A word in a charset that we cannot decode may show
 * any text.
 */
export function readFromHeader(given: string): FromHeader | undefined {
  if (given.length > MAX_LENGTH || hasUnknownCharset(given)) return undefined
  const { text, comments } = splitComments(given) ?? {}
  if (text === undefined) return undefined
  const open = findUnquoted(text, '<')
  const address = readAddress((open < 0 ? text : /^<([^<>"\s]+)>\s*$/.exec(text.slice(open))?.[1]) ?? '')
  if (!address) return undefined
  const name = readPhrase(text.slice(0, Math.max(0, open)).trim(), address)
  if (name === undefined) return undefined
  return { name: decodeWords(name).trim(), address, ...(comments ? { comment: decodeWords(comments).trim() } : {}) }
}

/** The words of a display name without their quotes. Undefined for characters that must be quoted; an unquoted address may only be the own one. */
function readPhrase(phrase: string, address: string): string | undefined {
  if (phrase.toLowerCase() === address) return phrase
  let name = ''
  let isQuoted = false
  for (let at = 0; at < phrase.length; at++) {
    const character = phrase[at]!
    if (isQuoted && character === '\\') name += phrase[++at] ?? ''
    else if (character === '"') isQuoted = !isQuoted
    else if (!isQuoted && MUST_BE_QUOTED.has(character)) return undefined
    else name += character
  }
  return isQuoted ? undefined : name
}

/** RFC 5322, but for the dot, which is everywhere: `J. Doe`. */
const MUST_BE_QUOTED = new Set('(),:;<>@[\\]')

/** The text without its comments, and the text of the comments. Undefined when a comment or a quote does not end. */
export function splitComments(given: string, steps: Steps = { count: 0 }): { text: string; comments: string } | undefined {
  let text = ''
  let comments = ''
  let depth = 0
  let isQuoted = false
  for (let at = 0; at < given.length; at++) {
    steps.count++
    const character = given[at]!
    const isEscaped = character === '\\' && (isQuoted || depth > 0)
    const piece = isEscaped ? given.slice(at, at + 2) : character
    if (isEscaped) at++
    else if (character === '"' && !depth) isQuoted = !isQuoted
    else if (character === '(' && !isQuoted) {
      // A comment is as good as a space.
      if (depth++) comments += ' '
      else [text, comments] = [`${text} `, comments && `${comments} `]
      continue
    } else if (character === ')' && depth > 0) {
      if (--depth) comments += ' '
      continue
    }
    if (depth) comments += isEscaped ? piece.slice(1) : piece
    else text += piece
  }
  return depth || isQuoted ? undefined : { text: text.trim(), comments: comments.replace(/\s+/g, ' ').trim() }
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
