import { AppError } from '../lib/errors.ts'
import { createFairQueue } from '../lib/fair-queue.ts'
import { createProgress, createThreadPool, spareCores, watchProgress } from '../lib/thread-pool.ts'
import { createYield } from '../lib/yield-to-loop.ts'
import { type Simple, simplify } from './language/fast-path.ts'
import {
  COMPILE_MS,
  MAX_PROCESSED_HERE,
  MAX_PROCESSED_PER_CALL,
  MAX_SOURCE_HERE,
  MAX_VARIABLES_HERE,
  RENDER_MS,
  TEXT_MS,
  THREAD_HEAP_MB,
  WAIT_MS,
} from './language/limits.ts'
import { prepare } from './language/prepare.ts'
import { createRecent } from './language/source-cache.ts'
import { TemplateSyntaxError } from './language/syntax-error.ts'
import type { Recipient } from './language/variables.ts'
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

/** Asked for a reason not to try before each attempt in a thread, so that a template that keeps timing out is given up. */
type Guard = { refusal: () => string | undefined; timedOut: (reason: string) => void }

type Options = {
  /** Projects share the threads. Calls without one share a turn. */
  projectId?: string
  /** Lower ones first. */
  priority?: number
  guard?: Guard
  /** Asked before each attempt in a thread. True: the caller no longer wants the results, and gets a StoppedError. */
  isStopped?: () => boolean
}

export class StoppedError extends Error {}

/** A mail that cannot be rendered is a result like any other. */
export async function renderMail(template: TemplateSource, recipient: Recipient, options: Options = {}): Promise<Rendered> {
  const [rendered] = await renderMails(template, [recipient], options)
  return rendered!
}

/**
 * One template for many. A recipient whose mail takes too long or too much fails alone, with the reason; all others are rendered.
 * Templates that only fill in variables are rendered here, all others in threads that can be killed.
 */
export async function renderMails(template: TemplateSource, recipients: Recipient[], options: Options = {}): Promise<Rendered[]> {
  if (isLargeLiteral(template.body)) return renderAround(template, recipients, options)
  const simple = simpleOf(template)
  if (!simple) return renderInThreads(template, recipients, options)
  const results = await renderHere(simple, recipients)
  const tooLong = recipients.filter((_, index) => !results[index])
  const others = tooLong.length ? await renderInThreads(template, tooLong, options) : []
  return results.map((result) => result ?? others.shift()!)
}

/** A body without tags is the same for every recipient and may be of any size: only the subject is rendered. */
async function renderAround({ subject, body }: TemplateSource, recipients: Recipient[], options: Options): Promise<Rendered[]> {
  const results = await renderMails({ subject, body: '' }, recipients, options)
  return results.map((result) => (result.ok ? { ...result, html: body } : result))
}

export const hasTags = (source: string) => source.includes('{{') || source.includes('{%')

/** Not for small ones: what is known of those is found without reading them in full. */
const isLargeLiteral = (source: string) => source.length > MAX_SOURCE_HERE && !hasTags(source)

/** What is wrong with a template, if anything. Nothing is rendered. */
export async function checkTemplate(template: TemplateSource, projectId?: string): Promise<SyntaxProblem[]> {
  if (isLargeLiteral(template.body)) return checkTemplate({ ...template, body: '' }, projectId)
  if (simpleOf(template)) return []
  const known = checked.get(keyOf(template))
  if (known) return known
  const { problems } = await inspectTemplate(template, projectId)
  checked.set(keyOf(template), problems, 2 * keyOf(template).length)
  return problems
}

/** The same, and which variables it uses if nothing is wrong. */
export async function inspectTemplate(template: TemplateSource, projectId?: string): Promise<Inspection> {
  const outcome = await inTurn(projectId, () => runInThread<Inspection>('inspect', { template }))
  return outcome.done ?? Promise.reject(new Error(`a template could not be read: ${outcome.reason}`))
}

/** The text part of an email with this HTML. In a thread, because HTML of a megabyte takes a noticeable part of a second. */
export async function textOf(html: string, projectId: string): Promise<{ ok: true; text: string } | { ok: false; reason: string }> {
  const outcome = await inTurn(projectId, () => runInThread<string>('toText', { html }))
  return outcome.done === undefined ? { ok: false, reason: outcome.reason } : { ok: true, text: outcome.done }
}

// What is known of templates -------------------------------------------------------------------------------------------

const RECENT = { entries: 1_000, bytes: 20_000_000 }
const BYTES_PER_VARIABLE = 500
const simples = { subject: createRecent<KnownTemplate>({ ...RECENT, bytes: 2_000_000 }), body: createRecent<KnownTemplate>(RECENT) }
type KnownTemplate = { render: Simple | undefined }
const checked = createRecent<SyntaxProblem[]>(RECENT)

const keyOf = ({ subject, body }: TemplateSource) => `${subject}\n${body}`

type SimpleMail = { subject: Simple; body: Simple }

function simpleOf({ subject, body }: TemplateSource): SimpleMail | undefined {
  const parts = { subject: simplified(subject, 'subject'), body: simplified(body, 'body') }
  return parts.subject && parts.body ? (parts as SimpleMail) : undefined
}

function simplified(source: string, part: keyof typeof simples): Simple | undefined {
  const known = simples[part].get(source)
  if (known) return known.render
  const render = readSimple(source, part === 'body')
  simples[part].set(source, { render }, 2 * source.length + (render ? BYTES_PER_VARIABLE * countVariables(source) : 0))
  return render
}

const countVariables = (source: string) => source.split('{{').length - 1

function readSimple(source: string, html: boolean) {
  // Reading thousands of tags takes a tenth of a second: not here.
  if (source.length > MAX_SOURCE_HERE || source.includes('{%') || countVariables(source) > MAX_VARIABLES_HERE) return undefined
  try {
    return simplify(prepare(source, { html }), { html })
  } catch (err) {
    if (err instanceof TemplateSyntaxError) return undefined // the threads say what is wrong
    throw err
  }
}

// On the main thread --------------------------------------------------------------------------------------------------

/** Undefined for recipients whose mail is too long, or too much work, to be made here. */
async function renderHere({ subject, body }: SimpleMail, recipients: Recipient[]): Promise<(Rendered | undefined)[]> {
  const results: (Rendered | undefined)[] = []
  const pause = createYield()
  let left = MAX_PROCESSED_PER_CALL
  for (const recipient of recipients) {
    const allowed = Math.min(left, MAX_PROCESSED_HERE)
    const budget = { characters: allowed }
    const mail = left > 0 ? { subject: subject(recipient, budget), html: body(recipient, budget) } : NOTHING
    left -= allowed - budget.characters
    results.push(
      mail.subject === undefined || mail.html === undefined ? undefined : finishRendering(mail as { subject: string; html: string }),
    )
    await pause()
  }
  return results
}

const NOTHING = { subject: undefined, html: undefined }

// In threads ----------------------------------------------------------------------------------------------------------

async function renderInThreads(template: TemplateSource, recipients: Recipient[], options: Options): Promise<Rendered[]> {
  const results: Rendered[] = []
  let waiting = recipients.map((_, index) => index)
  while (waiting.length) {
    const batch = waiting.map((index) => recipients[index]!)
    const some = await inTurn(options.projectId, () => renderSome(template, batch, options), options.priority)
    for (const [position, result] of some) results[waiting[position]!] = result
    waiting = waiting.filter((index) => !results[index])
  }
  return results
}

/** Results by position, at least one: as many as a thread returned in its turn, or that of the recipient it was killed at. */
async function renderSome(template: TemplateSource, recipients: Recipient[], { guard, isStopped }: Options) {
  if (isStopped?.()) throw new StoppedError()
  const refusal = guard?.refusal()
  if (refusal !== undefined) return recipients.map((): Rendered => ({ ok: false, reason: refusal })).entries()
  const outcome = await runInThread<Rendered[]>('render', { template, recipients })
  const results: [number, Rendered][] = outcome.done ? [...outcome.done.entries()] : failuresOf(outcome, recipients.length)
  for (const [, result] of results) if (!result.ok && result.reason === RENDER_FAILURES.time) guard?.timedOut(result.reason)
  return results
}

/** The thread is gone. A template that cannot even be read fails for all; otherwise one recipient did that. */
const failuresOf = ({ at, reason }: { at: number; reason: string }, count: number): [number, Rendered][] =>
  at === COMPILING ? Array.from({ length: count }, (_, index) => [index, { ok: false, reason }]) : [[at, { ok: false, reason }]]

type Outcome<Result> = { done: Result } | { done?: undefined; at: number; reason: string }

/** Watches how far the thread is, and kills it when one mail takes too long: no engine's own limit holds in every filter. */
async function runInThread<Result>(name: 'render' | 'inspect' | 'toText', work: object): Promise<Outcome<Result>> {
  const progress = createProgress(WAITING)
  const killer = new AbortController()
  const stopWatching = watchProgress(progress, patience, () => killer.abort())
  try {
    return { done: await threads().run({ ...work, progress }, { name, signal: killer.signal }) }
  } catch (err) {
    const at = Atomics.load(progress, 0)
    // Reading is bounded by the size of a template: what takes this long waits for the processor.
    if (at === WAITING || (at === COMPILING && killer.signal.aborted))
      throw new AppError('SERVICE_UNAVAILABLE', { retryAfter: 1, cause: err })
    if (killer.signal.aborted) return { at, reason: at === CONVERTING ? RENDER_FAILURES.text : RENDER_FAILURES.time }
    if ((err as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') return { at, reason: RENDER_FAILURES.memory }
    throw err
  } finally {
    stopWatching()
  }
}

function patience(at: number) {
  if (at === WAITING) return WAIT_MS
  if (at === COMPILING) return COMPILE_MS
  return at === CONVERTING ? TEXT_MS : RENDER_MS
}

const MOST_THREADS = spareCores(2, 4)
const MAX_WAITING = 1_000
const queue = createFairQueue({ slots: MOST_THREADS, maxWaiting: MAX_WAITING, maxWaitMs: WAIT_MS })
const inTurn = <T>(projectId = '', work: () => Promise<T>, priority = 0) => queue.run(projectId, priority, work)

let pool: ReturnType<typeof createThreadPool> | undefined

/** Started with the first template that needs them. */
function threads() {
  pool ??= createThreadPool({
    file: 'render-thread',
    from: import.meta.url,
    // One for a newcomer beside a project that keeps the other busy: starting a thread takes longer than most of its work.
    minThreads: 2,
    maxThreads: MOST_THREADS,
    heapMb: THREAD_HEAP_MB,
  })
  return pool
}
