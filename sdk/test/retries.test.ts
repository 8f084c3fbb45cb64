import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ConnectionError, TimeoutError } from '../src/index.ts'
import { busy, errorOf, failureOf, ok, type Reply, refusal, useReplies } from './support/api.ts'

const serve = useReplies()
const me = { id: 'u1' }
const limited = refusal(429, 'RATE_LIMIT_EXCEEDED', { retryAfter: 0 })
const gateway = (status: number): Reply => ({ status, body: '<h1>Bad gateway</h1>' })

// Short waits: the first is then 100 ms.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0))
afterEach(() => void vi.restoreAllMocks())

describe('a GET', () => {
  test.each<[string, Reply[], number]>([
    ['two dropped connections', ['drop', 'drop', ok(me)], 3],
    ['a response that breaks off', ['half', ok(me)], 2],
    ['a 503 with Retry-After', [busy, ok(me)], 2],
    ['a 429 with Retry-After', [limited, ok(me)], 2],
    ['a proxy without a server behind it', [gateway(502), gateway(504), ok(me)], 3],
  ])('survives %s', async (_, replies, attempts) => {
    const { client, requests } = await serve(replies)
    expect(await client.users.me()).toEqual(me)
    expect(requests).toHaveLength(attempts)
  })

  test.each<[string, Reply, string, number]>([
    ['the network keeps failing', 'drop', 'NETWORK_ERROR', 3],
    ['the server stays busy', busy, 'SERVICE_UNAVAILABLE', 3],
    ['a 503 has no Retry-After', refusal(503, 'SERVICE_UNAVAILABLE'), 'SERVICE_UNAVAILABLE', 1],
    ['the Retry-After exceeds the time limit', refusal(503, 'SERVICE_UNAVAILABLE', { retryAfter: 4 }), 'SERVICE_UNAVAILABLE', 1],
    ['the server answers 500', refusal(500, 'INTERNAL_SERVER_ERROR'), 'INTERNAL_SERVER_ERROR', 1],
    ['the server answers 404', refusal(404, 'CONTACT_NOT_FOUND'), 'CONTACT_NOT_FOUND', 1],
  ])('gives up when %s', async (_, reply, code, attempts) => {
    const { client, requests } = await serve([reply], { timeoutMs: 3000 })
    expect(await errorOf(client.users.me())).toMatchObject({ code })
    expect(requests).toHaveLength(attempts)
  })

  test.each([0, 1, 4])('is retried up to maxRetries: %i', async (maxRetries) => {
    const { client, requests } = await serve([busy], { maxRetries })
    await errorOf(client.users.me())
    expect(requests).toHaveLength(1 + maxRetries)
  })
})

describe('a wait', () => {
  const waitsOf = (delays: [number | undefined][]) => delays.map(([ms]) => ms).filter((ms) => ms !== 30_000)

  test.each([
    [0, [100, 200]],
    [1, [200, 400]],
  ])('doubles from one attempt to the next, with jitter: %f', async (random, expected) => {
    vi.mocked(Math.random).mockReturnValue(random)
    const { client } = await serve(['drop'])
    const timers = vi.spyOn(globalThis, 'setTimeout')
    await errorOf(client.users.me())
    expect(waitsOf(timers.mock.calls.map(([, ms]) => [ms]))).toEqual(expect.arrayContaining(expected))
  })

  test('is never shorter than the Retry-After', async () => {
    vi.mocked(Math.random).mockReturnValue(0.5)
    const { client } = await serve([refusal(503, 'SERVICE_UNAVAILABLE', { retryAfter: 1 }), ok(me)])
    const timers = vi.spyOn(globalThis, 'setTimeout')
    await client.users.me()
    expect(timers.mock.calls.map(([, ms]) => ms)).toContain(1050)
  })
})

describe('a write without an idempotency key', () => {
  test.each<[string, Reply]>([
    ['drops the connection', 'drop'],
    ['is busy', busy],
    ['is behind a broken proxy', gateway(502)],
  ])('is not retried when the server %s', async (_, reply) => {
    const { client, requests } = await serve([reply], { apiKey: 'sk_1' })
    await errorOf(client.contacts.upsert({ email: 'ada@example.com' }))
    expect(requests).toHaveLength(1)
  })

  test('is retried after a 429, which did nothing', async () => {
    const { client, requests } = await serve([limited, ok({ id: 'c1' })], { apiKey: 'sk_1' })
    expect(await client.contacts.upsert({ email: 'ada@example.com' })).toEqual({ id: 'c1' })
    expect(requests.map(({ body }) => body)).toEqual(Array(2).fill('{"email":"ada@example.com"}'))
  })

  test('is not retried after a 429 in a session: a user would wait for it', async () => {
    const { client, requests } = await serve([limited])
    await errorOf(client.auth.logIn({ email: 'ada@example.com', password: 'x' }))
    expect(requests).toHaveLength(1)
  })
})

test('verify is retried although it is a POST', async () => {
  const { client, requests } = await serve(['drop', ok({ success: true, data: { valid: true } })], { apiKey: 'sk_1' })
  expect(await client.verify('ada@example.com')).toEqual({ valid: true })
  expect(requests).toHaveLength(2)
})

describe('the time limit', () => {
  test('ends a call to a silent server', async () => {
    const { client, requests } = await serve(['hang'], { timeoutMs: 100 })
    const error = await errorOf(client.users.me())
    expect(error).toBeInstanceOf(TimeoutError)
    expect(error).toMatchObject({ code: 'TIMEOUT', status: 0, message: 'No response within 0.1 s.' })
    expect(requests).toHaveLength(1)
  })

  test('can be set for one call', async () => {
    const { client } = await serve(['hang'])
    expect(await errorOf(client.users.me({ timeoutMs: 50 }))).toMatchObject({ code: 'TIMEOUT' })
  })

  test('covers all attempts together', async () => {
    const { client, requests } = await serve(['drop', 'hang'], { timeoutMs: 300 })
    expect(await errorOf(client.users.me())).toMatchObject({ code: 'TIMEOUT' })
    expect(requests).toHaveLength(2)
  })

  test('may be longer than a timer can be', async () => {
    const { client } = await serve([ok(me)])
    expect(await client.users.me({ timeoutMs: Number.POSITIVE_INFINITY })).toEqual(me)
  })

  test('leaves no timer behind', async () => {
    const { client } = await serve([ok(me)])
    const [started, ended] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')]
    await client.users.me({ timeoutMs: 12_345 })
    const timer = started.mock.results[started.mock.calls.findIndex(([, ms]) => ms === 12_345)]!.value
    expect(ended).toHaveBeenCalledWith(timer)
  })
})

describe('a signal', () => {
  test('cancels a call, which rejects with its reason', async () => {
    const { client, requests } = await serve(['hang'])
    const reason = new Error('the user left')
    const controller = new AbortController()
    const call = client.users.me({ signal: controller.signal })
    await expect.poll(() => requests.length).toBe(1)
    controller.abort(reason)
    expect(await failureOf(call)).toBe(reason)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('cancels the wait before a retry', async () => {
    const { client, requests } = await serve([refusal(503, 'SERVICE_UNAVAILABLE', { retryAfter: 20 })])
    const controller = new AbortController()
    const call = client.users.me({ signal: controller.signal })
    await expect.poll(() => requests.length).toBe(1)
    const timers = vi.spyOn(globalThis, 'clearTimeout')
    controller.abort()
    expect(await failureOf(call)).toMatchObject({ name: 'AbortError' })
    expect(timers).toHaveBeenCalled()
    expect(requests).toHaveLength(1)
  })

  test('that is already aborted sends nothing', async () => {
    const { client, requests } = await serve([ok(me)])
    expect(await failureOf(client.users.me({ signal: AbortSignal.abort() }))).toMatchObject({ name: 'AbortError' })
    expect(requests).toEqual([])
  })
})

test('a server that cannot be reached is a ConnectionError with its cause', async () => {
  const { client } = await serve(['drop'], { maxRetries: 0 })
  const error = await errorOf(client.users.me())
  expect(error).toBeInstanceOf(ConnectionError)
  expect(error).toMatchObject({ code: 'NETWORK_ERROR', status: 0, cause: expect.any(TypeError) })
})
