import { escapeHtml } from '../../lib/html.ts'
import type { Expression, Operand } from './expression.ts'
import { MAX_OUTPUT_HERE } from './limits.ts'
import type { Prepared } from './prepare.ts'
import { fallBack, PLAIN_FILTERS, print, safeUrl } from './values.ts'
import { lookUpVariable, type Recipient } from './variables.ts'

/** Characters that may still be processed on this thread; below zero, the rest is left to the threads. */
type Budget = { characters: number }
/** Undefined once the budget is used up. */
type Piece = string | ((recipient: Recipient, budget: Budget) => string | undefined)
/** A template that only fills in variables. Undefined as a result: too long, or too much work, for this thread. */
export type Simple = (recipient: Recipient, budget: Budget) => string | undefined

/** Engine words for the ends and length of lists; here they would be fields. */
const COMPUTED = new Set(['size', 'first', 'last'])

/**
 * A function that renders the template without the engine, when it consists of texts and variables with fallbacks and a few
 * filters. Its cost is bounded by the characters that its filters read, which need not be printed: 48 filters on a variable of
 * 65,000 blanks print nothing, and 200 of those take a second. So it may run on the main thread; everything else goes to the threads.
 */
export function simplify({ sequence }: Prepared, { html }: { html: boolean }): Simple | undefined {
  if (!sequence) return undefined
  const pieces: Piece[] = []
  for (const part of sequence) {
    const piece = typeof part === 'string' ? part : pieceOf(part.expression, { html, isUrl: part.isUrl })
    if (piece === undefined) return undefined
    pieces.push(piece)
  }
  return (recipient, budget) => {
    let text = ''
    for (const piece of pieces) {
      const printed = typeof piece === 'string' ? piece : piece(recipient, budget)
      if (printed === undefined) return undefined
      text += printed
      if (text.length > MAX_OUTPUT_HERE) return undefined
    }
    return text
  }
}

type ReadValue = (recipient: Recipient) => unknown
type Filter = { read: (value: unknown) => unknown; isFree: boolean }

function pieceOf({ terms, filters }: Expression, { html, isUrl }: { html: boolean; isUrl: boolean }): Piece | undefined {
  const [term] = terms
  const read = terms.length === 1 && term!.kind !== 'operator' ? readOf(term as Operand) : undefined
  const isRaw = filters.at(-1)?.name === 'raw'
  const steps = (isRaw ? filters.slice(0, -1) : filters).map(filterOf)
  if (!read || !steps.every((step) => step !== undefined)) return undefined
  const write = isUrl && !isRaw ? safeUrl : print
  const isEscaped = html && !isRaw
  return (recipient, budget) => {
    let value = read(recipient)
    for (const { read: apply, isFree } of steps) {
      if (!isFree && !pay(budget, value)) return undefined
      value = apply(value)
    }
    if (!pay(budget, value)) return undefined
    return isEscaped ? escapeHtml(write(value)) : write(value)
  }
}

/** For the characters that the next step will read. Lists may print less than they cost to walk, so their JSON counts. */
function pay(budget: Budget, value: unknown) {
  if (typeof value === 'string') budget.characters -= value.length
  else if (typeof value === 'object' && value !== null) budget.characters -= JSON.stringify(value).length
  return budget.characters >= 0
}

function readOf(operand: Operand): ReadValue | undefined {
  if (operand.kind === 'literal') return () => operand.value
  if (operand.kind === 'path') {
    const path = operand.segments
    // An index counts from the end when it is negative, and ends and lengths are computed: the engine knows how.
    if (!path.every((segment) => typeof segment === 'string' && !COMPUTED.has(segment))) return undefined
    return (recipient) => lookUpVariable(recipient, path as string[])
  }
  if (operand.kind !== 'fallback') return undefined
  const first = readOf(operand.first)
  const others = operand.others.map(readOf)
  if (!first || !others.every((other) => other !== undefined)) return undefined
  return (recipient) => others.reduce<unknown>((value, other) => fallBack(value, other(recipient)), first(recipient))
}

function filterOf({ name, args }: Expression['filters'][number]): Filter | undefined {
  const plain = Object.hasOwn(PLAIN_FILTERS, name) && args.length === 0 ? PLAIN_FILTERS[name]! : undefined
  if (plain) return { read: plain, isFree: false }
  const [only] = args
  if (name !== 'default' || args.length !== 1 || only!.key || only!.value.kind !== 'literal') return undefined
  const { value: otherwise } = only!.value
  return { read: (value) => ((Array.isArray(value) ? value.length : value) ? value : otherwise), isFree: true }
}
