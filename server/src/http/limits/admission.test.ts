import { Agent, type IncomingMessage, request } from 'node:http'
import Fastify from 'fastify'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLog } from '../../lib/process/log.ts'
import type { App } from '../core/types.ts'
import { limitAdmission } from './admission.ts'

/** A server whose requests to /held and /slow wait until the test ends them. A key that begins with `good` is accepted. */
function newServer() {
  const app = Fastify() as unknown as App
  const held: (() => void)[] = []
  const hold = () => new Promise<string>((resolve) => held.push(() => resolve('done')))
  limitAdmission(app, { log: createLog('silent'), requestIdOf: () => 'an id', headers: { 'x-of-all': 'yes' } })
  app.addHook('onRequest', (req, _reply, done) => {
    // The type wants the whole project; here it only has to be there.
    if (req.headers.authorization?.startsWith('good')) req.project = {} as typeof req.project
    done()
  })
  app.get('/held', hold)
  app.get('/slow', { config: { slowRead: true } }, hold)
  app.post('/quick', async () => 'done')
  for (const path of ['/quick', '/ready']) app.get(path, async () => 'done')
  const get = (url: string, authorization = 'good key') => app.inject({ url, headers: { authorization } })

  /** Requests that are in progress. */
  async function begin(url: string, count: number, key?: string) {
    const before = held.length
    const answers = Array.from({ length: count }, () => get(url, key))
    while (held.length < before + count) await new Promise((resolve) => setImmediate(resolve))
    return answers
  }
  const end = (count = held.length) => {
    for (const release of held.splice(0, count)) release()
  }
  return { app, get, begin, end, held }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

test('a burst of 1,000 requests is answered, and one more is refused until they are', async () => {
  const { get, begin, end } = newServer()
  const burst = await begin('/held', 1_000)
  const refused = await get('/quick')
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1'])
  expect(refused.json()).toMatchObject({ success: false, error: { code: 'SERVICE_UNAVAILABLE', details: { retryAfter: 1 } } })
  expect((await get('/ready')).statusCode).toBe(200)
  end()
  expect((await Promise.all(burst)).every(({ statusCode }) => statusCode === 200)).toBe(true)
  expect((await get('/quick')).statusCode).toBe(200)
})

test('what stays is no burst: then 128 are the limit, or what is answered in 200 ms', async () => {
  const { get, begin, end } = newServer()
  await get('/quick')
  await begin('/held', 600)
  expect((await get('/quick')).statusCode).toBe(200)
  vi.advanceTimersByTime(300)
  expect((await get('/quick')).statusCode).toBe(503)
  end()

  // 2,000 requests a second.
  for (let window = 0; window < 20; window++) {
    for (let n = 0; n < 200; n++) await get('/quick')
    vi.advanceTimersByTime(100)
  }
  await begin('/held', 300)
  vi.advanceTimersByTime(300)
  expect((await get('/quick')).statusCode).toBe(200)
  await begin('/held', 110)
  await get('/quick')
  vi.advanceTimersByTime(300)
  expect((await get('/quick')).statusCode).toBe(503)
  end()
})

/**
 * Six seconds in which 1,500 requests a second arrive. `answered`: how many of those in progress are answered in 20 ms. Returns how many are in
 * progress in the end.
 */
async function overload({ get, end, held }: ReturnType<typeof newServer>, answered: (inProgress: number) => number) {
  for (let step = 0; step < 300; step++) {
    end(answered(held.length))
    for (let n = 0; n < 30; n++) void get('/held')
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(20)
  }
  return held.length
}

test('when an overload lasts, fewer may be in progress; when it is over, as many as before', async () => {
  const server = newServer()
  await server.get('/quick')
  // 500 a second, however many are in progress: 30 of them take 60 ms.
  expect(await overload(server, () => 10)).toBeLessThan(40)
  vi.advanceTimersByTime(1_100)
  await server.begin('/held', 120)
  server.end()
})

test('they are not fewer when that only means fewer answers', async () => {
  const server = newServer()
  await server.get('/quick')
  // Each takes a second.
  expect(await overload(server, (inProgress) => Math.ceil(inProgress / 50))).toBeGreaterThan(120)
  server.end()
})

test('a burst is smaller on a node that is known to be slow', async () => {
  const { get, begin, end } = newServer()
  await get('/quick')
  // Busy, and 1,000 requests a second: in 400 ms it answers 400.
  await begin('/held', 100)
  for (let window = 0; window < 40; window++) {
    for (let n = 0; n < 100; n++) await get('/quick')
    vi.advanceTimersByTime(100)
  }
  await begin('/held', 299)
  expect((await get('/quick')).statusCode).toBe(200)
  const more = Array.from({ length: 10 }, () => get('/held'))
  await new Promise((resolve) => setImmediate(resolve))
  expect((await get('/quick')).statusCode).toBe(503)
  end()
  await Promise.all(more)
})

test('a client that floods the node does not shut out the others', async () => {
  const { get, begin, end } = newServer()
  for (const key of ['good flood', 'good neighbour']) await get('/quick', key)
  await begin('/held', 400, 'good flood')
  await get('/quick', 'good flood')
  vi.advanceTimersByTime(300)
  expect((await get('/quick', 'good flood')).statusCode).toBe(503)
  expect((await get('/quick', 'good neighbour')).statusCode).toBe(200)
  end()
})

test('a burst of one client that takes long does not shut out the others', async () => {
  const { get, begin, end } = newServer()
  for (const key of ['good flood', 'good neighbour']) await get('/quick', key)
  await begin('/held', 900, 'good flood')
  vi.advanceTimersByTime(300)
  expect((await get('/quick', 'good flood')).statusCode).toBe(503)
  for (let n = 0; n < 20; n++) expect((await get('/quick', 'good neighbour')).statusCode).toBe(200)
  end()
})

test('many clients together are too much as well', async () => {
  const { get, begin, end } = newServer()
  for (let n = 0; n < 700; n++) await get('/quick', `good ${n}`)
  for (let n = 0; n < 520; n++) await begin('/held', 1, `good ${n}`)
  vi.advanceTimersByTime(300)
  expect((await get('/quick', 'good 600')).statusCode).toBe(503)
  end()
})

test('invented keys are one client', async () => {
  const { get, begin, end } = newServer()
  await get('/quick', 'good neighbour')
  for (let n = 0; n < 400; n++) await begin('/held', 1, `bad ${n}`)
  await get('/quick', 'bad')
  vi.advanceTimersByTime(300)
  expect((await get('/quick', 'bad and new')).statusCode).toBe(503)
  expect((await get('/quick', 'good neighbour')).statusCode).toBe(200)
  end()
})

test('requests with limits of their own do not count', async () => {
  const { get, begin, end } = newServer()
  await begin('/slow', 1_200)
  expect((await get('/quick')).statusCode).toBe(200)
  expect((await begin('/slow', 1)).length).toBe(1)
  end()
})

test('a known client is refused before its request is read, and its connection stays usable', async () => {
  const { app, get, begin, end } = newServer()
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const post = (bytes: number) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: 'good key', 'content-type': 'application/json' }
      const req = request(`${url}/quick`, { method: 'POST', agent, headers }, (answer) => answer.resume().on('end', () => resolve(answer)))
      req.on('error', reject)
      req.end(JSON.stringify('x'.repeat(bytes)))
    })
  expect((await post(10)).statusCode).toBe(200)
  await begin('/held', 400)
  await get('/quick')
  vi.advanceTimersByTime(300)
  const refused = await post(200_000)
  expect(refused.statusCode).toBe(503)
  expect(refused.headers).toMatchObject({
    'retry-after': '1',
    'x-request-id': 'an id',
    'x-of-all': 'yes',
    'content-type': 'application/json',
  })
  end()
  while ((await post(10)).statusCode !== 200);
  agent.destroy()
  await app.close()
})
