import type { Filter, LiquidExpression, Operand, Path } from './expression.ts'
import { FILTERS } from './filters.ts'
import { MAX_BLOCK_DEPTH, MAX_FILTERS } from './limits.ts'
import { bareLiteral } from './literals.ts'
import { createScanner, NAME_WORDS, type Scanner, type ScannerOptions } from './scanner.ts'
import { TemplateSyntaxError } from './syntax-error.ts'

type ReaderOptions = ScannerOptions & { isOutput?: boolean }
/** `takesText`: a fallback may be text without quotes. `depth`: of parentheses and brackets. */
type Reading = { scan: Scanner; joinsOperators: boolean; takesText: boolean; depth: number }

/**
 * Parser of the expressions within braces: Liquid, plus `??` and names with spaces. Stricter than the engine, which
 * would silently read `{{ first name }}` as `first`.
 */
export function createReader(source: string, from: number, to: number, { isOutput = false, ...options }: ReaderOptions = {}) {
  const scan = createScanner(source, from, to, options)
  const reading = { scan, joinsOperators: options.joinsOperators ?? false, takesText: isOutput, depth: 0 }
  return {
    expression: () => readExpression(reading),
    operand: () => readOperand(reading),
    take: scan.take,
    /** A name that the tag defines, such as that of `assign`. */
    identifier: () => {
      const word = scan.nextWord() || scan.unexpected()
      scan.take(word)
      return word
    },
    rest: scan.rest,
    end: () => {
      scan.skipBlanks()
      if (!scan.isAtEnd()) scan.unexpected()
    },
  }
}

function readExpression(reading: Reading): LiquidExpression {
  const { scan } = reading
  const terms: LiquidExpression['terms'] = []
  for (;;) {
    while (!reading.joinsOperators && scan.nextWord() === 'not') {
      scan.take('not')
      terms.push({ kind: 'operator', text: 'not' })
    }
    terms.push(readOperand(reading))
    const operator = scan.takeOperator()
    if (!operator) return { terms, filters: readFilters(reading) }
    terms.push({ kind: 'operator', text: operator })
  }
}

function readFilters(reading: Reading): Filter[] {
  const { scan } = reading
  const found: Filter[] = []
  while (scan.take('|')) {
    reading.takesText = false
    const name = scan.nextWord() || scan.unexpected()
    if (!FILTERS.has(name)) scan.refuseHere(`Unknown filter "${name.slice(0, 50)}".`)
    if (found.length === MAX_FILTERS) scan.refuseHere(`At most ${MAX_FILTERS} filters in a row.`)
    scan.take(name)
    found.push({ name, args: scan.take(':') ? readArguments(reading) : [] })
  }
  return found
}

function readArguments(reading: Reading) {
  const { scan } = reading
  const found: Filter['args'] = []
  do {
    const key = scan.nextWord()
    const end = scan.position() + key.length
    if (key !== '' && /^\s*:/.test(scan.textFrom(end, end + 20))) {
      scan.take(key)
      scan.expect(':')
      found.push({ key, value: readOperand(reading) })
    } else found.push({ value: readOperand(reading) })
  } while (scan.take(','))
  return found
}

function readOperand(reading: Reading): Operand {
  const first = readPrimary(reading)
  const others: Operand[] = []
  while (reading.scan.take('??')) others.push(readAlternative(reading))
  return others.length ? { kind: 'fallback', first, others } : first
}

/** The operand after `??`: a value, or text without quotes. An unquoted name is a variable only if another `??` follows. */
function readAlternative(reading: Reading): Operand {
  const { scan } = reading
  scan.skipBlanks()
  if (scan.isQuoteNext()) return readPrimary(reading)
  const start = scan.position()
  if (!reading.takesText || reading.depth > 0) {
    const value = readPrimary(reading)
    const end = scan.position()
    scan.skipBlanks()
    return value.kind === 'path' && !scan.isNext('??') && !isDataPath(value) ? bareLiteral(scan.textFrom(start, end).trim()) : value
  }
  const end = scan.endOfText()
  const text = scan.textFrom(start, end).trim()
  if (text === '') return scan.refuseHere('A fallback is missing after "??".')
  if (scan.textFrom(end, end + 2) === '??' || /^data\s*[.[]/.test(text)) return readPrimary(reading)
  scan.moveTo(end)
  return bareLiteral(text)
}

const isDataPath = ({ segments }: Path) => segments[0] === 'data' && segments.length > 1

function readPrimary(reading: Reading): Operand {
  const { scan } = reading
  scan.skipBlanks()
  if (scan.isAtEnd()) return scan.unexpected()
  const base = scan.takeLiteral() ?? (scan.isNext('(') ? enter(reading, readGroupOrRange) : undefined)
  if (base) {
    const segments = readProperties(reading)
    return segments.length ? { kind: 'property', of: base, segments } : base
  }
  const start = scan.position()
  if (scan.isNext('[')) return { kind: 'path', segments: readProperties(reading), start }
  const name = scan.takeName()
  return { kind: 'path', segments: [name, ...readProperties(reading)], start }
}

function enter<T>(reading: Reading, read: (reading: Reading) => T): T {
  if (++reading.depth > MAX_BLOCK_DEPTH) reading.scan.refuseHere(`Parentheses are nested more than ${MAX_BLOCK_DEPTH} deep.`)
  const result = read(reading)
  reading.depth--
  return result
}

function readGroupOrRange(reading: Reading): Operand {
  const { scan } = reading
  scan.expect('(')
  const expression = readExpression(reading)
  const [from] = expression.terms
  if (expression.terms.length === 1 && from!.kind !== 'operator' && !expression.filters.length && scan.take('..')) {
    const to = readPrimary(reading)
    scan.expect(')')
    return { kind: 'range', from: from as Operand, to }
  }
  scan.expect(')')
  return { kind: 'group', expression }
}

function readProperties(reading: Reading) {
  const { scan } = reading
  const segments: (string | Operand)[] = []
  while (!scan.isAtEnd()) {
    if (scan.isNext('[')) {
      scan.take('[')
      const inside = enter(reading, readPrimary)
      segments.push(inside.kind === 'literal' && typeof inside.value === 'string' ? inside.value : inside)
      scan.expect(']')
    } else if (scan.isNext('.') && !scan.isNext('..')) {
      scan.take('.')
      segments.push(scan.takeName())
    } else break
  }
  return segments
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
