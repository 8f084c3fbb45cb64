import { LITERAL_WORDS, quoteText } from './literals.ts'
import { WORD_OPERATORS } from './scanner.ts'

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
      return `(${printOperand(operand.name)} | either: ${printGroup(operand.expression)}, ${quoteText(JSON.stringify(operand.decides))})`
  }
}

/** The engine does not read a `not` that follows a parenthesis. */
const printGroup = (expression: LiquidExpression) =>
  `(${expression.terms[0]!.kind === 'operator' ? 'true and ' : ''}${printExpression(expression)})`

const printSegment = (segment: string | Operand) => `[${typeof segment === 'string' ? quoteText(segment) : printOperand(segment)}]`

const isPlain = (name: string) => /^[a-z_]\w*$/i.test(name) && !LITERAL_WORDS.has(name) && !WORD_OPERATORS.has(name) && name !== 'not'
