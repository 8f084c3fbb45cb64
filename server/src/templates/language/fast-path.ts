import { escapeHtml } from '../../lib/text/html.ts'
import type { LiquidExpression, Operand } from './expression.ts'
import { MAX_FAST_OUTPUT } from './limits.ts'
import type { Prepared } from './prepare.ts'
import { fallBack, PLAIN_FILTERS, print, safeUrl } from './values.ts'
import { lookUpVariable, type Recipient } from './variables.ts'

/** Characters that may still be processed on the main thread. Below zero, the email is left to the render threads. */
type Budget = { characters: number }
/** Prints one value. Returns undefined once the budget is used up. */
type Slot = (recipient: Recipient, budget: Budget) => string | undefined
/** A template that only fills in variables. */
export type FastPath = {
  /** The texts around the values: one more than there are values. */
  texts: string[]
  /** True when all values are escaped for HTML. */
  isEscaped: boolean
  /** Undefined if the email is too long, or too much work, for the main thread. */
  valuesFor(recipient: Recipient, budget: Budget): string[] | undefined
}

/** Properties that the engine computes for lists and strings; the fast path would read them as fields. */
const COMPUTED = new Set(['size', 'first', 'last'])

/**
 * Compiles a template that consists of text and variables, with fallbacks and a few filters, to a function that needs no engine and may run on
 * the main thread. Undefined for all other templates. The budget counts the characters that filters read, not those that are printed:
 * 48 filters on a variable of 65,000 blanks print nothing, and 200 such outputs take a second.
 */
export function compileFastPath({ sequence }: Prepared, { html }: { html: boolean }): FastPath | undefined {
  if (!sequence) return undefined
  const texts = ['']
  const slots: Slot[] = []
  let isEscaped = html
  for (const part of sequence) {
    if (typeof part === 'string') texts[texts.length - 1] += part
    else {
      const slot = slotOf(part.expression, { html, isUrl: part.isUrl })
      if (!slot) return undefined
      slots.push(slot)
      texts.push('')
      isEscaped &&= !isRaw(part.expression)
    }
  }
  const textLength = texts.reduce((sum, text) => sum + text.length, 0)
  return { texts, isEscaped, valuesFor: (recipient, budget) => valuesFor(slots, textLength, recipient, budget) }
}

function valuesFor(slots: Slot[], textLength: number, recipient: Recipient, budget: Budget) {
  const values: string[] = []
  let length = textLength
  for (const slot of slots) {
    const value = slot(recipient, budget)
    if (value === undefined) return undefined
    length += value.length
    if (length > MAX_FAST_OUTPUT) return undefined
    values.push(value)
  }
  return length > MAX_FAST_OUTPUT ? undefined : values
}

type ReadValue = (recipient: Recipient) => unknown
type Filter = { read: (value: unknown) => unknown; isFree: boolean }

const isRaw = ({ filters }: LiquidExpression) => filters.at(-1)?.name === 'raw'

function slotOf(expression: LiquidExpression, { html, isUrl }: { html: boolean; isUrl: boolean }): Slot | undefined {
  const { terms, filters } = expression
  const [term] = terms
  const read = terms.length === 1 && term!.kind !== 'operator' ? readOf(term as Operand) : undefined
  const raw = isRaw(expression)
  const steps = (raw ? filters.slice(0, -1) : filters).map(filterOf)
  if (!read || !steps.every((step) => step !== undefined)) return undefined
  const write = isUrl && !raw ? safeUrl : print
  const isEscaped = html && !raw
  return (recipient, budget) => {
    let value = read(recipient)
    for (const { read: apply, isFree } of steps) {
      if (!isFree && !charge(budget, value)) return undefined
      value = apply(value)
    }
    if (!charge(budget, value)) return undefined
    return isEscaped ? escapeHtml(write(value)) : write(value)
  }
}

/** Charges the characters that the next step reads. A list may print less than it costs to traverse, so its JSON is counted. */
function charge(budget: Budget, value: unknown) {
  if (typeof value === 'string') budget.characters -= value.length
  else if (typeof value === 'object' && value !== null) budget.characters -= JSON.stringify(value).length
  return budget.characters >= 0
}

function readOf(operand: Operand): ReadValue | undefined {
  if (operand.kind === 'literal') return () => operand.value
  if (operand.kind === 'path') {
    const path = operand.segments
    // Only the engine handles negative indexes and computed properties.
    if (!path.every((segment) => typeof segment === 'string' && !COMPUTED.has(segment))) return undefined
    return (recipient) => lookUpVariable(recipient, path as string[])
  }
  if (operand.kind !== 'fallback') return undefined
  const first = readOf(operand.first)
  const others = operand.others.map(readOf)
  if (!first || !others.every((other) => other !== undefined)) return undefined
  return (recipient) => others.reduce<unknown>((value, other) => fallBack(value, other(recipient)), first(recipient))
}

function filterOf({ name, args }: LiquidExpression['filters'][number]): Filter | undefined {
  const plain = Object.hasOwn(PLAIN_FILTERS, name) && args.length === 0 ? PLAIN_FILTERS[name]! : undefined
  if (plain) return { read: plain, isFree: false }
  const [only] = args
  if (name !== 'default' || args.length !== 1 || only!.key || only!.value.kind !== 'literal') return undefined
  const { value: otherwise } = only!.value
  return { read: (value) => ((Array.isArray(value) ? value.length : value) ? value : otherwise), isFree: true }
}
