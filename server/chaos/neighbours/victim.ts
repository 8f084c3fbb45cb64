import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Relay } from '../nodes/relay-server.ts'

type Project = { url: string; secret: string; public: string; domain: string }
/** Times in milliseconds; one that reached the limit is that limit. */
export type Sampled = { campaigns: number[]; webhooks: number[] }

const CONTACTS = 5
/** How long a campaign or a webhook is waited for. */
const PATIENCE_MS = 30_000
const POLL_MS = 10
const BETWEEN_MS = 500
const EVENT = 'signed up'

/** A project that starts a small campaign and calls a webhook again and again, and measures how long each takes. */
export async function startVictim(project: Project, relay: Relay) {
  const call = async (method: string, path: string, body?: object) => {
    const answer = await fetch(project.url + path, {
      method,
      signal: AbortSignal.timeout(PATIENCE_MS),
      headers: {
        authorization: `Bearer ${path === '/v1/track' ? project.public : project.secret}`,
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path.replace(/[0-9a-f-]{36}/, ':id')}: ${answer.status}`)
    return text && JSON.parse(text)
  }
  const receiver = await startReceiver()
  for (let n = 0; n < CONTACTS; n++)
    await call('POST', '/contacts', { email: `victim${n}@example.com`, subscribed: true, data: { group: 1 } })
  await addWebhook(call, receiver.url)

  let sampled: Sampled = { campaigns: [], webhooks: [] }
  const problems: string[] = []
  let last = 0
  let isStopping = false

  const startCampaign = async () => {
    const from = `campaign${++last}@${project.domain}`
    const condition = { logic: 'AND', groups: [{ filters: [{ field: 'data.group', operator: 'equals', value: 1 }] }] }
    const content = { subject: 'News', body: '<p>Hi</p>', from, type: 'TRANSACTIONAL' }
    const { data } = await call('POST', '/campaigns', { name: from, ...content, audienceType: 'FILTERED', audienceCondition: condition })
    const startedAt = performance.now()
    await call('POST', `/campaigns/${data.id}/send`, {})
    return timeUntil(startedAt, () => relay.taken.some(({ sender }) => sender === from))
  }
  const callWebhook = async () => {
    const email = `webhook${++last}@example.com`
    const startedAt = performance.now()
    await call('POST', '/v1/track', { email, event: EVENT })
    return timeUntil(startedAt, () => receiver.emails.has(email))
  }
  async function repeat(kind: keyof Sampled, sample: () => Promise<number>) {
    for (; !isStopping; await sleep(BETWEEN_MS)) {
      const startedAt = performance.now()
      // A request that is refused has taken its time too.
      const ms = await sample().catch((err: Error) => {
        problems.push(err.message)
        return performance.now() - startedAt
      })
      sampled[kind].push(ms)
    }
  }
  const running = [repeat('campaigns', startCampaign), repeat('webhooks', callWebhook)]

  return {
    problems,
    /** The samples since the last call. */
    take() {
      const taken = sampled
      sampled = { campaigns: [], webhooks: [] }
      return taken
    },
    async stop() {
      isStopping = true
      await Promise.all(running)
      receiver.stop()
    },
  }
}

async function timeUntil(startedAt: number, isThere: () => boolean) {
  while (!isThere() && performance.now() - startedAt < PATIENCE_MS) await sleep(POLL_MS)
  return performance.now() - startedAt
}

async function addWebhook(
  call: (method: string, path: string, body?: object) => Promise<{ id: string; version: number; steps: { id: string }[] }>,
  url: string,
) {
  const { id, version, steps } = await call('POST', '/workflows', { name: 'Victim', eventName: EVENT })
  const step = { id: randomUUID(), type: 'WEBHOOK', config: { url } }
  const transitions = [{ fromStepId: steps[0]!.id, toStepId: step.id }]
  await call('PUT', `/workflows/${id}/graph`, { steps: [step], transitions, version })
  await call('PATCH', `/workflows/${id}`, { enabled: true })
}

/** Answers webhooks at once, and remembers their contacts. */
async function startReceiver() {
  const emails = new Set<string>()
  const server = createServer(async (req, res) => {
    const body = (await json(req).catch(() => ({}))) as { contact?: { email: string } }
    if (body.contact) emails.add(body.contact.email)
    res.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    emails,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
