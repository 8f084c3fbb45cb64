import { endOfQuoted, isBlank, isQuote, isWord } from './characters.ts'
import { MAX_SOURCE, MAX_TAG_LENGTH, MAX_TAGS } from './limits.ts'
import { refuse } from './syntax-error.ts'

/** A part of a template. All parts in order cover the source without gaps. */
export type Part =
  | { kind: 'text' | 'raw' | 'comment'; start: number; end: number }
  /** `from` to `to` is the content between the braces, without the dashes of white space control. */
  | { kind: 'output'; start: number; end: number; from: number; to: number }
  | { kind: 'tag'; start: number; end: number; from: number; to: number; name: string }

const OPEN = /\{[{%]/g
/** The content of these tags is not parsed. */
const END_OF = { raw: /\{%-?\s*endraw\s*-?%\}/g, comment: /\{%-?\s*endcomment\s*-?%\}/g }

export function tokenize(source: string): Part[] {
  if (source.length > MAX_SOURCE) refuse(source, 0, `A template has at most ${MAX_SOURCE.toLocaleString('en')} characters.`)
  const parts: Part[] = []
  let tags = 0
  for (let at = 0; at < source.length; ) {
    const start = nextOpening(source, at)
    if (start > at) parts.push({ kind: 'text', start: at, end: start })
    if (start === source.length) break
    if (++tags > MAX_TAGS) refuse(source, start, `A template has at most ${MAX_TAGS.toLocaleString('en')} tags.`)
    const part = source[start + 1] === '{' ? readOutput(source, start) : readTag(source, start)
    parts.push(part)
    at = part.end
    if (part.kind === 'tag' && (part.name === 'raw' || part.name === 'comment')) {
      const end = endOf(source, part.name, part)
      if (end > at) parts.push({ kind: part.name, start: at, end })
      at = end
    }
  }
  return parts
}

function nextOpening(source: string, at: number) {
  OPEN.lastIndex = at
  return OPEN.exec(source)?.index ?? source.length
}

function endOf(source: string, name: 'raw' | 'comment', { start, end }: Part) {
  const pattern = END_OF[name]
  pattern.lastIndex = end
  return pattern.exec(source)?.index ?? refuse(source, start, `{% ${name} %} is not closed by {% end${name} %}.`)
}

function readOutput(source: string, start: number): Part {
  const limit = Math.min(source.length, start + MAX_TAG_LENGTH)
  for (let at = start + 2; at < limit; ) {
    if (isQuote(source[at])) {
      const end = endOfQuoted(source, at, limit)
      if (end === -1) break
      at = end
    } else if (source[at] === '}' && source[at + 1] === '}')
      return { kind: 'output', start, end: at + 2, ...trimmed(source, start + 2, at) }
    else at++
  }
  return refuse(source, start, '{{ is not closed by }}, or a string in it is not closed by a quote.')
}

function readTag(source: string, start: number): Part {
  const close = source.slice(start + 2, start + MAX_TAG_LENGTH).indexOf('%}')
  if (close === -1) refuse(source, start, '{% is not closed by %}.')
  const { from, to } = trimmed(source, start + 2, start + 2 + close)
  let end = from
  if (source[from] === '#') end++
  else while (end < to && isWord(source, end)) end++
  if (end === from) refuse(source, start, 'A tag needs a name.')
  return { kind: 'tag', start, end: start + 2 + close + 2, from, to, name: source.slice(from, end) }
}

/** Removes the dashes of white space control, and blanks. */
function trimmed(source: string, start: number, end: number) {
  let from = source[start] === '-' ? start + 1 : start
  let to = source[end - 1] === '-' && end - 1 >= from ? end - 1 : end
  while (from < to && isBlank(source, from)) from++
  while (to > from && isBlank(source, to - 1)) to--
  return { from, to }
}
