import { expect, test } from 'vitest'
import {
  AuthenticationError,
  ConflictError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
  Sterna,
  SternaError,
  ValidationError,
} from '../src/index.ts'
import { errorOf, ok, type Reply, refusal, useReplies } from './support/api.ts'

const serve = useReplies()

const me = { id: 'u1', email: 'ada@example.com', emailVerified: true, createdAt: '2026-01-01T00:00:00.000Z' }

test('a call sends one request with path parameters and a JSON body, and parses the response', async () => {
  const { client, requests } = await serve([ok({ id: 'p/1' })])

  const project = await client.projects.update('p/1', { name: 'Acme' })

  expect(project).toEqual({ id: 'p/1' })
  expect(requests[0]).toMatchObject({
    line: 'PATCH /users/@me/projects/p%2F1',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: '{"name":"Acme"}',
  })
  expect(requests[0]!.headers).not.toHaveProperty('authorization')
})

test('a query has only what was given, booleans included', async () => {
  const { client, requests } = await serve([ok({ data: [] })])
  await client.contacts.list({ subscribed: false, search: 'a b&c', limit: undefined })
  expect(requests[0]!.line).toBe('GET /contacts?subscribed=false&search=a+b%26c')
})

test('the API key and the project are sent as headers', async () => {
  const { client, requests } = await serve([ok(me)], { apiKey: 'sk_1', projectId: 'p1' })
  await client.users.me()
  expect(requests[0]!.headers).toMatchObject({ authorization: 'Bearer sk_1', 'x-project-id': 'p1' })
})

test('a client for another project keeps the other options', async () => {
  const { client, requests } = await serve([ok({ data: [] })], { apiKey: 'sk_1', projectId: 'p1' })
  await client.forProject('p2').contacts.list()
  await client.contacts.list()
  expect(requests.map(({ headers }) => [headers['x-project-id'], headers.authorization])).toEqual([
    ['p2', 'Bearer sk_1'],
    ['p1', 'Bearer sk_1'],
  ])
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

test('a method works without its object', async () => {
  const { client } = await serve([ok(me)])
  const { me: readMe } = client.users
  expect(await readMe()).toEqual(me)
})

test('an operation can be called by its name', async () => {
  const { client, requests } = await serve([ok({ id: 't1' })], { apiKey: 'sk_1' })
  expect(await client.request('GET /templates/{id}', { params: { id: 't1' } })).toEqual({ id: 't1' })
  expect(requests[0]!.line).toBe('GET /templates/t1')
})

test('the revision to change is sent as a quoted If-Match header', async () => {
  const { client, requests } = await serve([ok({})])
  await client.templates.update('t1', { name: 'Welcome' }, { ifMatch: '2026-01-01T00:00:00.000Z' })
  await client.templates.update('t1', { name: 'Welcome' }, { ifMatch: '"2026-01-01T00:00:00.000Z"' })
  expect(requests.map(({ headers }) => headers['if-match'])).toEqual(Array(2).fill('"2026-01-01T00:00:00.000Z"'))
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

test.each(['localhost:3000', '/api', 'ftp://sterna.test', ''])('the base URL "%s" is rejected', (baseUrl) => {
  expect(() => new Sterna({ baseUrl })).toThrow(TypeError)
})

test('a value that no header can have is a TypeError, not a network error', async () => {
  const { client, requests } = await serve([ok(me)], { apiKey: 'sk_1\n' })
  await expect(client.users.me()).resolves.toEqual(me) // a trailing line break, as in a secret read from a file
  const broken = await serve([ok(me)], { apiKey: 'sk_☃' })
  await expect(broken.client.users.me()).rejects.toThrow(TypeError)
  expect(requests[0]!.headers.authorization).toBe('Bearer sk_1')
  expect(broken.requests).toEqual([])
})

test('an error has all fields of the error response', async () => {
  const errors = [
    { field: 'password', message: 'Too short.', code: 'too_small' },
    { field: 'password', message: 'Too common.', code: 'custom' },
    { field: 'email', message: 'Not an address.', code: 'invalid_string' },
  ]
  const error = {
    code: 'VALIDATION_ERROR',
    message: 'Request validation failed.',
    requestId: 'r1',
    errors,
    suggestion: 'Use a longer one.',
  }
  const { client, requests } = await serve([{ status: 422, body: { success: false, error: { ...error, statusCode: 422 } } }])

  const error422 = await errorOf(client.auth.signUp({ email: 'ada@example.com', password: 'x' }))

  expect(error422).toBeInstanceOf(ValidationError)
  expect(error422).toMatchObject({ name: 'ValidationError', status: 422, ...error })
  expect((error422 as ValidationError).fieldErrors).toEqual({ password: 'Too short.', email: 'Not an address.' })
  expect(requests).toHaveLength(1)
})

test.each<[number, string, typeof SternaError]>([
  [400, 'BAD_REQUEST', SternaError],
  [400, 'VALIDATION_ERROR', ValidationError],
  [401, 'INVALID_API_KEY', AuthenticationError],
  [402, 'BILLING_LIMIT_EXCEEDED', SternaError],
  [403, 'PROJECT_ACCESS_DENIED', PermissionError],
  [404, 'CONTACT_NOT_FOUND', NotFoundError],
  [409, 'CONFLICT', ConflictError],
  [409, 'IDEMPOTENCY_KEY_REUSED', ConflictError],
  [422, 'VALIDATION_ERROR', ValidationError],
  [429, 'RATE_LIMIT_EXCEEDED', RateLimitError],
  [500, 'INTERNAL_SERVER_ERROR', ServerError],
  [503, 'SERVICE_UNAVAILABLE', ServerError],
])('%i %s is its own class of error', async (status, code, errorClass) => {
  const { client } = await serve([refusal(status, code)])
  const error = await errorOf(client.users.me())
  expect(error.constructor).toBe(errorClass)
  expect(error).toMatchObject({ name: errorClass.name, code, status, requestId: 'r1' })
})

test('a 429 has the seconds to wait', async () => {
  const { client } = await serve([refusal(429, 'RATE_LIMIT_EXCEEDED', { retryAfter: 42 })])
  expect(await errorOf(client.users.me())).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED', status: 429, retryAfter: 42 })
})

test.each<[number, string]>([
  [400, 'BAD_REQUEST'],
  [404, 'RESOURCE_NOT_FOUND'],
  [409, 'CONFLICT'],
  [418, 'UNEXPECTED_RESPONSE'],
])('a %i with only a text has the code %s', async (status, code) => {
  const { client } = await serve([{ status, body: { error: 'No file.' }, headers: { 'x-request-id': 'r9' } }])
  expect(await errorOf(client.users.me())).toMatchObject({ code, status, message: 'No file.', requestId: 'r9' })
})

test.each<[string, Reply, object]>([
  ['a proxy page', { status: 403, body: '<h1>Forbidden</h1>', headers: { 'x-request-id': 'r9' } }, { status: 403, requestId: 'r9' }],
  ['JSON of another shape', { status: 500, body: [] }, { status: 500 }],
  ['an error that is null', { status: 500, body: { error: null } }, { status: 500 }],
  ['a success that is not JSON', { status: 200, body: '<h1>Hello</h1>' }, { status: 200 }],
])('%s is an UNEXPECTED_RESPONSE', async (_, reply, expected) => {
  const { client } = await serve([reply])
  expect(await errorOf(client.users.me())).toMatchObject({ code: 'UNEXPECTED_RESPONSE', ...expected })
})
