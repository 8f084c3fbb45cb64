import { type Db, maybeOne } from '../../db/index.ts'
import { refusalOfHeader } from '../../lib/network/webhook-target.ts'
import { renderText } from '../../templates/rendering/render.ts'
import { personOf } from './execution-variables.ts'
import type { Running, SimulatedContact } from './step.ts'
import { missingOfWebhook } from './webhook-mask.ts'

export type WebhookConfig = { url: string; method: string; headers: Record<string, string>; body?: unknown }
export type WebhookRequest = { url: string; method: string; headers: Record<string, string>; body: string | undefined }

/** The parts of step and execution that a request shows. */
type WebhookSource = Pick<Running, 'id' | 'event' | 'context' | 'startedAt'> & {
  config: WebhookConfig
  workflow: { id: string; name: string }
  contact: SimulatedContact
  projectId: string
}

export const readWebhookContact = (db: Db, projectId: string, contactId: string) =>
  maybeOne<SimulatedContact>(db)`
    select id, email, subscribed, data, created_at as "createdAt" from contacts where project_id = ${projectId} and id = ${contactId}
  `

/** Bytes of a request body. */
const MAX_BODY_BYTES = 1_000_000

/** Fills in the templates of a webhook. Values of url and headers must not break out of their place. */
export async function buildWebhookRequest(source: WebhookSource): Promise<WebhookRequest | { problem: string }> {
  const { config, projectId } = source
  const missing = missingOfWebhook(config)
  if (missing) return { problem: missing }
  const recipient = personOf(source.contact, source)
  const render = async (text: string) => {
    const rendered = await renderText(text, recipient, { projectId })
    if (!rendered.ok) throw new RenderProblem(rendered.reason)
    return rendered.text
  }
  try {
    const url = (await render(config.url)).trim()
    const headers: Record<string, string> = {}
    for (const [name, text] of Object.entries(config.headers)) {
      headers[name] = await render(text)
      if (refusalOfHeader(name, headers[name])) return { problem: `The value of the header "${name}" is not valid.` }
    }
    const body = await renderBody(source, render)
    if (body !== undefined && Buffer.byteLength(body) > MAX_BODY_BYTES) return { problem: 'The body is too large.' }
    return { url, method: config.method, headers: withContentType(headers, body), body }
  } catch (err) {
    if (err instanceof RenderProblem) return { problem: err.message }
    throw err
  }
}

class RenderProblem extends Error {}

const withContentType = (headers: Record<string, string>, body: string | undefined) => {
  const has = (name: string) => Object.keys(headers).some((each) => each.toLowerCase() === name)
  return {
    ...(has('user-agent') ? {} : { 'user-agent': 'Sterna' }),
    ...(body === undefined || has('content-type') ? {} : { 'content-type': 'application/json' }),
    ...headers,
  }
}

async function renderBody({ config, contact, workflow, id, startedAt, event }: WebhookSource, render: (text: string) => Promise<string>) {
  if (typeof config.body === 'string') return render(config.body)
  if (config.body !== undefined) return JSON.stringify(await renderValues(config.body, render))
  if (config.method === 'GET' || config.method === 'DELETE') return undefined
  const { id: contactId, email, subscribed, data } = contact
  return JSON.stringify({
    contact: { id: contactId, email, subscribed, data },
    workflow,
    execution: { id, startedAt: startedAt.toISOString() },
    event,
  })
}

async function renderValues(value: unknown, render: (text: string) => Promise<string>): Promise<unknown> {
  if (typeof value === 'string') return render(value)
  if (Array.isArray(value)) {
    const rendered: unknown[] = []
    for (const each of value) rendered.push(await renderValues(each, render))
    return rendered
  }
  if (typeof value !== 'object' || value === null) return value
  const rendered: Record<string, unknown> = {}
  for (const [key, each] of Object.entries(value)) rendered[key] = await renderValues(each, render)
  return rendered
}
