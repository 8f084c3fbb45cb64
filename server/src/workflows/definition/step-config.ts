import { z } from 'zod'
import { Data } from '../../contacts/data.ts'
import { Address, parseAt } from '../../http/validate.ts'
import { invalid } from '../../lib/errors.ts'
import { refusalOfHeader, refusalOfUrl, type WebhookTarget } from '../../lib/network/webhook-target.ts'
import { DAY, HOUR, KB, MINUTE } from '../../lib/text/units.ts'
import { checkTemplate, hasTags } from '../../templates/render.ts'
import { describeProblem } from '../../templates/rendered-email.ts'
import type { StepType } from './graph.ts'
import { readStepCondition, type StepCondition } from './step-condition.ts'

const MAX_CONFIG_BYTES = 64 * KB
const MAX_URL = 2_048
const MAX_HEADERS = 50
const MAX_HEADER_VALUE = 998
/** A year. */
const MAX_WAIT_SECONDS = 31_536_000

const UNIT_MS = { minutes: MINUTE, hours: HOUR, days: DAY }

/** Every event can be awaited or start a workflow, those of the service too. */
export const ListenedEvent = z.string().trim().min(1).max(255)

const SendEmailConfig = z.object({
  templateId: z.uuid().nullish(),
  recipient: z.object({ type: z.enum(['CONTACT', 'CUSTOM']), customEmail: Address.nullish() }).nullish(),
})
const DelayConfig = z.object({ amount: z.number().positive(), unit: z.enum(['minutes', 'hours', 'days']) })
const WaitConfig = z.object({ eventName: ListenedEvent, timeout: z.int().min(1).max(MAX_WAIT_SECONDS).nullish() })
const WebhookConfig = z.object({
  url: z.string().trim().min(1).max(MAX_URL),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  headers: z.record(z.string(), z.string().max(MAX_HEADER_VALUE)).nullish(),
  body: z.unknown().optional(),
})
const UpdateConfig = z.object({
  updates: z.record(z.string(), z.unknown()).nullish(),
  data: z.record(z.string(), z.unknown()).nullish(),
  subscriptionAction: z.enum(['none', 'subscribe', 'unsubscribe']).nullish(),
})
const ExitConfig = z.object({ reason: z.string().max(255).nullish() })

/** Configs as stored, by type. */
export type StepConfigs = {
  TRIGGER: Record<string, never>
  SEND_EMAIL: { templateId: string; recipient: { type: 'CONTACT' } | { type: 'CUSTOM'; customEmail: string } }
  DELAY: { amount: number; unit: 'minutes' | 'hours' | 'days' }
  WAIT_FOR_EVENT: { eventName: string; timeout: number | null }
  CONDITION: StepCondition
  WEBHOOK: { url: string; method: string; headers: Record<string, string>; body?: unknown }
  UPDATE_CONTACT: { updates: Record<string, unknown>; subscriptionAction: 'none' | 'subscribe' | 'unsubscribe' }
  EXIT: { reason: string | null }
}

export const delayMs = ({ amount, unit }: StepConfigs['DELAY']) => Math.round(amount * UNIT_MS[unit])

/** `storedTemplateId`: that of the step before the change. */
type Given = {
  type: StepType
  config: unknown
  templateId?: string | null | undefined
  storedTemplateId?: string | null | undefined
}
type Reading = { path: string; target: WebhookTarget; projectId: string }

/** Reads the config of a step that a caller sent. `path` is the place of the step in the request. */
export async function readStepConfig({ type, config, templateId, storedTemplateId }: Given, { path, target, projectId }: Reading) {
  const given = parseAt(z.record(z.string(), z.unknown()), config ?? {}, `${path}config`)
  if (Buffer.byteLength(JSON.stringify(given)) > MAX_CONFIG_BYTES)
    invalid(`${path}config`, `At most ${MAX_CONFIG_BYTES / KB} KB.`, 'too_big')
  const at = `${path}config`
  const read = type === 'SEND_EMAIL' ? readSendEmail(given, { templateId, storedTemplateId, path }) : READERS[type](given, at)
  if (type === 'WEBHOOK') await checkWebhook(read as StepConfigs['WEBHOOK'], { at, target, projectId })
  return {
    config: read as Record<string, unknown>,
    templateId: type === 'SEND_EMAIL' ? (read as StepConfigs['SEND_EMAIL']).templateId : null,
  }
}

const READERS: { [Type in Exclude<StepType, 'SEND_EMAIL'>]: (given: Record<string, unknown>, at: string) => StepConfigs[Type] } = {
  TRIGGER: () => ({}),
  DELAY(given, at) {
    const { amount, unit } = parseAt(DelayConfig, given, at)
    if (amount * UNIT_MS[unit] > 365 * DAY) invalid(`${at}.amount`, 'A delay has at most 365 days.', 'too_big')
    return { amount, unit }
  },
  WAIT_FOR_EVENT(given, at) {
    const { eventName, timeout } = parseAt(WaitConfig, given, at)
    return { eventName, timeout: timeout ?? null }
  },
  CONDITION: readStepCondition,
  WEBHOOK(given, at) {
    const { url, method, headers, body } = parseAt(WebhookConfig, given, at)
    return { url, method, headers: headers ?? {}, ...(body === undefined || body === null ? {} : { body }) }
  },
  UPDATE_CONTACT: readUpdate,
  EXIT: (given, at) => ({ reason: parseAt(ExitConfig, given, at).reason ?? null }),
}

type TemplateIds = Pick<Given, 'templateId' | 'storedTemplateId'> & { path: string }

function readSendEmail(
  given: Record<string, unknown>,
  { templateId: own, storedTemplateId, path }: TemplateIds,
): StepConfigs['SEND_EMAIL'] {
  const { templateId, recipient } = parseAt(SendEmailConfig, given, `${path}config`)
  const id = own ?? templateId ?? storedTemplateId ?? invalid(`${path}config.templateId`, 'Required.', 'required')
  if (recipient?.type !== 'CUSTOM') return { templateId: id.toLowerCase(), recipient: { type: 'CONTACT' } }
  const customEmail = recipient.customEmail ?? invalid(`${path}config.recipient.customEmail`, 'Required.', 'required')
  return { templateId: id.toLowerCase(), recipient: { type: 'CUSTOM', customEmail } }
}

/** Stored as given: the rules of `data` are applied when the step runs. */
function readUpdate(given: Record<string, unknown>, at: string): StepConfigs['UPDATE_CONTACT'] {
  const { updates, data, subscriptionAction } = parseAt(UpdateConfig, given, at)
  const fields = updates ?? data ?? {}
  parseAt(Data, fields, `${at}.${updates ? 'updates' : 'data'}`)
  const action = subscriptionAction ?? 'none'
  if (!Object.keys(fields).length && action === 'none') invalid(`${at}.updates`, 'Nothing to update.', 'required')
  return { updates: fields, subscriptionAction: action }
}

/** Texts of a webhook that are templates, with their paths. */
function webhookTexts({ url, headers, body }: StepConfigs['WEBHOOK']): { path: string; text: string }[] {
  return [
    { path: 'url', text: url },
    ...Object.entries(headers).map(([name, text]) => ({ path: `headers.${name}`, text })),
    ...textsIn(body, 'body'),
  ]
}

const textsIn = (value: unknown, path: string): { path: string; text: string }[] => {
  if (typeof value === 'string') return [{ path, text: value }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => textsIn(inner, `${path}.${key}`))
}

/** Templates in one webhook: each is rendered on its own. */
const MAX_TEMPLATES = 100

async function checkWebhook(
  config: StepConfigs['WEBHOOK'],
  { at, target, projectId }: { at: string; target: WebhookTarget; projectId: string },
) {
  const { url, headers } = config
  // Values may only follow the host: a value that decides where a request goes would be chosen by the contact.
  const origin = /^https?:\/\/[^/?#]*/i.exec(url)?.[0] ?? url
  if (hasTags(origin)) invalid(`${at}.url`, 'The host cannot be a variable.')
  const read = refusalOfUrl(hasTags(url) ? origin : url, target)
  if ('refusal' in read) invalid(`${at}.url`, read.refusal)
  if (Object.keys(headers).length > MAX_HEADERS) invalid(`${at}.headers`, `At most ${MAX_HEADERS} keys.`, 'too_big')
  for (const [name, value] of Object.entries(headers)) {
    const refusal = refusalOfHeader(name, value)
    if (refusal) invalid(`${at}.headers.${name}`, refusal)
  }
  const templates = webhookTexts(config).filter(({ text }) => hasTags(text))
  if (templates.length > MAX_TEMPLATES) invalid(at, `At most ${MAX_TEMPLATES} texts with variables.`, 'too_big')
  for (const { path, text } of templates) {
    const [problem] = await checkTemplate({ subject: '', body: text, isText: true }, projectId)
    if (problem) invalid(`${at}.${path}`, describeProblem(problem), 'invalid_string')
  }
}
