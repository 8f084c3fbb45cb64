import {
  CaptureTag,
  Context,
  Drop,
  type Emitter,
  type FilterImplOptions,
  ForTag,
  filters,
  Liquid,
  type LiquidError,
  TablerowTag,
  type Template,
  toValueSync,
} from 'liquidjs'
import { escapeHtml } from '../../lib/text/html.ts'
import type { NamePresence } from './expression.ts'
import { FILTERS } from './filters.ts'
import { ENGINE_MEMORY, GROUPED_ITEM_SIZE, ITEM_SIZE, MAX_OUTPUT, MAX_SOURCE } from './limits.ts'
import { assertPrintable, checkAllocations, checkHeap } from './memory.ts'
import { type Prepared, prepare } from './prepare.ts'
import { createSourceCache } from './source-cache.ts'
import { placeOf, TemplateSyntaxError } from './syntax-error.ts'
import { limitTime } from './time.ts'
import { isAbsent, PLAIN_FILTERS, print, safeUrl } from './values.ts'
import { hasPath } from './variables.ts'

/** The engine is loaded in render threads only: its parser and its filters can block for longer than other requests should wait. */
export type Compiled = (scope: object) => string

/** Memory the engine uses per tag. Without it in the estimate, a tenth of the cached templates would exhaust the heap of the thread. */
const BYTES_PER_PART = 3_000
const compiledTemplates = createSourceCache<Compiled>({ entries: 500, bytes: 40_000_000 })

export function compile(source: string, { html }: { html: boolean }): Compiled {
  const key = `${html ? 'html' : 'text'}:${source}`
  const known = compiledTemplates.get(key)
  if (known) return known
  const engine = html ? HTML : TEXT
  const prepared = prepare(source, { html })
  const templates = parse(engine, source, prepared)
  const compiled: Compiled = (scope) => render(engine, templates, scope)
  compiledTemplates.set(key, compiled, 2 * key.length + BYTES_PER_PART * prepared.places.length)
  return compiled
}

function parse(engine: Liquid, source: string, { liquid, places }: Prepared): Template[] {
  try {
    return engine.parse(liquid)
  } catch (err) {
    const { token, originalError } = err as LiquidError & { token?: { input: string; begin: number }; originalError?: Error }
    const at = token?.input === liquid ? sourceOf(places, token.begin) : 0
    throw new TemplateSyntaxError(toSentence((originalError ?? (err as Error)).message), placeOf(source, at))
  }
}

/** Position in the source of the part that the engine reports. */
const sourceOf = (places: Prepared['places'], begin: number) => places.findLast(({ liquid }) => liquid <= begin)?.source ?? 0

/** An error message of the engine, without its position, which refers to the rewritten template. */
export const toSentence = (message: string) => {
  const text = message
    .replace(/, line:\d+, col:\d+$/, '')
    .trim()
    .slice(0, 200)
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}

function render(engine: Liquid, templates: Template[], scope: object) {
  const context = new Context(scope, engine.options, { sync: true }, { liquid: engine })
  checkAllocations(context)
  limitTime(context)
  const emitter = cappedEmitter()
  toValueSync(engine.renderer.renderTemplates(templates, context, emitter))
  return emitter.buffer
}

export class TooLongError extends Error {}

function cappedEmitter(): Emitter & { buffer: string } {
  return {
    buffer: '',
    write(value: unknown) {
      this.buffer += printed(value)
      if (this.buffer.length > MAX_OUTPUT) throw new TooLongError()
    },
  }
}

/** Result of `capture`. Its values are already escaped, so it is printed as it is. Filters see a string. */
class Markup extends Drop {
  readonly #text: string
  constructor(text: string) {
    super()
    this.#text = text
  }
  override valueOf() {
    return this.#text
  }
  override liquidMethodMissing(key: string | number) {
    return key === 'size' ? this.#text.length : undefined
  }
}

class Capture extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    const emitter = cappedEmitter()
    yield this.liquid.renderer.renderTemplates(this.templates, context, emitter)
    context.memoryLimit.use(emitter.buffer.length)
    ;(context.bottom() as Record<string, unknown>)[this.variable] = new Markup(emitter.buffer)
  }
}

class For extends ForTag {
  override *render(context: Context, emitter: Emitter) {
    checkHeap()
    return yield* super.render(context, emitter)
  }
}

class Tablerow extends TablerowTag {
  override *render(context: Context, emitter: Emitter) {
    checkHeap()
    return yield* super.render(context, emitter)
  }
}

const plain = (value: unknown): unknown => (value instanceof Drop ? value.valueOf() : value)
const textOf = (value: unknown) => printed(plain(value))

function printed(value: unknown) {
  if (typeof value === 'object') assertPrintable(value)
  return print(value)
}

function urlOf(value: unknown) {
  const url = safeUrl(plain(value))
  return value instanceof Markup && url === value.valueOf() ? value : url
}

/** The value of a name, or that of the expression it may be as well. Not a filter for templates: `prepare` writes it. */
function chooseReading(this: { context: Context }, name: unknown, expression: unknown, decides: string) {
  const { name: path, operands, isCertain } = JSON.parse(decides) as NamePresence
  const has = (each: string[]) => hasPath(this.context.environments, each)
  return !has(path) && (isCertain || operands.some(has)) ? expression : name
}

/** Filters that may return their input. */
const KEEPS_MARKUP = new Set(['either', 'fallback', 'url_attribute'])
/** Filters that look at no more than an item of their input, or return it as it is. */
const TAKES_ANY_SIZE = new Set(['default', 'either', 'fallback', 'first', 'last', 'raw', 'size', 'url_attribute'])
const GROUPS = new Set(['group_by', 'group_by_exp'])

const ESCAPED_PART = 100_000

type FilterHandler = Extract<FilterImplOptions, (...args: never[]) => unknown>

function createEngine(escaped: (text: string) => string) {
  const engine = new Liquid({
    jsTruthy: true,
    strictFilters: true,
    ownPropertyOnly: true,
    groupedExpressions: true,
    outputEscape: (value) => (value instanceof Markup ? value.valueOf() : escaped(textOf(value))),
    // The output must not depend on the machine that renders it.
    timezoneOffset: 0,
    locale: 'en-US',
    // Templates cannot load files.
    templates: {},
    parseLimit: 2 * MAX_SOURCE,
    memoryLimit: ENGINE_MEMORY,
  })
  for (const name of ['include', 'render', 'layout', 'block', 'liquid']) delete engine.tags[name]
  for (const name of Object.keys(engine.filters)) if (!FILTERS.has(name)) engine.unregisterFilter(name)
  engine.registerTag('capture', Capture)
  engine.registerTag('for', For)
  engine.registerTag('tablerow', Tablerow)
  for (const [name, filter] of Object.entries(PLAIN_FILTERS)) engine.registerFilter(name, (value) => filter(plain(value)))
  engine.registerFilter('fallback', (value, otherwise) => (isAbsent(plain(value)) ? otherwise : value))
  engine.registerFilter('either', chooseReading)
  engine.registerFilter('url_attribute', urlOf)
  engine.registerFilter('raw', { raw: true, handler: textOf })
  // These return markup; escaping it again would show its entities to the recipient.
  engine.registerFilter('escape', { raw: true, handler: (value) => escapeHtml(textOf(value)) })
  engine.registerFilter('escape_once', { raw: true, handler: filters.escape_once as FilterHandler })
  engine.registerFilter('newline_to_br', { raw: true, handler: (value) => escaped(textOf(value)).replace(/\r?\n/g, '<br />\n') })
  for (const [name, filter] of Object.entries(engine.filters)) engine.registerFilter(name, bounded(filter, name))
  return engine
}

/**
 * Bounds the input and the output of a filter. V8 does not always throw at its own limits: splitting a string of 250 million characters
 * ends the whole process, whatever the thread.
 */
function bounded(filter: FilterImplOptions, name: string): FilterImplOptions {
  const { handler, raw } = typeof filter === 'function' ? { handler: filter, raw: false } : filter
  const takesText = !KEEPS_MARKUP.has(name)
  const itemSize = GROUPS.has(name) ? GROUPED_ITEM_SIZE : ITEM_SIZE
  return {
    raw,
    *handler(...given: unknown[]) {
      const [value, ...args] = takesText ? given.map(plain) : given
      // Before the filter runs: nothing can interrupt it.
      if (!TAKES_ANY_SIZE.has(name)) for (const each of [value, ...args]) assertPrintable(each, itemSize)
      const result: unknown = yield handler.call(this, value, ...args)
      const size = typeof result === 'string' || Array.isArray(result) ? result.length : 0
      if (size > ENGINE_MEMORY) throw new RangeError('too large')
      return result
    },
  }
}

/** In parts: replacing takes memory for each match, all at once. */
function escapeInParts(text: string) {
  if (text.length <= ESCAPED_PART) return escapeHtml(text)
  let escaped = ''
  for (let at = 0; at < text.length; at += ESCAPED_PART) {
    escaped += escapeHtml(text.slice(at, at + ESCAPED_PART))
    if (escaped.length > MAX_OUTPUT) throw new TooLongError()
  }
  return escaped
}

const HTML = createEngine(escapeInParts)
const TEXT = createEngine((text) => text)
