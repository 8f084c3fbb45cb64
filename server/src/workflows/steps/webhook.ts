import { z } from 'zod'
import { parseAt } from '../../http/core/validate.ts'
import { invalid } from '../../lib/errors/errors.ts'
import type { SafeOutcome } from '../../lib/network/safe-fetch.ts'
import { refusalOfHeader, refusalOfUrl } from '../../lib/network/webhook-target.ts'
import { MASK } from '../../lib/text/mask.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../lib/text/units.ts'
import { checkTemplate, hasTags } from '../../templates/rendering/render.ts'
import { describeProblem } from '../../templates/rendering/rendered-email.ts'
import { hasSucceeded, reasonOf, waitAfter } from '../../webhooks/retry.ts'
import { CONTACT_GONE, type ConfigReading, later, type Running, type StepKind, type StepOutcome } from './step.ts'
import { buildWebhookRequest, type WebhookConfig, type WebhookRequest } from './webhook-request.ts'

const MAX_URL = 2_048
const MAX_HEADERS = 50
const MAX_HEADER_VALUE = 998
/** Time in which a webhook is tried again. */
const WEBHOOK_DEADLINE_MS = DAY
/** Waits before the second to the eighth attempt: together somewhat less than 24 hours. */
const WAITS_MS = [10 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 14 * HOUR]

const GivenConfig = z.object({
  url: z.string().trim().min(1).max(MAX_URL),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  headers: z.record(z.string(), z.string().max(MAX_HEADER_VALUE)).nullish(),
  body: z.unknown().optional(),
})

/** `gone`: the contact or the workflow is. */
export type WebhookAnswer = SafeOutcome | { is: 'gone' }
/** Undefined: no request was made yet. `request` in a simulation, which makes none. */
type WebhookFacts = { answer: WebhookAnswer; request: WebhookRequest | { problem: string } } | undefined
type AtWebhook = Pick<Running<WebhookConfig>, 'attempts' | 'deadlineAt' | 'step'>

export const webhookKind: StepKind<WebhookConfig, WebhookFacts> = {
  name: 'Webhook',
  async read(given, reading) {
    const { url, method, headers, body } = parseAt(GivenConfig, given, reading.at)
    const config = { url, method, headers: headers ?? {}, ...(body === undefined || body === null ? {} : { body }) }
    await checkWebhook(config, reading)
    return config
  },
  /** In a simulation every host answers with 200. */
  async facts(_db, { projectId, world }, executions) {
    if (!world) return []
    const [execution] = executions
    const request = await buildWebhookRequest({ ...execution!, ...world, config: execution!.step.config, projectId })
    const answer: WebhookAnswer =
      'problem' in request ? { is: 'refused', reason: request.problem, ms: 0 } : { is: 'status', status: 200, retryAfter: undefined, ms: 0 }
    return [{ answer, request }]
  },
  decide: (execution, facts, { now }) => decideWebhook(execution, facts?.answer, now),
  describe: ({ facts }) => facts?.request,
}

/** Without an answer the execution is handed over to webhooks.ts: a request takes up to 10 s, which no transaction may. */
export function decideWebhook(execution: AtWebhook, answer: WebhookAnswer | undefined, now: Date): StepOutcome {
  if (answer) return judge(execution, answer, now)
  const webhookHost = webhookHostOf(execution.step.config)
  return { is: 'wait', as: 'WAITING', until: now, deadlineAt: later(now, WEBHOOK_DEADLINE_MS), webhookHost }
}

/** Host and port; they contain no variable. */
const webhookHostOf = ({ url }: WebhookConfig) => (/^https?:\/\/([^/?#]*)/i.exec(url)?.[1] ?? '').toLowerCase()

/** The output holds status and duration only: the reply could be one of our own network. */
function judge(execution: AtWebhook, result: WebhookAnswer, now: Date): StepOutcome {
  if (result.is === 'gone') return CONTACT_GONE
  const attempts = execution.attempts + 1
  const output = { ...(result.is === 'status' ? { status: result.status } : {}), durationMs: result.ms, attempts }
  if (result.is === 'refused') return { is: 'failed', error: result.reason, output }
  if (hasSucceeded(result)) return { is: 'done', output }
  const reason = reasonOf(result)
  const mayRetry = result.is === 'failed' || result.status === 429 || result.status >= 500
  const wait = waitAfter(WAITS_MS, attempts, result, now)
  if (!mayRetry || wait === undefined) return { is: 'failed', error: reason, output }
  const until = later(now, wait)
  if (execution.deadlineAt && until > execution.deadlineAt) return { is: 'failed', error: reason, output }
  const webhookHost = webhookHostOf(execution.step.config)
  return { is: 'wait', as: 'WAITING', until, attempts, deadlineAt: execution.deadlineAt, webhookHost, output: { ...output, reason } }
}

/** All texts of a value, with their paths. */
const textsIn = (value: unknown, path: string): { path: string; text: string }[] => {
  if (typeof value === 'string') return [{ path, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => textsIn(inner, `${path}.${key}`))
}

/** Templates in one webhook: each is rendered on its own. */
const MAX_TEMPLATES = 100

/** Refuses what a request could not be made with. */
async function checkWebhook({ url, headers, body }: WebhookConfig, { at, target, projectId }: ConfigReading) {
  // Values may only follow the host: a value that decides where a request goes would be chosen by the contact.
  const origin = /^https?:\/\/[^/?#]*/i.exec(url)?.[0] ?? url
  if (hasTags(origin)) invalid(`${at}.url`, 'The host cannot be a variable.')
  const read = refusalOfUrl(hasTags(url) ? origin : url, target)
  if ('refusal' in read) invalid(`${at}.url`, read.refusal)
  if (Object.keys(headers).length > MAX_HEADERS) invalid(`${at}.headers`, `At most ${MAX_HEADERS} keys.`, 'too_big')
  for (const [name, value] of Object.entries(headers)) {
    // A mask is stored by an import without secrets; in requests it was replaced.
    const refusal = refusalOfHeader(name, value === MASK ? '' : value)
    if (refusal) invalid(`${at}.headers.${name}`, refusal)
  }
  const templates = textsIn({ url, headers, body }, at).filter(({ text }) => hasTags(text))
  if (templates.length > MAX_TEMPLATES) invalid(at, `At most ${MAX_TEMPLATES} texts with variables.`, 'too_big')
  for (const { path, text } of templates) {
    const [problem] = await checkTemplate({ subject: '', body: text, isText: true }, projectId)
    if (problem) invalid(path, describeProblem(problem), 'invalid_string')
  }
}
