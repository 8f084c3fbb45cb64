import { type Block as FastBlock, nestSteps, type Output, type Step, type TagStep } from './blocks.ts'
import { isBlank } from './characters.ts'
import { type Either, type LiquidExpression, type Operand, type Path, printExpression, printOperand } from './expression.ts'
import { MAX_BLOCK_DEPTH } from './limits.ts'
import { createReader, readAsName } from './read-expression.ts'
import { refuse } from './syntax-error.ts'
import { type Part, tokenize } from './tokenize.ts'
import { isStandard } from './variables.ts'

type Tag = Extract<Part, { kind: 'tag' }>
type Block = { name: string; start: number; locals: string[] }

/** The parts of an email that are templates. */
export type SourceField = 'subject' | 'previewText' | 'body'

/**
 * A variable of the recipient that a template uses. `data.x` and `x` are the same field: `["x"]`. `operands`: it is the name of a field, or an
 * expression of these, see `settleNames`. `field`: the part of the email whose character `start` is meant.
 */
export type Reference = { path: string[]; start: number; needsValue: boolean; operands?: Reference[]; field?: SourceField }

export type Prepared = {
  /** Plain Liquid: no `??`, no names with spaces. */
  liquid: string
  /** Start of each part in `liquid` and in the source. */
  places: { liquid: number; source: number }[]
  references: Reference[]
  /** Texts, outputs, conditions and loops, if the template has no other parts. */
  block: FastBlock | undefined
}

const CLOSES: Record<string, string> = {
  endif: 'if',
  endunless: 'unless',
  endfor: 'for',
  endtablerow: 'tablerow',
  endcase: 'case',
  endcapture: 'capture',
  endraw: 'raw',
  endcomment: 'comment',
}
const OPENS = new Set(Object.values(CLOSES))
/** Tags whose arguments are not rewritten. */
const VERBATIM = new Set(['#', 'else', 'break', 'continue', 'increment', 'decrement', 'capture', 'raw', 'comment'])
const COMMENTS = new Set(['#', 'comment', 'endcomment'])
const LOOP_WORDS = new Set(['reversed', 'limit', 'offset', 'cols'])
const FORBIDDEN = new Set(['include', 'render', 'layout', 'block', 'liquid'])
const URL_ATTRIBUTE = /\s(?:href|src|action|formaction|background|poster|cite)\s*=\s*["']?\s*$/i

/** Parses a template, throws a TemplateSyntaxError if it is invalid, and rewrites it to plain Liquid. Linear in its length. */
export function prepare(source: string, { html }: { html: boolean }): Prepared {
  const parts = tokenize(source)
  const found: Findings = { source, blocks: [], steps: [], locals: new Set(), tested: new Set(), references: [] }
  const places: Prepared['places'] = []
  let liquid = ''
  let before = ''
  for (const [index, part] of parts.entries()) {
    places.push({ liquid: liquid.length, source: part.start })
    const text = source.slice(part.start, part.end)
    if (part.kind === 'text') {
      before = text.length < 100 ? (before + text).slice(-100) : text.slice(-100)
      found.steps.push(withoutTrimmed(source, parts, index))
      liquid += text
    } else if (part.kind === 'output') {
      const output = readOutput(found, part, html && startsUrl(before))
      found.steps.push(output)
      liquid += rewrite(text, part, printOutput(output))
    } else liquid += part.kind === 'tag' ? rewriteTag(found, part, text) : part.kind === 'raw' ? text : ''
  }
  const open = found.blocks.at(-1)
  if (open) refuse(source, open.start, `{% ${open.name} %} is not closed by {% end${open.name} %}.`)
  return { liquid, places, references: dropTested(found), block: nestSteps(found.steps) }
}

// Most outputs do not follow a quote or an equals sign; checking the last character first is faster.
const startsUrl = (before: string) => /["'=\s]$/.test(before.slice(-1)) && URL_ATTRIBUTE.test(before)

/** A text without the blanks that a dash in the braces before or after it removes. */
function withoutTrimmed(source: string, parts: Part[], index: number) {
  let { start, end } = parts[index]!
  if (index > 0 && source[start - 3] === '-') while (start < end && isBlank(source, start)) start++
  if (index < parts.length - 1 && source[end + 2] === '-') while (end > start && isBlank(source, end - 1)) end--
  return source.slice(start, end)
}

/** Replaces the content between the braces; braces and dashes stay. */
const rewrite = (text: string, { start, from, to }: { start: number; from: number; to: number }, inner: string) =>
  `${text.slice(0, from - start)}${inner}${text.slice(to - start)}`

const printOutput = ({ expression, isUrl }: Output) => {
  const asIs = !isUrl || expression.filters.at(-1)?.name === 'raw'
  return asIs ? printExpression(expression) : `${printExpression(expression)} | url_attribute`
}

type Findings = {
  source: string
  blocks: Block[]
  steps: Step[]
  /** Names that the template defines. */
  locals: Set<string>
  /** Variables that are tested in a condition, so that they may be missing. */
  tested: Set<string>
  references: Reference[]
}

function readOutput(found: Findings, { start, from, to }: { start: number; from: number; to: number }, isUrl: boolean): Output {
  if (from === to) refuse(found.source, start, 'There is nothing between {{ and }}.')
  const reader = createReader(found.source, from, to, { isOutput: true })
  const read = reader.expression()
  reader.end()
  const name = readAsName(found.source, { from, to }, read)
  const expression = name ? { terms: [eitherOf(found, name, read)], filters: read.filters } : read
  collect(found, expression)
  return { expression, isUrl }
}

function eitherOf(found: Findings, { name, path }: NonNullable<ReturnType<typeof readAsName>>, { terms }: LiquidExpression): Either {
  const operands = terms.filter((term) => term.kind !== 'operator').map((term) => (term.kind === 'fallback' ? term.first : term))
  const paths = operands.map((operand) => (operand.kind === 'path' ? rootOf(operand) : undefined))
  const isCertain = paths.some((root) => !root || (root.length === 1 && (isLocal(found, root[0]!) || isStandard(root[0]!))))
  const decides = { name: path.segments as string[], operands: paths.filter((root) => root !== undefined), isCertain }
  return { kind: 'either', name, path, expression: { terms, filters: [] }, decides }
}

/** The field that a path begins with: `["a"]`, or `["data", "a"]`. */
function rootOf({ segments }: Path) {
  const [first, second] = segments
  if (typeof first !== 'string') return undefined
  return first === 'data' && typeof second === 'string' ? [first, second] : [first]
}

const isLocal = ({ locals, blocks }: Findings, name: string) => locals.has(name) || blocks.some((block) => block.locals.includes(name))

function rewriteTag(found: Findings, tag: Tag, text: string): string {
  const { source } = found
  const { name, start, from, to } = tag
  if (FORBIDDEN.has(name)) refuse(source, start, `The tag "${name}" is not available.`)
  const step: TagStep = { tag: name, hasArguments: from + name.length < to }
  if (!COMMENTS.has(name)) found.steps.push(step)
  if (Object.hasOwn(CLOSES, name)) return closeBlock(found, tag, text)
  if (name === 'echo') return rewriteEcho(found, tag, text)
  const inner = rewriteArguments(found, tag, step)
  if (OPENS.has(name)) openBlock(found, tag)
  return rewrite(text, tag, inner)
}

/** Rewritten to an output: the `echo` of the engine would escape captured markup again. */
function rewriteEcho(found: Findings, { name, from, to }: Tag, text: string) {
  const value = printExpression(readExpression(found, { from: from + name.length, to }))
  return `{{${text[2] === '-' ? '-' : ''} ${value} ${text.at(-3) === '-' ? '-' : ''}}}`
}

/** Also notes the condition or the list of the tag in its step. */
function rewriteArguments(found: Findings, { name, start, from, to }: Tag, step: TagStep): string {
  const { source } = found
  const args = { from: from + name.length, to }
  if (VERBATIM.has(name)) {
    const written = source.slice(args.from, to)
    if (name !== '#' && written.includes('??')) refuse(source, args.from + written.indexOf('??'), `"??" cannot be used in {% ${name} %}.`)
    if (name === 'capture' || name === 'increment' || name === 'decrement') found.locals.add(written.trim().replace(/^["']|["']$/g, ''))
    return source.slice(from, to)
  }
  if (name === 'if' || name === 'elsif' || name === 'unless' || name === 'case') {
    step.test = readExpression(found, args, { isTest: true })
    return `${name} ${printExpression(step.test)}`
  }
  if (name === 'when') return `${name} ${readList(found, args)}`
  if (name === 'cycle') return `${name} ${readCycle(found, args)}`
  if (name === 'assign') return readAssignment(found, args)
  if (name === 'for' || name === 'tablerow') return readLoop(found, step, args)
  return refuse(source, start, `Unknown tag "${name.slice(0, 50)}".`)
}

type Range = { from: number; to: number }

function readExpression(found: Findings, { from, to }: Range, { isTest = false } = {}) {
  const reader = createReader(found.source, from, to)
  const expression = reader.expression()
  reader.end()
  collect(found, expression, isTest)
  return expression
}

function readList(found: Findings, { from, to }: Range) {
  const reader = createReader(found.source, from, to)
  const values: Operand[] = []
  do values.push(reader.operand())
  while (reader.take(',') || reader.take('or'))
  reader.end()
  for (const value of values) collectOperand(found, value, { needsValue: false })
  return values.map(printOperand).join(', ')
}

/** `a, b, c`, optionally with a group: `rows: a, b`. */
function readCycle(found: Findings, { from, to }: Range) {
  const reader = createReader(found.source, from, to)
  const values = [reader.operand()]
  const group = reader.take(':') ? values.pop() : undefined
  if (group) values.push(reader.operand())
  while (reader.take(',')) values.push(reader.operand())
  reader.end()
  for (const value of values) collectOperand(found, value, { needsValue: true })
  return `${group ? `${printOperand(group)}: ` : ''}${values.map(printOperand).join(', ')}`
}

function readAssignment(found: Findings, { from, to }: Range) {
  const reader = createReader(found.source, from, to)
  const local = reader.identifier()
  if (!reader.take('=')) reader.end()
  const expression = reader.expression()
  reader.end()
  collect(found, expression)
  found.locals.add(local)
  return `assign ${local} = ${printExpression(expression)}`
}

function readLoop(found: Findings, step: TagStep, { from, to }: Range) {
  const { tag: name } = step
  const reader = createReader(found.source, from, to, { stops: LOOP_WORDS })
  const local = reader.identifier()
  if (reader.identifier() !== 'in') refuse(found.source, from, `Write {% ${name} item in list %}.`)
  const list = reader.operand()
  collectOperand(found, list, { needsValue: true })
  const options = reader.rest().trim()
  if (options === '') step.loop = { local, list }
  return `${name} ${local} in ${printOperand(list)} ${options}`
}

function openBlock({ source, blocks }: Findings, { name, start, from, to }: Tag) {
  if (blocks.length === MAX_BLOCK_DEPTH) refuse(source, start, `Blocks are nested more than ${MAX_BLOCK_DEPTH} deep.`)
  const loops = name === 'for' || name === 'tablerow'
  const local = loops ? createReader(source, from + name.length, to).identifier() : ''
  blocks.push({ name, start, locals: loops ? [local, 'forloop', 'tablerowloop'] : [] })
}

function closeBlock({ source, blocks }: Findings, { name, start }: Tag, text: string) {
  const open = blocks.pop()
  if (open?.name !== CLOSES[name]) {
    refuse(source, start, open ? `{% ${name} %} does not close {% ${open.name} %}.` : `{% ${name} %} closes nothing.`)
  }
  // The engine does not support a dash before `endraw`.
  return name === 'endraw' ? text.replace(/^\{%-/, '{%') : text
}

function collect(found: Findings, { terms, filters }: LiquidExpression, isTest = false) {
  const needsValue = !isTest && !filters.some(({ name }) => name === 'default' || name === 'fallback')
  for (const term of terms) if (term.kind !== 'operator') collectOperand(found, term, { needsValue, isTest })
  for (const { args } of filters) for (const { value } of args) collectOperand(found, value, { needsValue: false })
}

function collectOperand(found: Findings, operand: Operand, use: { needsValue: boolean; isTest?: boolean }): void {
  if (operand.kind === 'path') collectPath(found, operand, use)
  else if (operand.kind === 'property') {
    collectOperand(found, operand.of, use)
    collectSegments(found, operand.segments)
  } else if (operand.kind === 'range') {
    collectOperand(found, operand.from, use)
    collectOperand(found, operand.to, use)
  } else if (operand.kind === 'group') collect(found, operand.expression, use.isTest)
  else if (operand.kind === 'fallback') {
    for (const each of [operand.first, ...operand.others]) collectOperand(found, each, { ...use, needsValue: false })
  } else if (operand.kind === 'either') collectEither(found, operand, use)
}

function collectEither(found: Findings, { name, expression, decides }: Either, use: { needsValue: boolean }) {
  const references = (collectInto: (within: Findings) => void) => {
    const within = { ...found, references: [] as Reference[] }
    collectInto(within)
    return within.references
  }
  const operands = references((within) => collect(within, use.needsValue ? expression : { ...expression, filters: DEFAULTED }))
  const [named, ...others] = decides.isCertain ? [] : references((within) => collectOperand(within, name, use))
  found.references.push(...(named ? [{ ...named, operands }, ...others] : operands))
}

/** As if a filter gave a default, so that none of the operands needs a value. */
const DEFAULTED: LiquidExpression['filters'] = [{ name: 'default', args: [] }]

function collectPath(found: Findings, { segments, start }: Path, { needsValue, isTest }: { needsValue: boolean; isTest?: boolean }) {
  const path = pathOf(segments)
  collectSegments(found, segments)
  const [first] = path
  if (first === undefined || isLocal(found, first)) return
  if (isTest) found.tested.add(JSON.stringify(path))
  found.references.push({ path, start, needsValue })
}

/** The static part of a path, without the optional `data.` before a field. */
function pathOf(segments: (string | Operand)[]) {
  const known: string[] = []
  for (const segment of segments) {
    if (typeof segment === 'string') known.push(segment)
    else if (segment.kind === 'literal') known.push(String(segment.value))
    else break
  }
  return known[0] === 'data' && known[1] !== undefined && !isStandard(known[1]) ? known.slice(1) : known
}

function collectSegments(found: Findings, segments: (string | Operand)[]) {
  for (const segment of segments) if (typeof segment !== 'string') collectOperand(found, segment, { needsValue: true })
}

const dropTested = ({ references, tested }: Pick<Findings, 'references' | 'tested'>): Reference[] =>
  references.map(({ operands, ...reference }) => ({
    ...reference,
    needsValue: reference.needsValue && !tested.has(JSON.stringify(reference.path)),
    ...(operands ? { operands: dropTested({ references: operands, tested }) } : {}),
  }))

/** Replaces names that are expressions after all, given what is known to have a value: as rendering decides, see `Either`. */
export const settleNames = (references: Reference[], isPresent: (path: string[]) => boolean): Reference[] =>
  references.flatMap(({ operands, ...reference }) =>
    !operands || isPresent(reference.path) || !operands.some(({ path }) => isPresent(path)) ? [reference] : operands,
  )
