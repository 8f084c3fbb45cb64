import { endOfQuoted, isBlank, isQuote, isWord } from './characters.ts'
import type { Literal } from './expression.ts'
import { LITERAL_WORDS, unquoteText } from './literals.ts'
import { refuse } from './syntax-error.ts'

export const WORD_OPERATORS = new Set(['and', 'or', 'contains'])
/** Operators that a name may contain. */
export const NAME_WORDS = new Set(['and', 'or', 'not'])
const SYMBOLS = ['==', '!=', '>=', '<=', '>', '<']
const NUMBER = /[+-]?\d+(\.\d+)?/y
const DIGIT_OR_SIGN = '0123456789+-'

/** `stops`: words that end a name with spaces, because they belong to the tag. `joinsOperators`: `and`, `or` and `not` are words of a name. */
export type ScannerOptions = { stops?: ReadonlySet<string>; joinsOperators?: boolean }
export type Scanner = ReturnType<typeof createScanner>

/** Reads the words, names and literals of an expression one after the other. */
export function createScanner(source: string, from: number, to: number, { stops = new Set(), joinsOperators = false }: ScannerOptions) {
  let at = from

  const refuseHere = (message: string): never => refuse(source, at, message)
  const unexpected = (): never =>
    at >= to ? refuse(source, Math.max(from, to), 'An expression is incomplete.') : refuseHere(`Unexpected ${JSON.stringify(source[at])}.`)
  const skipBlanks = () => {
    while (at < to && isBlank(source, at)) at++
  }
  const isNext = (text: string) => source.startsWith(text, at) && at + text.length <= to
  const take = (text: string) => {
    skipBlanks()
    if (!isNext(text)) return false
    at += text.length
    return true
  }

  /** The word at a position, without consuming it. `??` ends it, a single `?` is part of it. */
  function wordAt(start: number) {
    let end = start
    while (end < to && isWord(source, end) && !(source[end] === '?' && source[end + 1] === '?')) end++
    return source.slice(start, end)
  }

  function takeOperator() {
    skipBlanks()
    const word = wordAt(at)
    const operator = WORD_OPERATORS.has(word) && !stops.has(word) ? word : at < to ? SYMBOLS.find(isNext) : undefined
    if (operator) at += operator.length
    return operator
  }

  function takeLiteral(): Literal | undefined {
    if (isQuote(source[at])) {
      const end = endOfQuoted(source, at, to)
      if (end === -1) refuseHere('A string is not closed by a quote.')
      const text = source.slice(at, end)
      at = end
      return { kind: 'literal', text, value: unquoteText(text) }
    }
    const number = numberAt(at)
    const word = number || wordAt(at)
    if (!number && !LITERAL_WORDS.has(word)) return undefined
    if (nameContinues(at + word.length)) return undefined
    at += word.length
    return { kind: 'literal', text: word, value: number ? Number(number) : LITERAL_WORDS.get(word)! }
  }

  function numberAt(start: number) {
    if (!DIGIT_OR_SIGN.includes(source[start]!)) return ''
    NUMBER.lastIndex = start
    const [text = ''] = NUMBER.exec(source) ?? []
    return text && wordAt(start + text.length) === '' ? text : ''
  }

  /** One word, or several separated by blanks: `first name`. */
  function takeName() {
    skipBlanks()
    const words: string[] = []
    for (let word = wordAt(at); word; word = wordAt(at)) {
      words.push(word)
      at += word.length
      if (!nameContinues(at)) break
      skipBlanks()
    }
    return words.join(' ') || unexpected()
  }

  function nameContinues(start: number) {
    let here = start
    while (here < to && isBlank(source, here)) here++
    if (here === start) return false
    const word = wordAt(here)
    return word !== '' && !(WORD_OPERATORS.has(word) && !(joinsOperators && NAME_WORDS.has(word))) && !stops.has(word)
  }

  return {
    position: () => at,
    moveTo: (position: number) => {
      at = position
    },
    isAtEnd: () => at >= to,
    /** The text from a position to another, by default to here. */
    textFrom: (start: number, end = at) => source.slice(start, end),
    rest: () => source.slice(at, to),
    refuseHere,
    unexpected,
    skipBlanks,
    isNext,
    isQuoteNext: () => at < to && isQuote(source[at]),
    take,
    expect: (text: string) => take(text) || unexpected(),
    /** The next word, without consuming it. */
    nextWord: () => {
      skipBlanks()
      return wordAt(at)
    },
    takeOperator,
    takeLiteral,
    takeName,
    /** Position after text without quotes: that of the next `|` or `??` outside of quotes. */
    endOfText() {
      let end = at
      while (end < to && source[end] !== '|' && !source.startsWith('??', end))
        end = isQuote(source[end]) ? Math.max(endOfQuoted(source, end, to), end + 1) : end + 1
      return end
    },
  }
}
