import { createYield } from '../../lib/concurrency/yield-to-loop.ts'
import { AppError } from '../../lib/errors/errors.ts'
import { createFairSemaphore } from '../../lib/fair/semaphore.ts'
import { createThreadPool, spareCores, watchProgress } from '../../lib/threads/thread-pool.ts'
import { createProgress } from '../../lib/threads/thread-progress.ts'
import { joinSlots } from '../../mime/compiled/slotted-html.ts'
import { compileFastPath, type FastPath, MAX_VARIANTS } from '../fast/fast-path.ts'
import {
  COMPILE_MS,
  MAX_FAST_PROCESSED,
  MAX_FAST_PROCESSED_PER_CALL,
  MAX_FAST_SOURCE,
  MAX_FAST_TAGS,
  MAX_FAST_VARIABLES,
  RENDER_MS,
  TEXT_MS,
  THREAD_HEAP_MB,
  WAIT_MS,
} from '../language/limits.ts'
import { prepare } from '../language/prepare.ts'
import { createSourceCache } from '../language/source-cache.ts'
import { TemplateSyntaxError } from '../language/syntax-error.ts'
import type { Recipient } from '../language/variables.ts'
import {
  COMPILING,
  CONVERTING,
  finishRendering,
  type Inspection,
  RENDER_FAILURES,
  type Rendered,
  type SyntaxProblem,
  type TemplateSource,
  WAITING,
} from './rendered-email.ts'

/** Called before each attempt in a thread. A reason to refuse it ends a template that keeps timing out. */
type Guard = { refusal: () => string | undefined; timedOut: (reason: string) => void }

type Options = {
  /** Projects share the threads fairly. Calls without a project share one turn. */
  projectId?: string
  /** Lower values first. */
  priority?: number
  guard?: Guard
  /** Called before each attempt in a thread. True: the caller no longer needs the results, and gets a StoppedError. */
  isStopped?: () => boolean
}

export class StoppedError extends Error {}

/** Does not throw if the email cannot be rendered: the result has the reason. */
export async function renderEmail(template: TemplateSource, recipient: Recipient, options: Options = {}): Promise<Rendered> {
  const [rendered] = await renderEmails(template, [recipient], options)
  return rendered!
}

/**
 * Renders one template for many recipients. A recipient that exceeds a limit fails alone, with the reason. Templates of
 * variables, conditions and loops are rendered on the main thread, all others in threads that can be killed.
 */
export async function renderEmails(template: TemplateSource, recipients: Recipient[], options: Options = {}): Promise<Rendered[]> {
  if (isLargeLiteral(template.body)) return renderSubjectOnly(template, recipients, options)
  const simple = fastPathOf(template)
  if (!simple) return renderInThreads(template, recipients, options)
  const results = await renderFast(simple, recipients)
  const tooLong = recipients.filter((_, index) => !results[index])
  const others = tooLong.length ? await renderInThreads(template, tooLong, options) : []
  return results.map((result) => result ?? others.shift()!)
}

/** A body without tags is the same for every recipient and may have any size, so only the texts beside it are rendered. */
async function renderSubjectOnly(template: TemplateSource, recipients: Recipient[], options: Options): Promise<Rendered[]> {
  const results = await renderEmails({ ...template, body: '' }, recipients, options)
  return results.map((result) =>
    result.ok ? { ok: true, subject: result.subject, previewText: result.previewText, html: template.body } : result,
  )
}

export const hasTags = (source: string) => source.includes('{{') || source.includes('{%')

/** False for small bodies: these are cached, and found there without reading them in full. */
const isLargeLiteral = (source: string) => source.length > MAX_FAST_SOURCE && !hasTags(source)

/** Renders a text that is no email: values are not escaped. Does not throw if it cannot be rendered. */
export async function renderText(source: string, recipient: Recipient, options: Options = {}) {
  if (!hasTags(source)) return { ok: true as const, text: source }
  const rendered = await renderEmail({ subject: '', body: source, isText: true }, recipient, options)
  return rendered.ok ? { ok: true as const, text: rendered.html } : rendered
}

/** Syntax errors of a template. Renders nothing. */
export async function checkTemplate(template: TemplateSource, projectId?: string): Promise<SyntaxProblem[]> {
  if (isLargeLiteral(template.body)) return checkTemplate({ ...template, body: '' }, projectId)
  if (fastPathOf(template)) return []
  const known = checked.get(keyOf(template))
  if (known) return known
  const { problems } = await inspectTemplate(template, projectId)
  checked.set(keyOf(template), problems, 2 * keyOf(template).length)
  return problems
}

/** Syntax errors of a template, or the variables it uses if there are none. */
export async function inspectTemplate(template: TemplateSource, projectId?: string): Promise<Inspection> {
  const outcome = await withSlot(projectId ?? '', () => runInThread<Inspection>('inspect', { template }))
  return outcome.done ?? Promise.reject(new Error(`a template could not be parsed: ${outcome.reason}`))
}

/** The text part of an email with this HTML. In a thread, because HTML of a megabyte takes a noticeable part of a second. */
export async function textOf(html: string, projectId: string): Promise<{ ok: true; text: string } | { ok: false; reason: string }> {
  const outcome = await withSlot(projectId, () => runInThread<string>('toText', { html }))
  return outcome.done === undefined ? { ok: false, reason: outcome.reason } : { ok: true, text: outcome.done }
}

// Cache ----------------------------------------------------------------------------------------------------------------

const CACHE_LIMITS = { entries: 1_000, bytes: 20_000_000 }
const BYTES_PER_VARIABLE = 500
const fastPaths = {
  /** Subjects and preview texts. */
  line: createSourceCache<CachedFastPath>({ ...CACHE_LIMITS, bytes: 2_000_000 }),
  body: createSourceCache<CachedFastPath>(CACHE_LIMITS),
}
type CachedFastPath = { path: FastPath | undefined }
const checked = createSourceCache<SyntaxProblem[]>(CACHE_LIMITS)

const keyOf = ({ subject, previewText, body, isText }: TemplateSource) =>
  `${isText ? 'text' : 'html'}\n${subject}\n${previewText ?? ''}\n${body}`

type FastEmail = { subject: FastPath; previewText: FastPath; body: FastPath }

function fastPathOf({ subject, previewText, body, isText }: TemplateSource): FastEmail | undefined {
  const parts = {
    subject: cachedFastPath(subject, 'line'),
    previewText: cachedFastPath(previewText ?? '', 'line'),
    body: cachedFastPath(body, isText ? 'line' : 'body'),
  }
  return parts.subject && parts.previewText && parts.body ? (parts as FastEmail) : undefined
}

function cachedFastPath(source: string, part: keyof typeof fastPaths): FastPath | undefined {
  const known = fastPaths[part].get(source)
  if (known) return known.path
  const path = readFastPath(source, part === 'body')
  const [variables, tags] = [countOf(source, '{{'), countOf(source, '{%')]
  const texts = 2 * source.length * (path && tags > 0 ? MAX_VARIANTS : 1)
  fastPaths[part].set(source, { path }, texts + (path ? BYTES_PER_VARIABLE * (variables + tags) : 0))
  return path
}

const countOf = (source: string, opening: string) => source.split(opening).length - 1

function readFastPath(source: string, html: boolean) {
  // Parsing thousands of tags takes a tenth of a second: too long for the main thread.
  if (source.length > MAX_FAST_SOURCE || countOf(source, '{{') > MAX_FAST_VARIABLES || countOf(source, '{%') > MAX_FAST_TAGS)
    return undefined
  try {
    return compileFastPath(prepare(source, { html }), { html })
  } catch (err) {
    if (err instanceof TemplateSyntaxError) return undefined // the threads report the error
    throw err
  }
}

// On the main thread --------------------------------------------------------------------------------------------------

/** Undefined for recipients whose email is too long, or too much work, for the main thread. */
async function renderFast(email: FastEmail, recipients: Recipient[]): Promise<(Rendered | undefined)[]> {
  const results: (Rendered | undefined)[] = []
  const pause = createYield()
  let left = MAX_FAST_PROCESSED_PER_CALL
  for (const recipient of recipients) {
    const allowed = Math.min(left, MAX_FAST_PROCESSED)
    const budget = { characters: allowed }
    results.push(left > 0 ? fill(email, recipient, budget) : undefined)
    left -= allowed - budget.characters
    await pause()
  }
  return results
}

function fill({ subject, previewText, body }: FastEmail, recipient: Recipient, budget: { characters: number }): Rendered | undefined {
  const filledSubject = subject.fill(recipient, budget)
  const filledPreview = filledSubject && previewText.fill(recipient, budget)
  const filled = filledPreview && body.fill(recipient, budget)
  if (!filled) return undefined
  const { texts, values, isShared } = filled
  return finishRendering({
    subject: joinSlots(filledSubject),
    previewText: joinSlots(filledPreview),
    html: joinSlots(filled),
    ...(body.isEscaped && isShared ? { slots: { texts, values } } : {}),
  })
}

// In threads ----------------------------------------------------------------------------------------------------------

async function renderInThreads(template: TemplateSource, recipients: Recipient[], options: Options): Promise<Rendered[]> {
  const { projectId = '', priority = 0 } = options
  const results: Rendered[] = []
  let waiting = recipients.map((_, index) => index)
  while (waiting.length) {
    const batch = waiting.map((index) => recipients[index]!)
    const some = await withSlot(projectId, () => renderSome(template, batch, options), { priority })
    for (const [position, result] of some) results[waiting[position]!] = result
    waiting = waiting.filter((index) => !results[index])
  }
  return results
}

/** At least one result, by position: those that the thread returned in its turn, or that of the recipient at which it was killed. */
async function renderSome(template: TemplateSource, recipients: Recipient[], { guard, isStopped }: Options) {
  if (isStopped?.()) throw new StoppedError()
  const refusal = guard?.refusal()
  if (refusal !== undefined) return recipients.map((): Rendered => ({ ok: false, reason: refusal, untried: true })).entries()
  const outcome = await runInThread<Rendered[]>('render', { template, recipients })
  const results: [number, Rendered][] = outcome.done ? [...outcome.done.entries()] : failuresOf(outcome, recipients.length)
  for (const [, result] of results) if (!result.ok && result.reason === RENDER_FAILURES.time) guard?.timedOut(result.reason)
  return results
}

/** The thread was killed. While compiling, the template fails for all recipients; otherwise only for the current one. */
const failuresOf = ({ at, reason }: { at: number; reason: string }, count: number): [number, Rendered][] =>
  at === COMPILING ? Array.from({ length: count }, (_, index) => [index, { ok: false, reason }]) : [[at, { ok: false, reason }]]

type Outcome<Result> = { done: Result } | { done?: undefined; at: number; reason: string }

/** Kills the thread when one email exceeds its time limit: the limit of the engine does not hold within every filter. */
async function runInThread<Result>(name: 'render' | 'inspect' | 'toText', work: object): Promise<Outcome<Result>> {
  const progress = createProgress(WAITING)
  const killer = new AbortController()
  const stopWatching = watchProgress(progress, timeLimitAt, () => killer.abort())
  try {
    return { done: await threads().run({ ...work, progress }, { name, signal: killer.signal }) }
  } catch (err) {
    const at = Atomics.load(progress, 0)
    // Compiling is bounded by the size of a template: if it takes this long, the machine is overloaded.
    if (at === WAITING || (at === COMPILING && killer.signal.aborted))
      throw new AppError('SERVICE_UNAVAILABLE', { retryAfter: 1, cause: err })
    if (killer.signal.aborted) return { at, reason: at === CONVERTING ? RENDER_FAILURES.text : RENDER_FAILURES.time }
    if ((err as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') return { at, reason: RENDER_FAILURES.memory }
    throw err
  } finally {
    stopWatching()
  }
}

function timeLimitAt(at: number) {
  if (at === WAITING) return WAIT_MS
  if (at === COMPILING) return COMPILE_MS
  return at === CONVERTING ? TEXT_MS : RENDER_MS
}

const MAX_THREADS = spareCores(2, 4)
/** For one project. */
const MAX_WAITING = 500
const withSlot = createFairSemaphore({ slots: MAX_THREADS, maxWaiting: MAX_WAITING, maxWaitMs: WAIT_MS })

let pool: ReturnType<typeof createThreadPool> | undefined

/** Started by the first template that needs them. */
function threads() {
  pool ??= createThreadPool({
    file: 'render-thread',
    from: import.meta.url,
    // A second thread for other projects while one keeps the first busy: starting a thread takes longer than most of its work.
    minThreads: 2,
    maxThreads: MAX_THREADS,
    heapMb: THREAD_HEAP_MB,
  })
  return pool
}
