import { z } from 'zod'
import type { Db } from '../db/index.ts'
import { KB } from '../lib/text/units.ts'
import { HtmlParser } from '../mime/html/html-parser.ts'
import type { Place } from './design/out.ts'
import { expressionProblems, openEnds } from './design/problems.ts'
import type { Design } from './design/schema.ts'
import { findKnownFields, settleByFields } from './known-fields.ts'
import type { Reference } from './language/prepare.ts'
import { tokenize } from './language/tokenize.ts'
import { isStandard } from './language/variables.ts'
import { inspectTemplate } from './rendering/render.ts'
import { describeProblem, type SyntaxProblem, type TemplateSource } from './rendering/rendered-email.ts'
import type { TYPES } from './template.ts'

export const LintIssue = z.object({
  code: z.enum([
    'syntax_error',
    'missing_variable',
    'ambiguous_name',
    'empty_link',
    'broken_link',
    'insecure_link',
    'image_without_alt',
    'no_picture',
    'too_large',
    'no_unsubscribe_link',
  ]),
  severity: z.enum(['error', 'warning', 'info']),
  message: z.string(),
  line: z.int().optional().describe('Line of the body.'),
  blockId: z.string().optional().describe('Block of the design.'),
})
type Issue = z.output<typeof LintIssue>

/** Gmail clips larger emails and hides the rest behind a link. */
const CLIPPED_BYTES = 102 * KB
const MAX_ISSUES = 200

type Linted = TemplateSource & {
  type?: (typeof TYPES)[number] | undefined
  /** Where the blocks of a design are in the body. */
  places?: Place[] | undefined
}

export async function lintTemplate(db: Db, projectId: string, template: Linted) {
  const { problems, references } = await inspectTemplate(template, projectId)
  if (problems.length) return problems.map(toIssue)
  const issues: Issue[] = [
    ...(await missingVariables(db, projectId, template, references)),
    ...ambiguousNames(template),
    ...lintHtml(template.body, template.places),
  ]
  const size = Buffer.byteLength(template.body)
  if (size > CLIPPED_BYTES) {
    const message = `The body has ${Math.round(size / 1024)} KB. Gmail clips emails larger than 102 KB.`
    issues.push({ code: 'too_large', severity: 'warning', message })
  }
  if (template.type === 'MARKETING' && !references.some(({ path }) => path[0] === 'unsubscribeUrl' || path[0] === 'manageUrl')) {
    const message = 'There is no link to {{ unsubscribeUrl }}; a footer with one is added.'
    issues.push({ code: 'no_unsubscribe_link', severity: 'info', message })
  }
  return issues.slice(0, MAX_ISSUES)
}

/** Issues that only the design shows: expressions that rendering prints as typed, and parts that rendering leaves out. */
export function lintDesign(design: Design): Issue[] {
  const unreadable = expressionProblems(design).map((problem) => ({ ...problem, code: 'syntax_error', severity: 'error' }) as const)
  // A button without a link is found in the HTML.
  const unfinished = openEnds(design).flatMap((end) => (end.code === 'empty_link' ? [] : { ...end, severity: 'warning' as const }))
  return [...unreadable, ...unfinished]
    .slice(0, MAX_ISSUES)
    .map(({ code, severity, message, blockId }) => ({ code, severity, message, ...(blockId && { blockId }) }))
}

const SHOWN_FIELD = { subject: 'Subject: ', previewText: 'Preview text: ', body: '' }

const toIssue = (problem: SyntaxProblem): Issue => ({
  code: 'syntax_error',
  severity: 'error',
  message: `${SHOWN_FIELD[problem.field]}${describeProblem(problem)}`,
  ...(problem.field === 'body' ? { line: problem.line } : {}),
})

/**
 * Fields that are used without a fallback and that no contact of the project ever had: once for each block of a design that uses them, else
 * at the first line of the body.
 */
async function missingVariables(db: Db, projectId: string, { body, places }: Linted, references: Reference[]): Promise<Issue[]> {
  const settled = await settleByFields(db, projectId, references)
  const needed = settled.filter(({ path, needsValue }) => needsValue && !isStandard(path[0]!))
  const known = await findKnownFields(db, projectId, [...new Set(needed.map(({ path }) => path[0]!))])
  const unknown = needed.filter(({ path }) => !known.has(path[0]!)).sort((a, b) => a.start - b.start)
  const line = lineCounter(body)
  const issues = new Map<string, Issue>()
  const inBody = unknown.filter(({ field }) => field === 'body')
  for (const { path, start } of inBody) {
    const block = blockOf(places ?? [], start)
    const key = JSON.stringify([path, block?.blockId])
    if (!issues.has(key)) issues.set(key, { ...missingVariable(path), line: line(start), ...block })
  }
  const placed = new Set(inBody.map(({ path }) => path.join('.')))
  for (const { path } of unknown) if (!placed.has(path.join('.'))) issues.set(JSON.stringify([path]), missingVariable(path))
  return [...issues.values()]
}

function missingVariable(path: string[]): Issue {
  const name = path.join('.')
  const message = `No contact has a field "${name}", and there is no fallback: write {{ ${name} ?? "…" }}.`
  return { code: 'missing_variable', severity: 'warning', message }
}

const WORDS = /^[\p{L}\p{N}_]+(?: +[\p{L}\p{N}_]+)+$/u
const OPERATOR = / contains /
/** Names are short; longer text is an expression. */
const MAX_NAME = 255

/** Outputs that look like a field name of several words but are parsed as an expression, with their lines. */
function findAmbiguousNames(source: string) {
  const line = lineCounter(source)
  return tokenize(source).flatMap((part) => {
    if (part.kind !== 'output' || part.to - part.from > MAX_NAME) return []
    const [beforeFilters = ''] = source.slice(part.from, part.to).split(/\||\?\?/)
    const name = beforeFilters.trim()
    return WORDS.test(name) && OPERATOR.test(name) ? [{ name, line: line(part.start) }] : []
  })
}

const ambiguousNames = ({ subject, previewText, body }: TemplateSource): Issue[] =>
  [...[subject, previewText ?? ''].flatMap(findAmbiguousNames).map(({ name }) => ({ name })), ...findAmbiguousNames(body)].map(
    ({ name, ...place }) => ({
      code: 'ambiguous_name',
      severity: 'warning',
      message: `"${name}" is parsed as an expression, not as a field name. For the field write {{ data["${name}"] }}.`,
      ...place,
    }),
  )

/** Placeholder for the output of a variable. */
const OUTPUT = '\ue000'
const ALL_OUTPUTS = /\ue000+/g

/** Checks links and images, in the order of the source. */
function lintHtml(body: string, places: Place[] = []): Issue[] {
  const issues: Issue[] = []
  const line = lineCounter(body)
  const add = (code: Issue['code'], severity: Issue['severity'], message: string) =>
    issues.push({ code, severity, message, line: line(parser.startIndex), ...blockOf(places, parser.startIndex) })
  const parser = new HtmlParser({
    onopentag(name, { href, name: anchor, id, alt }) {
      if (issues.length >= MAX_ISSUES) return
      if (name === 'img' && alt === undefined) add('image_without_alt', 'warning', 'An image has no alt text.')
      if (name !== 'a' || (href === undefined && (anchor !== undefined || id !== undefined))) return
      const problem = findLinkProblem(href)
      if (problem) add(...problem)
    },
  })
  parser.end(maskTags(body))
  return issues
}

/** Inner blocks come first. */
function blockOf(places: Place[], at: number): { blockId: string } | undefined {
  const place = places.find(({ start, end }) => start <= at && at < end)
  return place && { blockId: place.blockId }
}

/** Positions must be ascending, so that a long text is read once and not once per issue. */
function lineCounter(text: string) {
  let line = 1
  let next = text.indexOf('\n')
  return (at: number) => {
    for (; next !== -1 && next < at; next = text.indexOf('\n', next + 1)) line++
    return line
  }
}

/** Replaces each character of a tag, because quotes in it would end the attribute around it. Positions stay the same. */
const maskTags = (body: string) =>
  tokenize(body)
    .map(({ kind, start, end }) => {
      const text = body.slice(start, end)
      if (kind === 'text' || kind === 'raw') return text
      return text.replace(/[^\n]/g, kind === 'output' ? OUTPUT : ' ')
    })
    .join('')

function findLinkProblem(href = ''): [Issue['code'], Issue['severity'], string] | undefined {
  const link = href.trim()
  if (link === '' || link === '#') return ['empty_link', 'warning', 'A link has no target.']
  if (link.startsWith(OUTPUT) || link.startsWith('#')) return undefined
  const shown = link.replace(ALL_OUTPUTS, '…').slice(0, 100)
  const filled = link.replace(ALL_OUTPUTS, 'x')
  if (!URL.canParse(filled)) return ['broken_link', 'error', `"${shown}" is not a complete URL.`]
  const { protocol } = new URL(filled)
  if (protocol === 'http:') return ['insecure_link', 'warning', `"${shown}" is not encrypted: use https.`]
  const known = ['https:', 'mailto:', 'tel:', 'sms:', 'webcal:'].includes(protocol)
  return known ? undefined : ['broken_link', 'error', `Email clients do not open "${shown}".`]
}
