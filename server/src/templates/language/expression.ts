import { endOfQuoted, isBlank, isQuote, isWord } from './characters.ts'
import { FILTERS } from './filters.ts'
import { MAX_BLOCK_DEPTH, MAX_FILTERS } from './limits.ts'
import { refuse, TemplateSyntaxError } from './syntax-error.ts'

/** A value with filters, as in `{{ }}` or in a condition. Operators are between the operands, as written. */
export type LiquidExpression = { terms: (Operand | Operator)[]; filters: Filter[] }
type Operator = { kind: 'operator'; text: string }
export type Filter = { name: string; args: { key?: string; value: Operand }[] }
export type Path = { kind: 'path'; segments: (string | Operand)[]; start: number }
export type Literal = { kind: 'literal'; value: string | number | boolean | null; text: string }
export type Operand =
  | Path
  | Literal
  | { kind: 'property'; of: Operand; segments: (string | Operand)[] }
  | { kind: 'range'; from: Operand; to: Operand }
  | { kind: 'group'; expression: LiquidExpression }
  | { kind: 'fallback'; first: Operand; others: Operand[] }
  | Either

/**
 * `terms and conditions` as the name of a field, and as an expression. The data of the recipient decides: the name if it has such a field, the
 * expression if it has one of its operands, else the name. `decides` is what the engine needs for that.
 */
export type Either = { kind: 'either'; name: Operand; path: Path; expression: LiquidExpression; decides: NamePresence }
/** Paths of the name and of the operands. `isCertain`: an operand always has a value, such as a literal. */
export type NamePresence = { name: string[]; operands: string[][]; isCertain: boolean }

const WORD_OPERATORS = new Set(['and', 'or', 'contains'])
/** Operators that a name may contain. */
const NAME_WORDS = new Set(['and', 'or', 'not'])
const SYMBOLS = ['==', '!=', '>=', '<=', '>', '<']
const LITERALS = new Map<string, boolean | null | string>([
  ['true', true],
  ['false', false],
  ['nil', null],
  ['null', null],
  ['empty', ''],
  ['blank', ''],
])
const NUMBER = /[+-]?\d+(\.\d+)?/y
const DIGIT_OR_SIGN = '0123456789+-'
/** Unquoted fallbacks that are not text. */
const BARE_LITERAL = /^(true|false|nil|null|[+-]?\d+(\.\d+)?)$/

/** `stops`: words that end a name with spaces, because they belong to the tag. `joinsOperators`: `and`, `or` and `not` are words of a name. */
type ReaderOptions = { stops?: ReadonlySet<string>; isOutput?: boolean; joinsOperators?: boolean }

/**
 * Parser of the expressions within braces: Liquid, plus `??` and names with spaces. Stricter than the engine, which
 * would silently read `{{ first name }}` as `first`.
 */
export function createReader(
  source: string,
  from: number,
  to: number,
  { stops = new Set(), isOutput = false, joinsOperators = false }: ReaderOptions = {},
) {
  let at = from
  let depth = 0
  let takesText = isOutput

  const unexpected = (): never =>
    at >= to
      ? refuse(source, Math.max(from, to), 'An expression is incomplete.')
      : refuse(source, at, `Unexpected ${JSON.stringify(source[at])}.`)
  const skipBlanks = () => {
    while (at < to && isBlank(source, at)) at++
  }
  const next = (text: string) => source.startsWith(text, at) && at + text.length <= to
  const take = (text: string) => {
    skipBlanks()
    if (!next(text)) return false
    at += text.length
    return true
  }
  const expect = (text: string) => take(text) || unexpected()

  /** The word at a position, without consuming it. `??` ends it, a single `?` is part of it. */
  function wordAt(start: number) {
    let end = start
    while (end < to && isWord(source, end) && !(source[end] === '?' && source[end + 1] === '?')) end++
    return source.slice(start, end)
  }

  function enter<T>(read: () => T): T {
    if (++depth > MAX_BLOCK_DEPTH) refuse(source, at, `Parentheses are nested more than ${MAX_BLOCK_DEPTH} deep.`)
    const result = read()
    depth--
    return result
  }

  function expression(): LiquidExpression {
    const terms: LiquidExpression['terms'] = []
    for (;;) {
      skipBlanks()
      while (!joinsOperators && wordAt(at) === 'not') {
        terms.push({ kind: 'operator', text: 'not' })
        at += 3
        skipBlanks()
      }
      terms.push(operand())
      const operator = readOperator()
      if (!operator) return { terms, filters: filters() }
      terms.push({ kind: 'operator', text: operator })
    }
  }

  function readOperator() {
    skipBlanks()
    const word = wordAt(at)
    const operator = WORD_OPERATORS.has(word) && !stops.has(word) ? word : at < to ? SYMBOLS.find(next) : undefined
    if (operator) at += operator.length
    return operator
  }

  function filters(): Filter[] {
    const found: Filter[] = []
    while (take('|')) {
      takesText = false
      skipBlanks()
      const name = wordAt(at)
      if (!name) unexpected()
      if (!FILTERS.has(name)) refuse(source, at, `Unknown filter "${name.slice(0, 50)}".`)
      if (found.length === MAX_FILTERS) refuse(source, at, `At most ${MAX_FILTERS} filters in a row.`)
      at += name.length
      found.push({ name, args: take(':') ? args() : [] })
    }
    return found
  }

  function args() {
    const found: Filter['args'] = []
    do {
      skipBlanks()
      const key = wordAt(at)
      const named = key !== '' && /^\s*:/.test(source.slice(at + key.length, at + key.length + 20))
      if (named) {
        at += key.length
        expect(':')
        found.push({ key, value: operand() })
      } else found.push({ value: operand() })
    } while (take(','))
    return found
  }

  function operand(): Operand {
    const first = primary()
    const others: Operand[] = []
    while (take('??')) others.push(alternative())
    return others.length ? { kind: 'fallback', first, others } : first
  }

  /** The operand after `??`: a value, or text without quotes. An unquoted name is a variable only if another `??` follows. */
  function alternative(): Operand {
    skipBlanks()
    if (isQuote(source[at]) && at < to) return primary()
    const start = at
    const end = takesText && depth === 0 ? endOfText() : undefined
    if (end === undefined) {
      const value = primary()
      skipBlanks()
      return value.kind === 'path' && !next('??') && !isDataPath(value) ? textOf(source.slice(start, at).trim()) : value
    }
    const text = source.slice(start, end).trim()
    if (text === '') return refuse(source, start, 'A fallback is missing after "??".')
    if (source.startsWith('??', end) || /^data\s*[.[]/.test(text)) return primary()
    at = end
    return textOf(text)
  }

  function endOfText() {
    let end = at
    while (end < to && source[end] !== '|' && !source.startsWith('??', end)) {
      end = isQuote(source[end]) ? Math.max(endOfQuoted(source, end, to), end + 1) : end + 1
    }
    return end
  }

  function primary(): Operand {
    skipBlanks()
    if (at >= to) return unexpected()
    const base = literal() ?? (next('(') ? enter(groupOrRange) : undefined)
    if (base) {
      const segments = properties()
      return segments.length ? { kind: 'property', of: base, segments } : base
    }
    const start = at
    if (next('[')) return { kind: 'path', segments: properties(), start }
    const name = readName() || unexpected()
    return { kind: 'path', segments: [name, ...properties()], start }
  }

  function literal(): Literal | undefined {
    if (isQuote(source[at])) {
      const end = endOfQuoted(source, at, to)
      if (end === -1) refuse(source, at, 'A string is not closed by a quote.')
      const text = source.slice(at, end)
      at = end
      return { kind: 'literal', text, value: unquote(text) }
    }
    const number = numberAt(at)
    const word = number || wordAt(at)
    if (!number && !LITERALS.has(word)) return undefined
    if (nameContinues(at + word.length)) return undefined
    at += word.length
    return { kind: 'literal', text: word, value: number ? Number(number) : LITERALS.get(word)! }
  }

  function numberAt(start: number) {
    if (!DIGIT_OR_SIGN.includes(source[start]!)) return ''
    NUMBER.lastIndex = start
    const [text = ''] = NUMBER.exec(source) ?? []
    return text && wordAt(start + text.length) === '' ? text : ''
  }

  function groupOrRange(): Operand {
    expect('(')
    const inner = expression()
    const [from] = inner.terms
    if (inner.terms.length === 1 && from!.kind !== 'operator' && !inner.filters.length && take('..')) {
      const to = primary()
      expect(')')
      return { kind: 'range', from: from as Operand, to }
    }
    expect(')')
    return { kind: 'group', expression: inner }
  }

  function properties() {
    const segments: (string | Operand)[] = []
    while (at < to) {
      if (next('[')) {
        at++
        const inside = enter(primary)
        segments.push(inside.kind === 'literal' && typeof inside.value === 'string' ? inside.value : inside)
        expect(']')
      } else if (next('.') && !next('..')) {
        at++
        segments.push(readName() || unexpected())
      } else break
    }
    return segments
  }

  /** One word, or several separated by blanks: `first name`. */
  function readName() {
    skipBlanks()
    const words: string[] = []
    for (let word = wordAt(at); word; word = wordAt(at)) {
      words.push(word)
      at += word.length
      if (!nameContinues(at)) break
      skipBlanks()
    }
    return words.join(' ')
  }

  function nameContinues(start: number) {
    let here = start
    while (here < to && isBlank(source, here)) here++
    if (here === start) return false
    const word = wordAt(here)
    return word !== '' && !(WORD_OPERATORS.has(word) && !(joinsOperators && NAME_WORDS.has(word))) && !stops.has(word)
  }

  return {
    expression,
    operand,
    take,
    /** A name that the tag defines, such as that of `assign`. */
    identifier: () => {
      skipBlanks()
      const word = wordAt(at)
      if (!word) unexpected()
      at += word.length
      return word
    },
    rest: () => source.slice(at, to),
    end: () => {
      skipBlanks()
      if (at < to) unexpected()
    },
  }
}

/** An expression of words and `and`, `or` or `not`, read as one name. Undefined if it cannot be one. */
export function readAsName(source: string, { from, to }: { from: number; to: number }, { terms }: LiquidExpression) {
  const operators = terms.filter((term) => term.kind === 'operator')
  if (!operators.length || !operators.every(({ text }) => NAME_WORDS.has(text))) return undefined
  const name = tryReading(source, from, to)
  const path = name?.kind === 'fallback' ? name.first : name
  return name && path?.kind === 'path' && path.segments.every((segment) => typeof segment === 'string') ? { name, path } : undefined
}

function tryReading(source: string, from: number, to: number) {
  try {
    const reader = createReader(source, from, to, { isOutput: true, joinsOperators: true })
    const { terms } = reader.expression()
    reader.end()
    return terms.length === 1 && terms[0]!.kind !== 'operator' ? terms[0] : undefined
  } catch (err) {
    if (err instanceof TemplateSyntaxError) return undefined
    throw err
  }
}

const isDataPath = ({ segments }: Path) => segments[0] === 'data' && segments.length > 1

function textOf(text: string): Literal {
  if (BARE_LITERAL.test(text)) {
    const value = LITERALS.has(text) ? LITERALS.get(text)! : Number(text)
    return { kind: 'literal', text, value }
  }
  // Word processors replace quotes by typographic ones.
  const value = /^(“.*”|„.*“|‘.*’)$/s.test(text) ? text.slice(1, -1) : text
  return { kind: 'literal', text: quote(value), value }
}

const quote = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`

const ESCAPES: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** Like the engine: a backslash escapes the next character, or starts a control character or code point. */
const unquote = (text: string) =>
  text.slice(1, -1).replace(/\\(?:u([0-9a-fA-F]{0,4})|([0-7]{1,3})|(.))/gs, (_, hex?: string, octal?: string, char?: string) => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(`0${hex}`, 16))
    return octal === undefined ? (ESCAPES[char!] ?? char!) : String.fromCharCode(Number.parseInt(octal, 8))
  })

/** Prints plain Liquid. */
export const printExpression = ({ terms, filters }: LiquidExpression): string =>
  [terms.map((term) => (term.kind === 'operator' ? term.text : printOperand(term))).join(' '), ...filters.map(printFilter)].join(' | ')

const printFilter = ({ name, args }: Filter) =>
  args.length ? `${name}: ${args.map(({ key, value }) => (key ? `${key}: ${printOperand(value)}` : printOperand(value))).join(', ')}` : name

export function printOperand(operand: Operand): string {
  switch (operand.kind) {
    case 'literal':
      return operand.text
    case 'path': {
      const [first, ...rest] = operand.segments
      return (typeof first === 'string' && isPlain(first) ? first : printSegment(first!)) + rest.map(printSegment).join('')
    }
    case 'property':
      return printOperand(operand.of) + operand.segments.map(printSegment).join('')
    case 'range':
      return `(${printOperand(operand.from)}..${printOperand(operand.to)})`
    case 'group':
      return printGroup(operand.expression)
    case 'fallback':
      return `(${[printOperand(operand.first), ...operand.others.map((other) => `fallback: ${printOperand(other)}`)].join(' | ')})`
    case 'either':
      return `(${printOperand(operand.name)} | either: ${printGroup(operand.expression)}, ${quote(JSON.stringify(operand.decides))})`
  }
}

/** The engine does not read a `not` that follows a parenthesis. */
const printGroup = (expression: LiquidExpression) =>
  `(${expression.terms[0]!.kind === 'operator' ? 'true and ' : ''}${printExpression(expression)})`

const printSegment = (segment: string | Operand) => `[${typeof segment === 'string' ? quote(segment) : printOperand(segment)}]`

const isPlain = (name: string) => /^[a-z_]\w*$/i.test(name) && !LITERALS.has(name) && !WORD_OPERATORS.has(name) && name !== 'not'
