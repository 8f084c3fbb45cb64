import { escapeHtml } from '../../lib/html.ts'
import type { Expression, Operand } from './expression.ts'
import { MAX_OUTPUT_HERE } from './limits.ts'
import type { Prepared } from './prepare.ts'
import { fallBack, PLAIN_FILTERS, print, safeUrl } from './values.ts'
import { lookUp, type Recipient } from './variables.ts'

type Piece = string | ((recipient: Recipient) => string)
/** A template that only fills in variables. Undefined as a result: too long for here. */
export type Simple = (recipient: Recipient) => string | undefined

/** Engine words for the ends and length of lists; here they would be fields. */
const COMPUTED = new Set(['size', 'first', 'last'])

/**
 * A function that renders the template without the engine, when it consists of texts and variables with fallbacks and a few
 * filters. Its cost is bounded by what it prints, so it may run on the main thread; everything else goes to the threads.
 */
export function simplify({ sequence }: Prepared, { html }: { html: boolean }): Simple | undefined {
  if (!sequence) return undefined
  const pieces: Piece[] = []
  for (const part of sequence) {
    const piece = typeof part === 'string' ? part : pieceOf(part.expression, { html, isUrl: part.isUrl })
    if (piece === undefined) return undefined
    pieces.push(piece)
  }
  return (recipient) => {
    let text = ''
    for (const piece of pieces) {
      text += typeof piece === 'string' ? piece : piece(recipient)
      if (text.length > MAX_OUTPUT_HERE) return undefined
    }
    return text
  }
}

type Read = (recipient: Recipient) => unknown

function pieceOf({ terms, filters }: Expression, { html, isUrl }: { html: boolean; isUrl: boolean }): Piece | undefined {
  const [term] = terms
  let read: Read | undefined = terms.length === 1 && term!.kind !== 'operator' ? readOf(term as Operand) : undefined
  const isRaw = filters.at(-1)?.name === 'raw'
  for (const { name, args } of isRaw ? filters.slice(0, -1) : filters) {
    if (!read) return undefined
    read = filtered(read, name, args)
  }
  if (!read) return undefined
  const value = read
  const written = isUrl && !isRaw ? (recipient: Recipient) => safeUrl(value(recipient)) : (recipient: Recipient) => print(value(recipient))
  return html && !isRaw ? (recipient) => escapeHtml(written(recipient)) : written
}

function readOf(operand: Operand): Read | undefined {
  if (operand.kind === 'literal') return () => operand.value
  if (operand.kind === 'path') {
    const path = operand.segments
    // An index counts from the end when it is negative, and ends and lengths are computed: the engine knows how.
    if (!path.every((segment) => typeof segment === 'string' && !COMPUTED.has(segment))) return undefined
    return (recipient) => lookUp(recipient, path as string[])
  }
  if (operand.kind !== 'fallback') return undefined
  const first = readOf(operand.first)
  const others = operand.others.map(readOf)
  if (!first || !others.every((other) => other !== undefined)) return undefined
  return (recipient) => others.reduce<unknown>((value, other) => fallBack(value, other(recipient)), first(recipient))
}

function filtered(read: Read, name: string, args: Expression['filters'][number]['args']): Read | undefined {
  const plain = Object.hasOwn(PLAIN_FILTERS, name) && args.length === 0 ? PLAIN_FILTERS[name]! : undefined
  if (plain) return (recipient) => plain(read(recipient))
  const [only] = args
  if (name !== 'default' || args.length !== 1 || only!.key || only!.value.kind !== 'literal') return undefined
  const { value: otherwise } = only!.value
  return (recipient) => {
    const value = read(recipient)
    return (Array.isArray(value) ? value.length : value) ? value : otherwise
  }
}
