import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { newWorkflowProject } from './workflow-project.ts'

/** 127.0.0.2 plays the public host. */
const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0', WEBHOOK_ALLOW_PRIVATE: '127.0.0.2/32' } })
let project: Awaited<ReturnType<typeof newWorkflowProject>>
let server: Server
let url: string
let answer: (path: string) => Promise<number> = async () => 200
const received: { path: string; headers: IncomingHttpHeaders; body: string }[] = []

beforeAll(async () => {
  project = await newWorkflowProject(sterna)
  server = createServer(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += chunk
    received.push({ path: req.url!, headers: req.headers, body })
    res.writeHead(await answer(req.url!)).end('a reply that nobody sees')
  }).listen(0, '127.0.0.2')
  await once(server, 'listening')
  url = `http://127.0.0.2:${(server.address() as AddressInfo).port}`
})
afterAll(() => server.close())

let names = 0
/** A workflow with one request, and the request that it made. */
async function run(config: object = {}, more: object = {}) {
  const path = `/hook-${++names}`
  const { id } = await project.line([{ type: 'WEBHOOK', config: { url: `${url}${path}`, ...config } }], { eventName: path, ...more })
  const { id: contactId, email } = await project.contacts.create(`hook${names}@example.com`, { data: { plan: 'pro' } })
  await project.start(id, contactId)
  const execution = await project.ended(id)
  return { workflowId: id, execution, contactId, email, request: received.find((each) => each.path === path)! }
}

test('the default body has the contact, the workflow, the execution and the event', async () => {
  const { workflowId, execution, contactId, email, request } = await run({}, { name: 'Hook' })
  expect(JSON.parse(request.body)).toEqual({
    contact: { id: contactId, email, subscribed: true, data: { plan: 'pro' } },
    workflow: { id: workflowId, name: 'Hook' },
    execution: { id: execution.id, startedAt: execution.startedAt },
    event: null,
  })
})

test('an answer that is neither a success nor worth another attempt fails the step, and nothing of it is shown', async () => {
  answer = async () => 404
  const { execution } = await run()
  answer = async () => 200
  expect(execution).toMatchObject({ status: 'FAILED', exitReason: 'The host answered with status 404.' })
  expect(execution.stepExecutions[1].output).toEqual({ status: 404, durationMs: expect.any(Number), attempts: 1 })
  expect(JSON.stringify(execution)).not.toContain('a reply')
})

test('an event that the host tracks before it answers ends the wait that follows', async () => {
  const { id } = await project.line([
    { type: 'WEBHOOK', config: { url: `${url}/approve` } },
    { type: 'WAIT_FOR_EVENT', config: { eventName: 'approved', timeout: 3_600 } },
    { type: 'EXIT', config: { reason: 'approved' } },
  ])
  const { id: contactId, email } = await project.contacts.create('approve@example.com')
  answer = async () => {
    await project.track({ email, event: 'approved' })
    // Handled while the request is still open.
    await expect.poll(async () => (await sql`select 1 from reactions where project_id = ${project.id}`.execute(sterna.db)).rows).toEqual([])
    return 200
  }
  await project.start(id, contactId)
  expect(await project.ended(id)).toMatchObject({ exitReason: 'approved', context: { lastEvent: { name: 'approved' } } })
  answer = async () => 200
})

test('a webhook to a contact that was deleted meanwhile ends the execution', async () => {
  const { id } = await project.line([{ type: 'WEBHOOK', config: { url: `${url}/gone` } }])
  const { id: contactId } = await project.contacts.create('gone@example.com')
  answer = async () => {
    await project.call('DELETE', `/contacts/${contactId}`)
    return 503
  }
  await project.start(id, contactId)
  expect(await project.ended(id)).toMatchObject({ status: 'CANCELLED', exitReason: 'contact_deleted', contact: null })
  answer = async () => 200
})

test('a request is shown as it would be made, and tried once with a signature', async () => {
  const { id } = await project.create({ name: 'Hook' })
  const { id: contactId } = await project.contacts.create('try@example.com', { data: { plan: 'pro' } })
  const config = { url: `${url}/try`, headers: { 'x-plan': '{{ plan }}' }, body: { plan: '{{ plan }}', event: '{{ event.name }}' } }
  const tested = { config, contactId, event: { name: 'signup' } }
  const shown = await project.call('POST', `/workflows/${id}/webhook-preview`, tested)
  expect(shown.body).toMatchObject({
    method: 'POST',
    url: config.url,
    headers: { 'x-plan': 'pro' },
    body: '{"plan":"pro","event":"signup"}',
  })
  expect(received.some(({ path }) => path === '/try')).toBe(false)
  answer = async () => 503
  const { body } = await project.call('POST', `/workflows/${id}/webhook-test`, tested)
  answer = async () => 200
  expect(body).toMatchObject({ status: 503, error: null, request: { body: shown.body.body } })
  const made = received.filter(({ path }) => path === '/try')
  expect(made.map(({ headers }) => typeof headers['webhook-signature'])).toEqual(['string'])
  const inside = await project.call('POST', `/workflows/${id}/webhook-test`, { config: { url: 'http://127.0.0.1:1/x' } })
  expect([inside.status, inside.body.error?.errors?.[0]?.field ?? inside.body.status]).toEqual([422, 'config.url'])
})
