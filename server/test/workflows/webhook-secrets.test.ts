import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { issues, outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { newWorkflowProject } from './workflow-project.ts'

/** 127.0.0.2 plays the public host. */
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0', WEBHOOK_ALLOW_PRIVATE: '127.0.0.2/32' } })
type Step = { id: string; type: string; name: string; config: Record<string, unknown> }
let project: Awaited<ReturnType<typeof newWorkflowProject>>
let server: Server
let origin: string
const requests: { url: string; authorization: string | undefined }[] = []
const keys: Record<string, string> = {}

beforeAll(async () => {
  project = await newWorkflowProject(sterna)
  server = createServer((req, res) => {
    requests.push({ url: req.url!, authorization: req.headers.authorization })
    res.end()
  }).listen(0, '127.0.0.2')
  await once(server, 'listening')
  origin = `http://127.0.0.2:${(server.address() as AddressInfo).port}`
  // To change an enabled workflow, `send` as well.
  for (const scope of ['read', 'workflows'])
    keys[scope] = (
      await project.owner.call('POST', `/projects/${project.id}/keys`, {
        body: { name: scope, kind: 'secret', scopes: scope === 'workflows' ? [scope, 'send'] : [scope] },
      })
    ).body.key
})
afterAll(() => server.close())

const by = (scope: string, method: string, url: string, body?: unknown) =>
  sterna.call(method, url, { key: keys[scope]!, ...(body === undefined ? {} : { body }) })
const byMember = (method: string, url: string) => project.owner.call(method, url, { headers: { 'x-project-id': project.id } })

const SECRET = /HEADER-SECRET|QUERY-SECRET/
const secretConfig = () => ({
  url: `${origin}/hook?token=QUERY-SECRET`,
  method: 'POST',
  headers: { authorization: 'Bearer HEADER-SECRET', 'x-plain': 'HEADER-SECRET' },
})
const maskedConfig = (more: object = {}) => ({
  url: `${origin}/hook?•••`,
  method: 'POST',
  headers: { authorization: '•••', 'x-plain': '•••' },
  ...more,
})

async function newWebhook() {
  const { id, steps, triggerId } = await project.line([{ type: 'WEBHOOK', config: secretConfig() }])
  return { id, triggerId, stepId: steps[0]! }
}
const configOf = (workflow: { steps: Step[] }) => workflow.steps.find(({ type }) => type === 'WEBHOOK')!.config
const storedConfig = async (id: string) => configOf(await project.get(id))

/** The graph as a key with `read` sees it, to be saved again. */
async function maskedGraph(id: string, change: (config: Record<string, unknown>) => object = (config) => config) {
  const { body } = await by('read', 'GET', `/workflows/${id}`)
  const steps = body.steps.map(({ id, type, name, config }: Step) => ({
    id,
    type,
    name,
    config: type === 'WEBHOOK' ? change(config) : config,
  }))
  return { version: body.version, steps, transitions: body.transitions }
}

describe('what authenticates a webhook', () => {
  test('is masked for a key that only reads: in the workflow, its versions, copies and executions', async () => {
    const { id } = await newWebhook()
    const { body: copy } = await by('workflows', 'POST', `/workflows/${id}/duplicate`)
    const { version } = await project.get(id)
    const { id: contactId } = await project.contacts.create('masked@example.com')
    await project.start(id, contactId)
    const execution = await project.ended(id)
    expect(requests.at(-1)).toEqual({ url: '/hook?token=QUERY-SECRET', authorization: 'Bearer HEADER-SECRET' })

    const paths = [
      `/workflows/${id}`,
      `/workflows/${copy.id}`,
      `/workflows/${id}/versions/${version}`,
      `/workflows/${id}/executions/${execution.id}`,
    ]
    for (const path of paths) {
      const masked = await by('read', 'GET', path)
      expect([path, masked.status, JSON.stringify(masked.body).includes(`${origin}/hook?•••`)]).toEqual([path, 200, true])
      expect(JSON.stringify(masked.body)).not.toMatch(SECRET)
      for (const shown of [await by('workflows', 'GET', path), await byMember('GET', path)])
        expect(JSON.stringify(shown.body)).toContain('Bearer HEADER-SECRET')
    }
    expect(configOf((await by('read', 'GET', paths[0]!)).body)).toEqual(maskedConfig())
    const others = ['', `/${id}/versions`, `/${id}/executions`, `/${id}/stats`, `/${id}/explain/${contactId}`, '/recipes'].map(
      (path) => `/workflows${path}`,
    )
    for (const path of [...others, '/events', '/activity', `/contacts/${contactId}`]) {
      const { status, body } = await by('read', 'GET', path)
      expect([path, status]).toEqual([path, 200])
      expect(JSON.stringify(body)).not.toMatch(SECRET)
    }
    // A simulation shows the request that would be made.
    expect(outcome(await by('read', 'POST', `/workflows/${id}/simulate`, {}))).toEqual([403, 'INSUFFICIENT_SCOPE'])
    expect(JSON.stringify((await by('workflows', 'POST', `/workflows/${id}/simulate`, {})).body)).toContain('HEADER-SECRET')
  })

  test('keeps its values when its masks are sent back for the same step', async () => {
    const { id, stepId } = await newWebhook()
    expect((await by('workflows', 'PUT', `/workflows/${id}/graph`, await maskedGraph(id))).status).toBe(200)
    expect(await storedConfig(id)).toEqual(secretConfig())

    // Another path, method and a header less are no other origin.
    const moved = { ...maskedConfig(), url: `${origin}/other?•••`, method: 'PUT', headers: { Authorization: '•••', 'x-new': 'new' } }
    expect((await by('workflows', 'PATCH', `/workflows/${id}/steps/${stepId}`, { config: moved })).status).toBe(200)
    expect(await storedConfig(id)).toEqual({
      url: `${origin}/other?token=QUERY-SECRET`,
      method: 'PUT',
      headers: { Authorization: 'Bearer HEADER-SECRET', 'x-new': 'new' },
    })
  })

  test('is not sent to another origin, header or step', async () => {
    const { id, stepId } = await newWebhook()
    const patch = async (config: object) => issues(await by('workflows', 'PATCH', `/workflows/${id}/steps/${stepId}`, { config }))
    const url = origin.replace('127.0.0.2', '127.0.0.2.example.com')
    expect(await patch(maskedConfig({ url: `${url}/hook` }))).toEqual([['config.headers.authorization', 'custom']])
    expect(await patch(maskedConfig({ url: `${url}/hook?•••`, headers: {} }))).toEqual([['config.url', 'custom']])
    expect(await patch(maskedConfig({ url: `${origin}@example.com/hook?•••`, headers: {} }))).toEqual([['config.url', 'custom']])
    expect(await patch(maskedConfig({ headers: { cookie: '•••' } }))).toEqual([['config.headers.cookie', 'custom']])
    expect(await patch(maskedConfig({ headers: { authorization: 'Bearer •••' } }))).toEqual([['config.headers.authorization', 'custom']])
    for (const query of ['?a=1&•••', '?•••&a=1', '?••••']) {
      expect(await patch(maskedConfig({ url: `${origin}/hook${query}` }))).toEqual([['config.url', 'custom']])
    }

    const graph = await maskedGraph(id)
    const [trigger, webhook] = [
      graph.steps.find(({ type }: Step) => type === 'TRIGGER'),
      graph.steps.find(({ type }: Step) => type === 'WEBHOOK'),
    ]
    const renamed = { ...webhook, id: '0197f1f0-0000-7000-8000-000000000001' }
    const other = { ...graph, steps: [trigger, renamed], transitions: [{ fromStepId: trigger.id, toStepId: renamed.id }] }
    expect(issues(await by('workflows', 'PUT', `/workflows/${id}/graph`, other))).toEqual([
      [expect.stringMatching(/^steps\.1\.config\.headers\.(authorization|x-plain)$/), 'custom'],
    ])
    const added = await by('workflows', 'POST', `/workflows/${id}/steps`, { type: 'WEBHOOK', config: maskedConfig() })
    expect(issues(added)).toEqual([['config.headers.authorization', 'custom']])
    const tried = await by('workflows', 'POST', `/workflows/${id}/webhook-preview`, { config: maskedConfig() })
    expect(issues(tried)).toEqual([['config.headers.authorization', 'custom']])
    expect(await storedConfig(id)).toEqual(secretConfig())
  })

  test('is kept when an older version is restored as a key with `read` saw it', async () => {
    const { id, stepId } = await newWebhook()
    const { version } = await project.get(id)
    await by('workflows', 'PATCH', `/workflows/${id}/steps/${stepId}`, { name: 'Renamed' })
    const { body: older } = await by('read', 'GET', `/workflows/${id}/versions/${version}`)
    const restored = { version: version + 1, steps: older.steps, transitions: older.transitions }
    expect((await by('workflows', 'PUT', `/workflows/${id}/graph`, restored)).status).toBe(200)
    expect(await storedConfig(id)).toEqual(secretConfig())
  })
})
