import { AppError } from '../lib/errors.ts'
import { createPauses } from '../lib/pauses.ts'
import { createThreads, spareCores } from '../lib/threads.ts'
import { COMPILE_MS, MAX_SOURCE_HERE, MAX_VARIABLES_HERE, RENDER_MS, THREAD_HEAP_MB, WAIT_MS } from './language/limits.ts'
import { prepare } from './language/prepare.ts'
import { createRecent } from './language/recent.ts'
import { type Simple, simplify } from './language/simple.ts'
import { TemplateSyntaxError } from './language/syntax-error.ts'
import type { Recipient } from './language/variables.ts'
import { COMPILING, finish, type Inspection, REASONS, type Rendered, type SyntaxProblem, type Template, WAITING } from './mail.ts'

/** Throws nothing; a mail that cannot be rendered is a result like any other. */
export async function renderMail(template: Template, recipient: Recipient, options: { withText?: boolean } = {}): Promise<Rendered> {
  const [rendered] = await renderMails(template, [recipient], options)
  return rendered!
}

/**
 * One template for many. Whoever's mail takes too long or too much fails alone, with the reason; all others are rendered.
 * Templates that only fill in variables are rendered here, all others in threads that can be killed.
 */
export async function renderMails(template: Template, recipients: Recipient[], { withText = false } = {}): Promise<Rendered[]> {
  if (!withText && isLargeLiteral(template.body)) return renderAround(template, recipients)
  const simple = withText ? undefined : simpleOf(template)
  if (!simple) return renderInThreads(template, recipients, withText)
  const results = await renderHere(simple, recipients)
  const tooLong = recipients.filter((_, index) => !results[index])
  const others = tooLong.length ? await renderInThreads(template, tooLong, withText) : []
  return results.map((result) => result ?? others.shift()!)
}

/** A body without tags is the same for every recipient and may be of any size: only the subject is rendered. */
async function renderAround({ subject, body }: Template, recipients: Recipient[]): Promise<Rendered[]> {
  const results = await renderMails({ subject, body: '' }, recipients)
  return results.map((result) => (result.ok ? { ...result, html: body } : result))
}

export const hasTags = (source: string) => source.includes('{{') || source.includes('{%')

/** Not for small ones: what is known of those is found without reading them in full. */
const isLargeLiteral = (source: string) => source.length > MAX_SOURCE_HERE && !hasTags(source)

/** What is wrong with a template, if anything. Nothing is rendered. */
export async function checkTemplate(template: Template): Promise<SyntaxProblem[]> {
  if (isLargeLiteral(template.body)) return checkTemplate({ ...template, body: '' })
  if (simpleOf(template)) return []
  const known = checked.get(keyOf(template))
  if (known) return known
  const { problems } = await inspectTemplate(template)
  checked.set(keyOf(template), problems, 2 * keyOf(template).length)
  return problems
}

/** The same, and which variables it uses if nothing is wrong. */
export async function inspectTemplate(template: Template): Promise<Inspection> {
  const outcome = await runInThread<Inspection>('inspect', { template })
  return outcome.done ?? Promise.reject(new Error(`a template could not be read: ${outcome.reason}`))
}

// What is known of templates -------------------------------------------------------------------------------------------

const RECENT = { entries: 1_000, bytes: 20_000_000 }
const BYTES_PER_VARIABLE = 500
const simples = { subject: createRecent<Read>({ ...RECENT, bytes: 2_000_000 }), body: createRecent<Read>(RECENT) }
type Read = { render: Simple | undefined }
const checked = createRecent<SyntaxProblem[]>(RECENT)

const keyOf = ({ subject, body }: Template) => `${subject}\n${body}`

type SimpleMail = { subject: Simple; body: Simple }

function simpleOf({ subject, body }: Template): SimpleMail | undefined {
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

/** Undefined for those whose mail is too long to be made here. */
async function renderHere({ subject, body }: SimpleMail, recipients: Recipient[]): Promise<(Rendered | undefined)[]> {
  const results: (Rendered | undefined)[] = []
  const pause = createPauses()
  for (const recipient of recipients) {
    const mail = { subject: subject(recipient), html: body(recipient) }
    results.push(mail.subject === undefined || mail.html === undefined ? undefined : finish(mail as { subject: string; html: string }))
    await pause()
  }
  return results
}

// In threads ----------------------------------------------------------------------------------------------------------

async function renderInThreads(template: Template, recipients: Recipient[], withText: boolean): Promise<Rendered[]> {
  const results: Rendered[] = []
  for (let waiting = recipients.map((_, index) => index); waiting.length; ) {
    const outcome = await runInThread<Rendered[]>('render', { template, recipients: waiting.map((index) => recipients[index]!), withText })
    if (outcome.done) {
      waiting.forEach((index, position) => {
        results[index] = outcome.done[position]!
      })
      break
    }
    // The thread is gone, with what it had done. The one it was at has failed; everyone else is rendered again.
    const guilty = outcome.at === COMPILING ? waiting : [waiting[outcome.at]!]
    for (const index of guilty) results[index] = { ok: false, reason: outcome.reason }
    waiting = waiting.filter((index) => !guilty.includes(index))
  }
  return results
}

type Outcome<Result> = { done: Result } | { done?: undefined; at: number; reason: string }

const LOOK_EVERY_MS = 10

/** Watches how far the thread is, and kills it when one mail takes too long: no engine's own limit holds in every filter. */
async function runInThread<Result>(name: 'render' | 'inspect', work: object): Promise<Outcome<Result>> {
  const progress = new Int32Array(new SharedArrayBuffer(4)).fill(WAITING)
  const killer = new AbortController()
  let last = { at: WAITING, since: performance.now() }
  const watch = setInterval(() => {
    const at = Atomics.load(progress, 0)
    if (at !== last.at) last = { at, since: performance.now() }
    else if (performance.now() - last.since > patience(at)) killer.abort()
  }, LOOK_EVERY_MS)
  try {
    return { done: await threads().run({ ...work, progress }, { name, signal: killer.signal }) }
  } catch (err) {
    const at = Atomics.load(progress, 0)
    // Reading is bounded by the size of a template: what takes this long waits for the processor.
    if (at === WAITING || (at === COMPILING && killer.signal.aborted))
      throw new AppError('SERVICE_UNAVAILABLE', { retryAfter: 1, cause: err })
    if (killer.signal.aborted) return { at, reason: REASONS.time }
    if ((err as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY') return { at, reason: REASONS.memory }
    throw err
  } finally {
    clearInterval(watch)
  }
}

const patience = (at: number) => (at === WAITING ? WAIT_MS : at === COMPILING ? COMPILE_MS : RENDER_MS)

let pool: ReturnType<typeof createThreads> | undefined

/** Started with the first template that needs them. */
function threads() {
  pool ??= createThreads({
    file: 'render-thread',
    from: import.meta.url,
    least: 1,
    most: spareCores(2, 4),
    heapMb: THREAD_HEAP_MB,
  })
  return pool
}
