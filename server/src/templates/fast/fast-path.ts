import { escapeHtml } from '../../lib/text/html.ts'
import type { SlottedHtml } from '../../mime/compiled/slotted-html.ts'
import type { Block, Choice, Loop, Output } from '../language/blocks.ts'
import type { LiquidExpression, Operand } from '../language/expression.ts'
import { MAX_FAST_OUTPUT } from '../language/limits.ts'
import type { Prepared } from '../language/prepare.ts'
import { PLAIN_FILTERS, print, safeUrl } from '../language/values.ts'
import type { Recipient } from '../language/variables.ts'
import { compileTest } from './fast-condition.ts'
import { type Budget, charge, type FillScope, readOf } from './fast-values.ts'

/** A template of text, variables, conditions and loops. */
export type FastPath = {
  /** True when all values are escaped for HTML. */
  isEscaped: boolean
  /** Undefined if the email is too long, or too much work, for the main thread, or compares values that only the engine can. */
  fill(recipient: Recipient, budget: Budget): Filled | undefined
}
/** `isShared`: the texts are one array for all recipients that get these texts. */
type Filled = SlottedHtml & { isShared: boolean }

/**
 * Combinations of branches and numbers of items whose texts are kept, of one template. The emails of each are compiled, which takes longer than
 * to read a few of them.
 */
export const MAX_VARIANTS = 16

/** The text filled in so far. `path` names the branches taken and the items of lists: with the same path the texts are the same. */
type Run = FillScope & { texts: string[]; values: string[]; length: number; path: string }
/** Returns false once the email must be left to the threads. */
type Fill = (run: Run) => boolean
/** `names`: the local variable of each loop around. */
type Context = { html: boolean; names: string[] }

/**
 * Compiles a template to a function that needs no engine and may run on the main thread: text and variables with fallbacks and a few filters,
 * `if`, `unless` and `for`. Undefined for all other templates. The budget counts the characters that filters read, not those that are printed:
 * 48 filters on a variable of 65,000 blanks print nothing, and 200 such outputs take a second.
 */
export function compileFastPath({ block, liquid }: Prepared, { html }: { html: boolean }): FastPath | undefined {
  const fill = block && compileBlock(block, { html, names: [] })
  if (!fill) return undefined
  const shared = createVariants(MAX_VARIANTS * liquid.length)
  return {
    isEscaped: html && !hasRaw(block),
    fill(recipient, budget) {
      const run: Run = { recipient, budget, items: [], loop: undefined, texts: [''], values: [], length: 0, path: '' }
      if (!fill(run)) return undefined
      const texts = shared(run)
      return { texts: texts ?? run.texts, values: run.values, isShared: texts !== undefined }
    },
  }
}

/** Returns the texts to share; undefined when no more are kept. */
function createVariants(maxCharacters: number) {
  const variants = new Map<string, string[]>()
  let characters = 0
  return ({ path, texts }: Run): string[] | undefined => {
    const known = variants.get(path)
    if (known) return known
    const length = texts.reduce((sum, text) => sum + text.length, 0)
    if (variants.size === MAX_VARIANTS || characters + length > maxCharacters) return undefined
    characters += length
    variants.set(path, texts)
    return texts
  }
}

const isRaw = ({ filters }: LiquidExpression) => filters.at(-1)?.name === 'raw'

const hasRaw = (block: Block): boolean =>
  block.some((part) => {
    if (typeof part === 'string') return false
    if ('expression' in part) return isRaw(part.expression)
    return 'branches' in part ? part.branches.some((branch) => hasRaw(branch.block)) : hasRaw(part.block) || hasRaw(part.otherwise)
  })

function compileBlock(block: Block, context: Context): Fill | undefined {
  const fills = block.map((part) => compilePart(part, context))
  if (!fills.every((fill) => fill !== undefined)) return undefined
  return (run) => fills.every((fill) => fill(run))
}

function compilePart(part: Block[number], context: Context): Fill | undefined {
  if (typeof part === 'string') return fillText(part)
  if ('expression' in part) return compileOutput(part, context)
  return 'branches' in part ? compileChoice(part, context) : compileLoop(part, context)
}

const fillText =
  (text: string): Fill =>
  (run) => {
    run.texts[run.texts.length - 1] += text
    run.length += text.length
    return run.length <= MAX_FAST_OUTPUT
  }

function compileChoice({ branches }: Choice, context: Context): Fill | undefined {
  const compiled = branches.map(({ test, isNegated, block }) => {
    const holds = test ? compileTest(test, context.names) : () => true
    const fill = compileBlock(block, context)
    return holds && fill && { holds, isNegated, fill }
  })
  if (!compiled.every((branch) => branch !== undefined)) return undefined
  return (run) => {
    for (const [index, { holds, isNegated, fill }] of compiled.entries()) {
      const result = holds(run)
      if (result === undefined) return false
      if (result === isNegated) continue
      run.path += `${index},`
      return fill(run)
    }
    run.path += ','
    return true
  }
}

/** Charged for each item, so that their number is bounded too. */
const CHARACTERS_PER_ITEM = 100

function compileLoop({ local, list, block, otherwise }: Loop, context: Context): Fill | undefined {
  const read = readOf(list, context.names)
  const fill = compileBlock(block, { ...context, names: [...context.names, local] })
  const fillEmpty = compileBlock(otherwise, context)
  if (!read || !fill || !fillEmpty || local === 'forloop') return undefined
  return (run) => {
    const items = itemsOf(read(run))
    if (!items) return false
    run.path += `${items.length},`
    if (!items.length) return fillEmpty(run)
    const outer = run.loop
    const filled = items.every((item, at) => {
      run.budget.characters -= CHARACTERS_PER_ITEM
      if (run.budget.characters < 0) return false
      run.items[context.names.length] = item
      run.loop = { at, length: items.length }
      return fill(run)
    })
    run.loop = outer
    return filled
  }
}

/** Undefined for objects, whose properties the engine lists. */
function itemsOf(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (typeof value === 'object' && value !== null) return undefined
  return typeof value === 'string' && value !== '' ? [value] : []
}

type Filter = { read: (value: unknown) => unknown; isFree: boolean }

function compileOutput({ expression, isUrl }: Output, { html, names }: Context): Fill | undefined {
  const { terms, filters } = expression
  const [term] = terms
  const read = terms.length === 1 && term!.kind !== 'operator' ? readOf(term as Operand, names) : undefined
  const raw = isRaw(expression)
  const steps = (raw ? filters.slice(0, -1) : filters).map(filterOf)
  if (!read || !steps.every((step) => step !== undefined)) return undefined
  const write = isUrl && !raw ? safeUrl : print
  const isEscaped = html && !raw
  return (run) => {
    let value = read(run)
    for (const { read: apply, isFree } of steps) {
      if (!isFree && !charge(run.budget, value)) return false
      value = apply(value)
    }
    if (!charge(run.budget, value)) return false
    const text = isEscaped ? escapeHtml(write(value)) : write(value)
    run.values.push(text)
    run.texts.push('')
    run.length += text.length
    return run.length <= MAX_FAST_OUTPUT
  }
}

function filterOf({ name, args }: LiquidExpression['filters'][number]): Filter | undefined {
  const plain = Object.hasOwn(PLAIN_FILTERS, name) && args.length === 0 ? PLAIN_FILTERS[name]! : undefined
  if (plain) return { read: plain, isFree: false }
  const [only] = args
  if (name !== 'default' || args.length !== 1 || only!.key || only!.value.kind !== 'literal') return undefined
  const { value: otherwise } = only!.value
  return { read: (value) => ((Array.isArray(value) ? value.length : value) ? value : otherwise), isFree: true }
}
