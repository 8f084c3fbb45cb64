import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { times } from '../support/times.ts'
import { newWorkflowProject } from './workflow-project.ts'

/** 127.0.0.2 stands for the public internet, 127.0.0.1 for the network that no customer may reach. */
const env: Record<string, string> = { RATE_LIMIT_PER_MINUTE: '0', WEBHOOK_ALLOW_PRIVATE: '127.0.0.2/32' }
type Project = Awaited<ReturnType<typeof newWorkflowProject>>

let dns: Awaited<ReturnType<typeof startDnsServer>>
let forbidden: Awaited<ReturnType<typeof startForbidden>>
const servers: Server[] = []
// Before the app, which reads its configuration.
beforeAll(async () => {
  dns = await startDnsServer()
  env.DNS_SERVERS = dns.address
  forbidden = await startForbidden()
})
afterAll(async () => {
  for (const server of servers) server.close()
  await dns.stop()
})

const sterna = useApp({ env })
let project: Project
beforeAll(async () => {
  project = await newWorkflowProject(sterna)
})

type Received = { method: string; url: string; headers: IncomingHttpHeaders; body: string }

/** A host of its own: the port is part of it. */
async function startHost(respond: (res: ServerResponse, number: number) => void = (res) => res.end()) {
  const received: Received[] = []
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', (chunk) => (body += chunk))
    req.on('end', () => {
      received.push({ method: req.method!, url: req.url!, headers: req.headers, body })
      respond(res, received.length)
    })
  }).listen(0, '127.0.0.2')
  servers.push(server)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.2:${port}/in`, received }
}

async function startForbidden() {
  const state = { connections: 0, port: 0 }
  const server = createTcpServer((socket) => {
    state.connections++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  state.port = (server.address() as AddressInfo).port
  return state
}

let number = 0
const newAddress = () => `person${++number}@example.com`

/** An enabled workflow with one WEBHOOK step, and the way into it. */
async function webhook(config: object, of = project) {
  const event = `hook-${++number}`
  const { id } = await of.line([{ type: 'WEBHOOK', config }], { eventName: event })
  const enter = (data: object = {}) => of.track({ email: newAddress(), event, data })
  return { id, enter }
}

/** As if the wait were over. */
const makeDue = (id: string) => sql`update workflow_executions set due_at = now() where workflow_id = ${id}`.execute(sterna.db)

describe('a WEBHOOK step cannot be saved', () => {
  const save = async (config: object) => {
    const { id } = await project.create()
    return project.call('POST', `/workflows/${id}/steps`, { type: 'WEBHOOK', config })
  }

  test('with a target that is not public, or may be chosen by a contact', async () => {
    const urls = [
      'http://169.254.169.254/latest/meta-data/',
      'http://127.1/',
      'http://2130706433/',
      'http://0x7f.1/',
      'http://[::1]/',
      'http://[::ffff:7f00:1]/',
      'http://localhost./',
      'http://user@example.org/',
      'file:///etc/passwd',
      'gopher://example.org/',
      'http://1.1.1.1:5432/',
      'http://1.1.1.1:25/',
      'http://{{host}}/',
      'http://example.org{{path}}',
      'http://example.org\\{{path}}',
      'http:\\\\{{host}}/',
      '{{url}}',
    ]
    for (const url of urls) {
      const { status, body } = await save({ url })
      expect([url, status, body.error.errors?.[0].field]).toEqual([url, 422, 'config.url'])
    }
  })

  test('with headers of the connection, of metadata services, or ours, or with a line break', async () => {
    const headers = [
      ['Host', 'x'],
      ['Content-Length', '1'],
      ['Transfer-Encoding', 'chunked'],
      ['Connection', 'close'],
      ['Metadata-Flavor', 'Google'],
      ['X-aws-ec2-metadata-token', 'x'],
      ['Proxy-Authorization', 'x'],
      ['webhook-signature', 'v1,x'],
      ['X-A', 'b\r\nHost: c'],
    ] as const
    for (const [name, value] of headers) {
      const { status, body } = await save({ url: 'https://example.org/', headers: { [name]: value } })
      expect([name, status, body.error.errors?.[0].field]).toEqual([name, 422, `config.headers.${name}`])
    }
  })
})

describe('a request is refused when it is made', () => {
  test('if the name of the host leads to a forbidden address by then', async () => {
    dns.set('rebind.example', { A: ['127.0.0.1'] })
    const { id, enter } = await webhook({ url: `http://rebind.example:${forbidden.port}/` })
    await enter()
    const execution = await project.ended(id)
    expect(execution).toMatchObject({ status: 'FAILED', exitReason: 'The address is not a public one.' })
    expect(execution.stepExecutions[1].output).toEqual({ durationMs: expect.any(Number), attempts: 1 })
    expect(forbidden.connections).toBe(0)
  })

  test('if a value would break out of its header', async () => {
    const { url, received } = await startHost()
    const { id, enter } = await webhook({ url, headers: { 'X-Plan': '{{plan}}' } })
    await enter({ plan: 'pro\r\nX-Evil: 1' })
    expect(await project.ended(id)).toMatchObject({ status: 'FAILED', exitReason: 'The value of the header "X-Plan" is not valid.' })
    expect(received).toEqual([])
  })
})

test('a value in the URL cannot change its host', async () => {
  const { url, received } = await startHost()
  const { id, enter } = await webhook({ url: `${url}/{{path}}` })
  await enter({ path: `@127.0.0.1:${forbidden.port}/\\..\\..//127.0.0.1:${forbidden.port}` })
  expect(await project.ended(id)).toMatchObject({ status: 'COMPLETED' })
  expect([received.length, forbidden.connections]).toEqual([1, 0])
})

test('a redirect to a forbidden host is not followed, and nothing of the reply is shown', async () => {
  const { url } = await startHost((res) => res.writeHead(302, { location: `http://127.0.0.1:${forbidden.port}/` }).end('secret'))
  const { id, enter } = await webhook({ url })
  await enter()
  const execution = await project.ended(id)
  expect(execution).toMatchObject({ status: 'FAILED', exitReason: 'The host answered with status 302.' })
  expect(execution.stepExecutions[1].output).toEqual({ status: 302, durationMs: expect.any(Number), attempts: 1 })
  expect(JSON.stringify(execution)).not.toContain('secret')
  expect(forbidden.connections).toBe(0)
})

test('the wait before another attempt grows, and Retry-After lengthens it', async () => {
  const replies: [status: number, headers: Record<string, string>][] = [
    [503, {}],
    [429, { 'retry-after': '120' }],
    [500, { 'retry-after': '1' }],
    [400, {}],
  ]
  const { url, received } = await startHost((res, nth) => res.writeHead(...replies[nth - 1]!).end())
  const { id, enter } = await webhook({ url })
  await enter()
  for (const [index, waitMs] of [10_000, 120_000, 300_000].entries()) {
    await eventually(async () => {
      const [only] = await project.executions(id)
      const { dueAt, updatedAt, ...found } = await project.execution(id, only?.id)
      const output = { attempts: index + 1, reason: `The host answered with status ${replies[index]![0]}.` }
      expect(found).toMatchObject({ status: 'WAITING', stepExecutions: [{}, { status: 'WAITING', output }] })
      expect(Date.parse(dueAt) - Date.parse(updatedAt)).toBe(waitMs)
    })
    await makeDue(id)
  }
  expect(await project.ended(id)).toMatchObject({ status: 'FAILED', stepExecutions: [{}, { output: { status: 400, attempts: 4 } }] })
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
})

/** A receiver as the Standard Webhooks specification describes it. Shares no code with the product. */
function isGenuine(secret: string, { headers, body }: Pick<Received, 'headers' | 'body'>, now = Date.now()) {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => String(headers[`webhook-${name}`]))
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  const isRecent = /^\d+$/.test(timestamp!) && Math.abs(now / 1_000 - Number(timestamp)) <= 300
  const versioned = signatures!.split(' ').map((each) => each.split(',') as [string, string])
  return (
    isRecent &&
    versioned.some(([version, signature]) => {
      const given = Buffer.from(signature, 'base64')
      return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
    })
  )
}

describe('a signature', () => {
  const secretOf = async (method: 'GET' | 'POST'): Promise<string> =>
    (await project.owner.call(method, `/projects/${project.id}/webhook-secret`)).body.secret
  const requestOf = async (config: object = {}): Promise<Received> => {
    const { url, received } = await startHost()
    const { id, enter } = await webhook({ url, ...config })
    await enter()
    expect(await project.ended(id)).toMatchObject({ status: 'COMPLETED' })
    return received[0]!
  }

  test('is accepted by a receiver of Standard Webhooks, and only for the request that it signs', async () => {
    const secret = await secretOf('GET')
    expect(Buffer.from(secret.replace('whsec_', ''), 'base64')).toHaveLength(32)
    const request = await requestOf({ body: 'Grüße, "{{email}}"' })
    expect(isGenuine(secret, request)).toBe(true)
    expect(isGenuine(secret, { ...request, body: `${request.body} ` })).toBe(false)
    for (const name of ['webhook-id', 'webhook-timestamp'])
      expect(isGenuine(secret, { ...request, headers: { ...request.headers, [name]: `${request.headers[name]}0` } })).toBe(false)
    expect(isGenuine(`whsec_${Buffer.alloc(32).toString('base64')}`, request)).toBe(false)
    // Ids contain no dot, which separates the parts that are signed.
    expect(request.headers['webhook-id']).toMatch(/^[\w-]{10,}$/)
  })

  test('covers an empty body', async () => {
    const request = await requestOf({ method: 'GET' })
    expect([request.method, request.body, isGenuine(await secretOf('GET'), request)]).toEqual(['GET', '', true])
  })

  test('is made with both secrets for a day after a rotation, then with the new one', async () => {
    const before = await secretOf('GET')
    const rotated = await secretOf('POST')
    expect(rotated).not.toBe(before)
    const during = await requestOf()
    expect([isGenuine(before, during), isGenuine(rotated, during)]).toEqual([true, true])
    await sql`update webhook_secrets set previous_until = now() where project_id = ${project.id}`.execute(sterna.db)
    const later = await requestOf()
    expect([isGenuine(before, later), isGenuine(rotated, later)]).toEqual([false, true])
  })
})

/** Holds responses back until they are released, at the latest at the end of the test. */
function holdResponses(atEnd: (release: () => void) => void) {
  const held: ServerResponse[] = []
  let isOver = false
  const release = () => {
    for (const res of held.splice(0)) res.end()
  }
  atEnd(() => {
    isOver = true
    release()
  })
  return { hold: (res: ServerResponse) => void (isOver ? res.end() : held.push(res)), release }
}

// Retried: a request is given up after 10 s, and on a busy machine that may be before the test has looked.
test('at most 8 requests of a project are under way to a host and 16 altogether, and other projects do not wait', {
  retry: 2,
}, async ({ onTestFinished }) => {
  const { hold, release } = holdResponses(onTestFinished)
  const project = await newWorkflowProject(sterna)
  const startHanging = async () => {
    const host = await startHost(hold)
    return { ...host, workflow: await webhook({ url: host.url }, project) }
  }
  // All that takes time comes first.
  const [first, second, third] = [await startHanging(), await startHanging(), await startHanging()]
  const neighbour = await newWorkflowProject(sterna)
  const theirs = await webhook({ url: (await startHost()).url }, neighbour)
  const enter = (host: typeof first, contacts: number) => Promise.all(times(contacts, () => host.workflow.enter()))
  for (const host of [first, second]) {
    await enter(host, 10)
    await eventually(() => expect(host.received).toHaveLength(8))
  }
  await enter(third, 1)
  await theirs.enter()
  expect(await neighbour.ended(theirs.id)).toMatchObject({ status: 'COMPLETED' })
  expect([first, second, third].map(({ received }) => received.length)).toEqual([8, 8, 0])

  // The outcome of a request whose execution was cancelled meanwhile is ignored.
  expect((await project.call('POST', `/workflows/${second.workflow.id}/executions/cancel-all`)).body).toEqual({ cancelled: 10 })
  await eventually(async () => {
    release()
    const statuses = async ({ workflow }: typeof first) =>
      (await project.executions(workflow.id, '?pageSize=100')).map(({ status }) => status)
    expect(await statuses(first)).toEqual(times(10, () => 'COMPLETED'))
    expect(await statuses(third)).toEqual(['COMPLETED'])
    expect(await statuses(second)).toEqual(times(10, () => 'CANCELLED'))
  })
  expect(second.received).toHaveLength(8)
})

// Retried for the same reason.
test('one project with many hosts leaves room for the requests of others', { retry: 2 }, async ({ onTestFinished }) => {
  const { hold, release } = holdResponses(onTestFinished)
  const hosts = await Promise.all(times(20, () => startHost(hold)))
  const flooding = await newWorkflowProject(sterna)
  const event = `flood-${++number}`
  for (const { url } of hosts) await flooding.line([{ type: 'WEBHOOK', config: { url } }], { eventName: event })
  const theirs = await webhook({ url: (await startHost()).url })
  await flooding.track({ email: newAddress(), event })
  const underWay = () => hosts.reduce((sum, { received }) => sum + received.length, 0)
  await eventually(() => expect(underWay()).toBe(16))
  await theirs.enter()
  expect(await project.ended(theirs.id)).toMatchObject({ status: 'COMPLETED' })
  expect(underWay()).toBe(16)
  await eventually(() => {
    release()
    expect(underWay()).toBe(20)
  })
})

test('a request whose worker died is made again with the same id', async () => {
  const held: ServerResponse[] = []
  const { url, received } = await startHost((res, nth) => (nth === 1 ? void held.push(res) : res.end()))
  const { id, enter } = await webhook({ url })
  await enter()
  await eventually(() => expect(received).toHaveLength(1))
  // As when its lease has ended.
  await makeDue(id)
  expect(await project.ended(id)).toMatchObject({ status: 'COMPLETED', stepExecutions: [{}, { output: { attempts: 1 } }] })
  expect(received[1]!.headers['webhook-id']).toBe(received[0]!.headers['webhook-id'])
  held[0]!.end()
})
