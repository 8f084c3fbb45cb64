import type { LiquidExpression, Operand } from '../language/expression.ts'
import { charge, type FillScope, readOf } from './fast-values.ts'

/** Undefined when only the engine knows. */
type Test = (scope: FillScope) => boolean | undefined
type Terms = LiquidExpression['terms']

/** Compiles a condition. Undefined for conditions with filters, groups or ranges. */
export function compileTest({ terms, filters }: LiquidExpression, names: string[]): Test | undefined {
  return filters.length ? undefined : compileTerms(terms, names)
}

/** `and` and `or` have the same precedence, and the last of them is read first: `a and b or c` is `a and (b or c)`. */
function compileTerms(terms: Terms, names: string[]): Test | undefined {
  const at = terms.findIndex((term) => isOperator(term, 'and') || isOperator(term, 'or'))
  if (at < 0) return compileComparison(terms, names)
  const left = compileComparison(terms.slice(0, at), names)
  const right = compileTerms(terms.slice(at + 1), names)
  if (!left || !right) return undefined
  const decisive = isOperator(terms[at]!, 'or')
  return (scope) => {
    const first = left(scope)
    return first === undefined || first === decisive ? first : right(scope)
  }
}

const isOperator = (term: Terms[number], text: string) => term.kind === 'operator' && term.text === text

function compileComparison(terms: Terms, names: string[]): Test | undefined {
  const [left, operator, right] = terms
  if (!left) return undefined
  if (isOperator(left, 'not')) return negated(compileComparison(terms.slice(1), names))
  if (left.kind === 'operator') return undefined
  if (terms.length === 1) {
    const read = readOf(left, names)
    return read && ((scope) => !!read(scope))
  }
  if (terms.length !== 3 || operator!.kind !== 'operator' || right!.kind === 'operator') return undefined
  return compare(operator!.text, [left, right as Operand], names)
}

const negated = (test: Test | undefined): Test | undefined =>
  test &&
  ((scope) => {
    const holds = test(scope)
    return holds === undefined ? undefined : !holds
  })

function compare(operator: string, [left, right]: [Operand, Operand], names: string[]): Test | undefined {
  const [leftWord, rightWord] = [wordOf(left), wordOf(right)]
  if (leftWord || rightWord) {
    const other = readOf(leftWord ? right : left, names)
    if ((leftWord && rightWord) || !other || (operator !== '==' && operator !== '!=')) return undefined
    const equals = EQUALS_WORD[(leftWord ?? rightWord)!]!
    return (scope) => {
      const value = other(scope)
      return charge(scope.budget, value) ? equals(value) === (operator === '==') : undefined
    }
  }
  const [readLeft, readRight] = [readOf(left, names), readOf(right, names)]
  if (!readLeft || !readRight || hasWord(left) || hasWord(right)) return undefined
  return (scope) => {
    const values = [readLeft(scope), readRight(scope)] as const
    return values.every((value) => charge(scope.budget, value)) ? compareValues(operator, ...values) : undefined
  }
}

const isNil = (value: unknown) => value === null || value === undefined
const isObject = (value: unknown) => typeof value === 'object' && value !== null
const isEmpty = (value: unknown) =>
  typeof value === 'string' || Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value as object).length === 0
const isBlankValue = (value: unknown) =>
  value === false || isNil(value) || (typeof value === 'string' ? /^\s*$/.test(value) : isEmpty(value))

/** Words that the engine compares by rules of their own. */
const EQUALS_WORD: Record<string, (value: unknown) => boolean> = { nil: isNil, null: isNil, empty: isEmpty, blank: isBlankValue }

const wordOf = (operand: Operand) => (operand.kind === 'literal' && Object.hasOwn(EQUALS_WORD, operand.text) ? operand.text : undefined)
/** Such a word as a fallback. */
const hasWord = (operand: Operand): boolean => operand.kind === 'fallback' && [operand.first, ...operand.others].some(wordOf)

const COMPARES: Record<string, (left: string, right: string) => boolean> = {
  '==': (left, right) => left === right,
  '!=': (left, right) => left !== right,
  '>': (left, right) => left > right,
  '<': (left, right) => left < right,
  '>=': (left, right) => left >= right,
  '<=': (left, right) => left <= right,
}

function compareValues(operator: string, left: unknown, right: unknown): boolean | undefined {
  if (operator === 'contains') return contains(left, right)
  if (isObject(left) || isObject(right)) return undefined
  // A missing value is undefined or null, which the engine tells apart where both are missing or one of them is ordered.
  if (isNil(left) || isNil(right)) return operator === '==' || operator === '!=' ? differs(operator, left, right) : undefined
  // Numbers and truth values as well: JavaScript compares them like the engine, which is written in it.
  return COMPARES[operator]?.(left as string, right as string)
}

const differs = (operator: string, left: unknown, right: unknown) => (isNil(left) && isNil(right) ? undefined : operator === '!=')

function contains(left: unknown, right: unknown): boolean | undefined {
  if (isNil(left) || typeof left === 'number' || typeof left === 'boolean') return false
  if (isObject(right) || isNil(right)) return undefined
  if (Array.isArray(left)) return left.includes(right)
  return typeof left === 'string' && typeof right === 'string' ? left.includes(right) : undefined
}
