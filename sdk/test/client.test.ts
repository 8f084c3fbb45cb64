import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { Sterna, SternaError, type SternaOptions } from '../src/index.ts'

type Reply = 'hang' | 'drop' | { status: number; body?: unknown; headers?: Record<string, string> }

let server: Server | undefined

afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

/** A server that gives these replies in order (the last one repeatedly) and records its requests, and a client for it. */
async function serve(replies: Reply[], options: SternaOptions = {}) {
  const requests: { line: string; headers: Record<string, unknown>; body: string }[] = []
  server = createServer(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += chunk
    requests.push({ line: `${req.method} ${req.url}`, headers: req.headers, body })
    const reply = replies[requests.length - 1] ?? replies.at(-1)!
    if (reply === 'hang') return
    if (reply === 'drop') return req.socket.destroy()
    res.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
    res.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body))
  })
  await new Promise<void>((ready) => server!.listen(0, '127.0.0.1', ready))
  const { port } = server.address() as AddressInfo
  return { requests, client: new Sterna({ baseUrl: `http://127.0.0.1:${port}/`, ...options }) }
}

async function errorOf(call: Promise<unknown>): Promise<SternaError> {
  const error = await call.then(
    () => expect.unreachable(),
    (reason) => reason,
  )
  expect(error).toBeInstanceOf(SternaError)
  return error
}

const me = { id: 'u1', email: 'ada@example.com', emailVerified: true, createdAt: '2026-01-01T00:00:00.000Z' }
const busy: Reply = { status: 503, headers: { 'retry-after': '0' }, body: { success: false, error: { code: 'SERVICE_UNAVAILABLE' } } }

test('a call sends one request with path parameters and a JSON body, and parses the response', async () => {
  const { client, requests } = await serve([{ status: 200, body: { id: 'p/1' } }])

  const project = await client.projects.update('p/1', { name: 'Acme' })

  expect(project).toEqual({ id: 'p/1' })
  expect(requests[0]).toMatchObject({
    line: 'PATCH /users/@me/projects/p%2F1',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: '{"name":"Acme"}',
  })
  expect(requests[0]!.headers).not.toHaveProperty('authorization')
})

test('an idempotency key is sent only with its own call', async () => {
  const { client, requests } = await serve([{ status: 200, body: { success: true } }], { apiKey: 'pk_1' })
  await client.events.track({ email: 'ada@example.com', event: 'signed up' }, { idempotencyKey: 'order-1' })
  await client.events.track({ email: 'ada@example.com', event: 'signed up' })
  expect(requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['order-1', undefined])
})

test('the API key and the project are sent as headers', async () => {
  const { client, requests } = await serve([{ status: 200, body: me }], { apiKey: 'sk_1', projectId: 'p1' })
  await client.users.me()
  expect(requests[0]!.headers).toMatchObject({ authorization: 'Bearer sk_1', 'x-project-id': 'p1' })
})

test('the session cookie is sent only to the same origin, and never together with a key', async () => {
  const inits: RequestInit[] = []
  const fetch = async (_url: unknown, init?: RequestInit) => {
    inits.push(init!)
    return Response.json(me)
  }
  await new Sterna({ baseUrl: 'http://sterna.test', fetch }).users.me()
  await new Sterna({ baseUrl: 'http://sterna.test', fetch, apiKey: 'sk_1' }).users.me()
  expect(inits.map((init) => init.credentials)).toEqual(['same-origin', 'omit'])
})

test('a 204 resolves to undefined', async () => {
  const { client } = await serve([{ status: 204 }])
  expect(await client.projects.delete('p1')).toBeUndefined()
})

test.each(['', '.', '..'])('the id "%s" is rejected because it would change the path', async (id) => {
  const { client, requests } = await serve([{ status: 204 }])
  await expect(client.projects.delete(id)).rejects.toThrow(TypeError)
  expect(requests).toEqual([])
})

test('an error has all fields of the error response', async () => {
  const errors = [{ field: 'password', message: 'Too short.', code: 'too_small' }]
  const error = {
    code: 'VALIDATION_ERROR',
    message: 'Request validation failed.',
    requestId: 'r1',
    errors,
    suggestion: 'Use a longer one.',
  }
  const { client, requests } = await serve([{ status: 422, body: { success: false, error: { ...error, statusCode: 422 } } }])

  const error422 = await errorOf(client.auth.signUp({ email: 'ada@example.com', password: 'x' }))

  expect(error422).toMatchObject({ name: 'SternaError', status: 422, ...error })
  expect(requests).toHaveLength(1)
})

test('a 429 has the seconds to wait', async () => {
  const error = { code: 'RATE_LIMIT_EXCEEDED', message: 'Too many requests.', details: { retryAfter: 42 } }
  const { client } = await serve([{ status: 429, headers: { 'retry-after': '42' }, body: { success: false, error } }])
  expect(await errorOf(client.users.me())).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', status: 429, retryAfter: 42 })
})

test.each<[string, Reply, object]>([
  ['a plain error text', { status: 400, body: { error: 'No file.' } }, { status: 400, message: 'No file.' }],
  ['a proxy page', { status: 502, body: '<h1>Bad gateway</h1>', headers: { 'x-request-id': 'r9' } }, { status: 502, requestId: 'r9' }],
  ['JSON of another shape', { status: 500, body: [] }, { status: 500 }],
  ['a success that is not JSON', { status: 200, body: '<h1>Hello</h1>' }, { status: 200 }],
])('%s is an UNEXPECTED_RESPONSE', async (_, reply, expected) => {
  const { client } = await serve([reply])
  expect(await errorOf(client.users.me())).toMatchObject({ code: 'UNEXPECTED_RESPONSE', ...expected })
})

test.each<[string, Reply[], number]>([
  ['two dropped connections, then a response', ['drop', 'drop', { status: 200, body: me }], 3],
  ['a 503 with Retry-After, then a response', [busy, { status: 200, body: me }], 2],
])('a GET survives %s', async (_, replies, attempts) => {
  const { client, requests } = await serve(replies)
  expect(await client.users.me()).toEqual(me)
  expect(requests).toHaveLength(attempts)
})

test.each<[string, Reply, string, number]>([
  ['the network keeps failing', 'drop', 'NETWORK_ERROR', 3],
  ['the server stays busy', busy, 'SERVICE_UNAVAILABLE', 3],
  ['a 503 has no Retry-After', { ...busy, headers: {} }, 'SERVICE_UNAVAILABLE', 1],
  ['a 503 has a long Retry-After', { ...busy, headers: { 'retry-after': '60' } }, 'SERVICE_UNAVAILABLE', 1],
  ['the Retry-After of a 503 exceeds the timeout', { ...busy, headers: { 'retry-after': '4' } }, 'SERVICE_UNAVAILABLE', 1],
  [
    'the server answers 500',
    { status: 500, body: { success: false, error: { code: 'INTERNAL_SERVER_ERROR' } } },
    'INTERNAL_SERVER_ERROR',
    1,
  ],
])('a GET gives up when %s', async (_, reply, code, attempts) => {
  const { client, requests } = await serve([reply], { timeoutMs: 3000 })
  expect(await errorOf(client.users.me())).toMatchObject({ code })
  expect(requests).toHaveLength(attempts)
})

test.each<[string, Reply]>([
  ['drops the connection', 'drop'],
  ['is busy', busy],
])('a write is never retried, even if the server %s', async (_, reply) => {
  const { client, requests } = await serve([reply])
  await errorOf(client.projects.create({ name: 'Acme' }))
  expect(requests).toHaveLength(1)
})

test('a call to a silent server fails after timeoutMs', async () => {
  const { client, requests } = await serve(['hang'], { timeoutMs: 100 })
  expect(await errorOf(client.users.me())).toMatchObject({ code: 'TIMEOUT', status: 0 })
  expect(requests).toHaveLength(1)
})

test('a file is sent as multipart/form-data with its own name', async () => {
  const { client, requests } = await serve([{ status: 200, body: {} }])
  await client.uploads.image(new File(['bytes'], 'logo.png', { type: 'image/png' }))
  await client.uploads.image(new Blob(['bytes']))
  await client.contacts.import(new Blob(['email\n']))
  expect(requests.map(({ line, headers }) => [line, String(headers['content-type']).split(';')[0]])).toEqual([
    ['POST /uploads/image', 'multipart/form-data'],
    ['POST /uploads/image', 'multipart/form-data'],
    ['POST /contacts/import', 'multipart/form-data'],
  ])
  expect(requests.map(({ body }) => /name="(\w+)"; filename="([\w.]+)"/.exec(body)?.slice(1))).toEqual([
    ['image', 'logo.png'],
    ['image', 'image'],
    ['file', 'contacts.csv'],
  ])
})
