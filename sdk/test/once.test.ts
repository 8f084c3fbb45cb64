import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ConflictError, Sterna, Tracker } from '../src/index.ts'
import { busy, errorOf, ok, type Received, type Reply, refusal, useReplies } from './support/api.ts'

const serve = useReplies()
const EVENT = { email: 'ada@example.com', event: 'signed up' }
const EMAIL = { to: 'ada@example.com', from: 'hello@example.com', subject: 'Welcome', body: 'Hello' }
const AT = '2026-01-01T00:00:00.000Z'
const sent = { emails: [{ contact: { id: 'c1', email: 'ada@example.com' }, email: 'e1' }], timestamp: AT }
const tracked = { contact: 'c1', event: 'v1', timestamp: AT }

const used = (request: string, result: object): Reply =>
  refusal(409, 'IDEMPOTENCY_KEY_REUSED', {
    details: { key: 'k', originalRequest: request, originalRequestAt: AT, originalStatusCode: 200, ...result },
  })
const running = refusal(409, 'IDEMPOTENCY_KEY_REUSED', {
  retryAfter: 0,
  details: { key: 'k', originalRequest: 'POST /v1/send', originalRequestAt: null, originalStatusCode: null },
})
const usedForSend = used('POST /v1/send', { emails: sent.emails })
const usedForTrack = used('POST /v1/track', { event: 'v1' })
const keysOf = (requests: Received[]) => requests.map(({ headers }) => headers['idempotency-key'])

beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0))
afterEach(() => void vi.restoreAllMocks())

const serveProject = (replies: Reply[]) => serve(replies, { apiKey: 'sk_1', publicKey: 'pk_1' })

describe('send', () => {
  test('returns the queued emails', async () => {
    const { client, requests } = await serveProject([ok({ success: true, data: sent })])
    expect(await client.send(EMAIL)).toEqual({ ...sent, repeated: false })
    expect(requests[0]).toMatchObject({ line: 'POST /v1/send', headers: { authorization: 'Bearer sk_1' }, body: JSON.stringify(EMAIL) })
  })

  test('has a key of its own for every call, and the same for its retries', async () => {
    const { client, requests } = await serveProject(['drop', busy, ok({ success: true, data: sent })])
    vi.restoreAllMocks()
    await client.send(EMAIL)
    await client.send(EMAIL)
    const [first, second, third, other] = keysOf(requests)
    expect(first).toMatch(/^[\x21-\x7e]{20,255}$/)
    expect([second, third]).toEqual([first, first])
    expect(other).not.toBe(first)
  })

  test('has a key without Web Crypto too', async () => {
    const { client, requests } = await serveProject([ok({ success: true, data: sent })])
    vi.stubGlobal('crypto', undefined)
    vi.restoreAllMocks()
    await client.send(EMAIL)
    await client.send(EMAIL)
    vi.unstubAllGlobals()
    expect(new Set(keysOf(requests)).size).toBe(2)
  })

  test('uses the key of the caller', async () => {
    const { client, requests } = await serveProject([ok({ success: true, data: sent })])
    await client.send(EMAIL, { idempotencyKey: 'order-1' })
    expect(keysOf(requests)).toEqual(['order-1'])
  })

  test.each<[string, Reply[]]>([
    ['the response to the first request was lost', ['drop', usedForSend]],
    ['the first request is still running', ['drop', running, usedForSend]],
  ])('returns the result of its first request when %s', async (_, replies) => {
    const { client, requests } = await serveProject(replies)
    expect(await client.send(EMAIL)).toEqual({ ...sent, repeated: true })
    expect(requests).toHaveLength(replies.length)
  })

  test.each<[string, Reply[]]>([
    ['was used before this call', [usedForSend]],
    ['was used before this call, which was only refused', [refusal(429, 'RATE_LIMIT_EXCEEDED', { retryAfter: 0 }), usedForSend]],
    ['is being used by another call', [running, usedForSend]],
    ['was used for something else', ['drop', usedForTrack]],
  ])('fails when its key %s', async (_, replies) => {
    const { client, requests } = await serveProject(replies)
    const error = await errorOf(client.send(EMAIL, { idempotencyKey: 'k' }))
    expect(error).toBeInstanceOf(ConflictError)
    expect(error).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED', details: { originalStatusCode: 200 } })
    expect(requests).toHaveLength(replies.length)
  })

  test('fails as usual when a retry is refused', async () => {
    const { client } = await serveProject(['drop', refusal(422, 'VALIDATION_ERROR')])
    expect(await errorOf(client.send(EMAIL))).toMatchObject({ code: 'VALIDATION_ERROR' })
  })
})

describe('track', () => {
  test('uses the public key', async () => {
    const { client, requests } = await serveProject([ok({ success: true, data: tracked })])
    expect(await client.track(EVENT)).toEqual({ ...tracked, repeated: false })
    expect(requests[0]).toMatchObject({ line: 'POST /v1/track', headers: { authorization: 'Bearer pk_1' } })
  })

  test('returns the event of its first request when the response was lost', async () => {
    const { client, requests } = await serveProject(['drop', usedForTrack])
    expect(await client.track(EVENT)).toEqual({ contact: null, event: 'v1', timestamp: AT, repeated: true })
    expect(new Set(keysOf(requests)).size).toBe(1)
  })

  test('needs the public key', async () => {
    const client = new Sterna({ baseUrl: 'http://sterna.test', apiKey: 'sk_1' })
    await expect(client.track(EVENT)).rejects.toThrow('publicKey')
  })
})

describe('a tracker', () => {
  test('tracks with the public key, and retries', async () => {
    const { url, requests } = await serve(['drop', ok({ success: true, data: tracked })])
    const tracker = new Tracker({ baseUrl: url, publicKey: 'pk_1' })
    expect(await tracker.track(EVENT, { idempotencyKey: 'signup-1' })).toEqual({ ...tracked, repeated: false })
    expect(keysOf(requests)).toEqual(['signup-1', 'signup-1'])
    expect(requests[0]!.headers).toMatchObject({ authorization: 'Bearer pk_1' })
  })

  test('is the only client that takes a public key', () => {
    expect(() => new Sterna({ baseUrl: 'http://sterna.test', apiKey: 'pk_1' })).toThrow('Tracker')
  })
})
