import { lowerPriority } from '../../lib/threads/lower-priority.ts'
import { createProgress, noteThread } from '../../lib/threads/thread-progress.ts'
import { readHtml } from '../../mime/html/html-to-text.ts'
import { compile, TooLongError, toSentence } from '../language/compile.ts'
import { MAX_TURN_OUTPUT, TURN_MS } from '../language/limits.ts'
import { limitHeapOfThread } from '../language/memory.ts'
import { TemplateSyntaxError } from '../language/syntax-error.ts'
import { TooSlowError } from '../language/time.ts'
import { type Recipient, scopeOf } from '../language/variables.ts'
import { referencesIn } from './references.ts'
import {
  COMPILING,
  CONVERTING,
  describeProblem,
  finishRendering,
  type Inspection,
  RENDER_FAILURES,
  type Rendered,
  type SyntaxProblem,
  type TemplateSource,
  WAITING,
} from './rendered-email.ts'

// Runs in a thread of the pool, which can be killed if a template takes too much time or memory.

lowerPriority()

type Work = { template: TemplateSource; recipients: Recipient[]; progress: Int32Array }

/**
 * Renders the recipients in order and stores the index of the current one in `progress`, which identifies a recipient that takes too long.
 * May return the results of the first recipients only, when these took long or are large: other projects wait for this thread, and returned results are
 * not lost if the thread is killed at a later recipient.
 */
export function render({ template, recipients, progress }: Work): Rendered[] {
  noteThread(progress)
  Atomics.store(progress, 0, COMPILING)
  const [problem] = problemsOf(template)
  if (problem) return recipients.map(() => ({ ok: false, reason: describeProblem(problem) }))
  const subject = compile(template.subject, { html: false })
  const previewText = compile(template.previewText ?? '', { html: false })
  const body = compile(template.body, { html: !template.isText })
  const results: Rendered[] = []
  const began = performance.now()
  let output = 0
  for (const recipient of recipients) {
    Atomics.store(progress, 0, results.length)
    const result = attempt(() => {
      const scope = scopeOf(recipient)
      return finishRendering({ subject: subject(scope), previewText: previewText(scope), html: body(scope) })
    })
    results.push(result)
    output += result.ok ? result.html.length : 0
    if (performance.now() - began > TURN_MS || output > MAX_TURN_OUTPUT) break
  }
  return results
}

export function toText({ html, progress }: { html: string; progress: Int32Array }): string {
  noteThread(progress)
  Atomics.store(progress, 0, CONVERTING)
  return readHtml(html).text
}

export function inspect({ template, progress }: { template: TemplateSource; progress: Int32Array }): Inspection {
  noteThread(progress)
  Atomics.store(progress, 0, COMPILING)
  const problems = problemsOf(template)
  return { problems, references: problems.length ? [] : referencesIn(template) }
}

const problemsOf = (template: TemplateSource): SyntaxProblem[] =>
  (['subject', 'previewText', 'body'] as const).flatMap((field) => {
    try {
      compile(template[field] ?? '', { html: field === 'body' && !template.isText })
      return []
    } catch (err) {
      if (err instanceof TemplateSyntaxError) return [{ field, message: err.message, line: err.line, column: err.column }]
      throw err
    }
  })

function attempt(render: () => Rendered): Rendered {
  try {
    return render()
  } catch (err) {
    return { ok: false, reason: explain(err as Error) }
  }
}

function explain(err: Error): string {
  const cause = (err as { originalError?: Error }).originalError ?? err
  if (cause instanceof TooLongError) return RENDER_FAILURES.output
  if (cause instanceof TooSlowError) return RENDER_FAILURES.time
  if (cause.message === 'memory alloc limit exceeded' || cause.message === 'Invalid string length') return RENDER_FAILURES.memory
  if (cause instanceof RangeError) return RENDER_FAILURES.memory
  return toSentence(cause.message)
}

limitHeapOfThread()

// Warm-up: first calls take many times as long as later ones, and must not make the first email exceed its time limit.
const SAMPLE = '<p>{% for i in (1..9) %}{% if i > 3 %}{{ email ?? "you" | upcase }}{% endif %}{% endfor %}<a href="{{ id }}">x</a></p>'
const SAMPLE_RECIPIENT = {
  id: '',
  email: '',
  subscribed: true,
  createdAt: '',
  unsubscribeUrl: '',
  subscribeUrl: '',
  manageUrl: '',
  data: {},
}
const WORK = { template: { subject: SAMPLE, body: SAMPLE }, recipients: Array<Recipient>(20).fill(SAMPLE_RECIPIENT) }
render({ ...WORK, progress: createProgress(WAITING) })
readHtml(SAMPLE)
