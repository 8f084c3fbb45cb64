import { subscribe } from 'node:diagnostics_channel'
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { buildApp } from '../../src/app.ts'
import { ANYONE } from '../../src/http/auth/declaration.ts'
import { SLOW_READS_PER_OWNER } from '../../src/http/limits/slow-reads.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { OF_PROBES } from '../support/api/probe.ts'
import { type Answer, useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { SECRET_KEY } from '../support/secret-key.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })

describe('bodies', () => {
  test('with an unbounded array or record prevent the start of the server', async () => {
    const boot = async (body: z.ZodType) => {
      const app = await buildApp(
        { config: loadConfig({ SECRET_KEY }), db: sterna.db, secrets: sterna.secrets, log: createLog('silent') },
        { extend: (app) => void app.post('/probe/unbounded', { config: ANYONE, schema: { body } }, () => 1) },
      )
      await app.ready()
      await app.close()
    }
    await expect(boot(z.object({ ids: z.array(z.string()).max(9) }))).resolves.toBeUndefined()
    await expect(boot(z.object({ ids: z.array(z.string()) }))).rejects.toThrow('POST /probe/unbounded: body.ids is an array without .max()')
    await expect(boot(z.object({ map: z.record(z.string(), z.string()) }))).rejects.toThrow('body.map is a record without')
  })

  test('of a megabyte of zeros are refused with a small answer', async () => {
    const { sk, pk } = await sterna.newProject()
    const zeros = Array(500_000).fill(0).join()
    const lookup = await sterna.call('POST', '/contacts/lookup', { key: sk, body: `{"emails":[${zeros}]}` })
    expect([lookup.status, lookup.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE'])
    const ignored = await sterna.call('POST', '/v1/track', {
      key: pk,
      body: `{"email":"a@example.com","event":"x","b":"\\u0041","c":[${zeros}]}`,
    })
    expect(ignored.status).toBe(413)
  })

  test('with too many addresses for a lookup are a plain 400 before the addresses are validated', async () => {
    const { sk } = await sterna.newProject()
    for (const emails of [Array(501).fill('a@example.com'), Array(90_000).fill(0), []]) {
      const answer = await sterna.call('POST', '/contacts/lookup', { key: sk, body: { emails } })
      expect([answer.status, answer.body]).toEqual([400, { error: 'Give 1 to 500 email addresses.' }])
    }
    const contactIds = Array(1_001).fill(0)
    expect(await sterna.call('POST', '/contacts/bulk-delete', { key: sk, body: { contactIds } })).toMatchObject({
      status: 400,
      body: { error: 'Give 1 to 1000 contact ids.' },
    })
  })

  test('with forty megabytes of headers are refused by the number of headers', async () => {
    const { sk } = await sterna.newProject()
    const headers = (count: number) => Array.from({ length: count }, (_, n) => `"x${n}":0`).join()
    const send = (text: string) => sterna.call('POST', '/v1/send', { key: sk, body: `{"to":"a@example.com","headers":{${text}}}` })
    // Equal names, because three million different ones take half a second: values are counted before they are parsed.
    expect((await send(`${'"x1000000":0,'.repeat(3_000_000)}"x":0`)).status).toBe(413)
    const fewer = await send(headers(50_000))
    expect([fewer.status, fewer.body.error.errors]).toEqual([422, [{ field: 'headers', message: 'At most 50 keys.', code: 'too_big' }]])
  })

  test('with many errors are answered with 50 of them', async () => {
    const { sk } = await sterna.newProject()
    const { body, status } = await sterna.call('POST', '/v1/send', { key: sk, body: { to: Array(1_000).fill('nobody') } })
    expect([status, body.error.errors.length]).toEqual([422, 50])
    expect(body.error.errors[0]).toMatchObject({ field: 'to.0', code: 'invalid_string' })
  })

  test('with a key of a megabyte are refused without repeating it', async () => {
    const { sk } = await sterna.newProject()
    const { body, status } = await sterna.call('POST', '/v1/send', { key: sk, body: { headers: { ['x'.repeat(1_000_000)]: 0 } } })
    expect(status).toBe(422)
    expect(JSON.stringify(body).length).toBeLessThan(2_000)
  })
})

describe('request bodies in flight', () => {
  const small = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0', REQUEST_BODY_BUDGET_MB: '1' } })
  /** Where a body counts as slow soon. Long waits, because the machine may be busy. */
  const hasty = useApp({
    env: { RATE_LIMIT_PER_MINUTE: '0', REQUEST_BODY_BUDGET_MB: '1' },
    bodyLimits: { graceMs: 100, watchMs: 10, waitMs: 60_000 },
  })
  let [smallPort, hastyPort] = [0, 0]
  beforeAll(async () => {
    await small.app.listen({ host: '127.0.0.1', port: 0 })
    smallPort = (small.app.server.address() as AddressInfo).port
    await hasty.app.listen({ host: '127.0.0.1', port: 0 })
    hastyPort = (hasty.app.server.address() as AddressInfo).port
  })

  // The server does not close while a request is incomplete.
  const requests: ClientRequest[] = []
  afterAll(() => {
    for (const request of requests) request.destroy()
  })

  type Sending = { key?: string; path?: string; announced: number | 'chunked'; type?: string; port?: number }
  const KB = 1024

  /** A request whose body ends with `finish`. */
  function begin({ key, path = '/contacts', announced, type = 'application/json', port = smallPort }: Sending) {
    const request = httpRequest({
      port,
      path,
      method: 'POST',
      headers: {
        'content-type': type,
        ...(announced === 'chunked' ? {} : { 'content-length': announced }),
        ...(key ? { authorization: `Bearer ${key}` } : {}),
      },
    })
    const answer = new Promise<{ status: number; headers: IncomingHttpHeaders; body: string }>((resolve, reject) => {
      request.on('error', reject)
      request.on('response', async (response) => {
        let body = ''
        for await (const chunk of response) body += chunk
        resolve({ status: response.statusCode!, headers: response.headers, body })
      })
    })
    answer.catch(() => {})
    requests.push(request)
    request.flushHeaders()
    return { request, answer, finish: (text: string) => request.end(text) }
  }

  const bodyOf = (bytes: number) => {
    const around = JSON.stringify({ email: 'a@example.com', ignored: '' }).length
    return JSON.stringify({ email: 'a@example.com', ignored: 'x'.repeat(bytes - around) })
  }
  /** 200 if an earlier request has created the contact. */
  const outcome = async ({ answer }: ReturnType<typeof begin>) => {
    const { status } = await answer
    return status === 200 || status === 201 ? 'taken' : status
  }
  const send = (given: Sending & { announced: number }) => {
    const begun = begin(given)
    begun.finish(bodyOf(given.announced))
    return outcome(begun)
  }

  /** Starts a request and waits until it holds its share: a second one, `beside` it, is refused. If the second one arrives first, it tries again. */
  async function hold(given: Sending, beside: Sending & { announced: number }, part = '') {
    for (;;) {
      const begun = begin(given)
      if (part) begun.request.write(part)
      let isRefused = false
      begun.answer.then(
        () => {
          isRefused = true
        },
        () => {},
      )
      await eventually(async () => expect(isRefused || (await send(beside)) === 503).toBe(true))
      if (!isRefused) return begun
    }
  }

  test('with the public key or without a key leave a share for the secret key', async () => {
    const project = await small.newProject()
    const held = { key: project.pk, path: '/v1/track', announced: 100 * KB }
    const byPublicKey = await hold(held, { ...held, announced: 60 * KB })
    expect(await send({ key: project.sk, announced: 400 * KB })).toBe('taken')
    const login = { path: '/auth/login', announced: 100 * KB }
    const anonymous = await hold(login, { ...login, announced: 60 * KB })
    expect(await send({ key: project.sk, announced: 400 * KB })).toBe('taken')
    for (const { request } of [byPublicKey, anonymous]) request.destroy()
  })

  test('use at most half of the budget of a node per owner, and all of it together', async () => {
    const [mine, theirs, third] = [await small.newProject(), await small.newProject(), await small.newProject()]
    // No byte has arrived yet: the Content-Length counts.
    const first = await hold({ key: mine.sk, announced: 400 * KB }, { key: mine.sk, announced: 200 * KB })
    const refused = begin({ key: mine.sk, announced: 200 * KB })
    const { status, headers, body } = await refused.answer
    expect([status, headers['retry-after'], JSON.parse(body).error]).toEqual([
      503,
      '1',
      expect.objectContaining({ code: 'SERVICE_UNAVAILABLE', details: { retryAfter: 1 } }),
    ])
    refused.request.destroy()
    // Another project of the owner is refused, too. Other owners are served, and so are small bodies of this one.
    const sibling = await small.newProject(mine.owner)
    expect(await send({ key: sibling.sk, announced: 200 * KB })).toBe(503)
    expect(await send({ key: theirs.sk, announced: 200 * KB })).toBe('taken')
    expect(await send({ key: mine.sk, announced: 16 * KB })).toBe('taken')

    const second = await hold({ key: theirs.sk, announced: 500 * KB }, { key: theirs.sk, announced: 200 * KB })
    expect(await send({ key: third.sk, announced: 10 * KB })).toBe('taken')
    // Within its share: it waits until there is room.
    const waiting = send({ key: third.sk, announced: 200 * KB })

    first.finish(bodyOf(400 * KB))
    second.finish(bodyOf(500 * KB))
    expect([await outcome(first), await outcome(second), await waiting]).toEqual(['taken', 'taken', 'taken'])
    expect(await send({ key: third.sk, announced: 500 * KB })).toBe('taken')
    expect(await send({ key: mine.sk, announced: 500 * KB })).toBe('taken')
  })

  test.each([
    ['with a length', { announced: 500 * KB }, ''],
    ['without a length', { announced: 'chunked' }, bodyOf(500 * KB).slice(0, -1)],
    [
      'of a form',
      { announced: 500 * KB, path: '/contacts/import', type: 'multipart/form-data; boundary=x' },
      '--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail\r\n',
    ],
  ] as const)('that arrive slowly, %s, are cut off with 408 when another owner waits for room', async (_, given, part) => {
    const [mine, theirs, third] = [await hasty.newProject(), await hasty.newProject(), await hasty.newProject()]
    const held = [
      await hold({ key: mine.sk, ...given, port: hastyPort }, { key: mine.sk, announced: 200 * KB, port: hastyPort }, part),
      await hold({ key: theirs.sk, ...given, port: hastyPort }, { key: theirs.sk, announced: 200 * KB, port: hastyPort }, part),
    ]
    const cutOff = Promise.race(held.map((each) => each.answer))
    expect(await send({ key: third.sk, announced: 200 * KB, port: hastyPort })).toBe('taken')
    const { status, headers, body } = await cutOff
    expect([status, headers.connection, JSON.parse(body).error.code]).toEqual([408, 'close', 'REQUEST_TIMEOUT'])
    for (const { request } of held) request.destroy()
  })

  test('are released when clients disconnect and when requests are refused', async () => {
    const { sk } = await small.newProject()
    const gone = await hold({ key: sk, announced: 500 * KB }, { key: sk, announced: 300 * KB })
    gone.request.destroy()
    await eventually(async () => expect(await send({ key: sk, announced: 300 * KB })).toBe('taken'))
    // Invalid JSON, an unknown route and a missing key: nothing stays reserved.
    for (const given of [{ path: '/contacts' }, { path: '/nowhere' }, { path: '/templates/lint', type: 'text/plain' }]) {
      const bad = begin({ key: sk, announced: 500 * KB, ...given })
      bad.finish('x'.repeat(500 * KB))
      expect((await bad.answer).status).toBeGreaterThanOrEqual(400)
    }
    expect(await send({ key: sk, announced: 500 * KB })).toBe('taken')
  })

  test('without a Content-Length count as they arrive', async () => {
    const { sk } = await small.newProject()
    const first = await hold({ key: sk, announced: 'chunked' }, { key: sk, announced: 300 * KB }, bodyOf(400 * KB).slice(0, -1))
    const second = begin({ key: sk, announced: 'chunked' })
    second.request.write('x'.repeat(300 * KB))
    const { status, headers } = await second.answer
    expect([status, headers['retry-after']]).toEqual([503, '1'])
    second.request.destroy()
    first.finish('}')
    expect(await outcome(first)).toBe('taken')
    expect(await send({ key: sk, announced: 500 * KB })).toBe('taken')
  })

  test('include uploads, and callers without a key share one budget', async () => {
    const { sk } = await small.newProject()
    const form = { path: '/contacts/import', type: 'multipart/form-data; boundary=x' }
    const upload = await hold({ key: sk, announced: 400 * KB, ...form }, { key: sk, announced: 200 * KB })
    upload.request.destroy()
    const stranger = await hold({ path: '/auth/login', announced: 400 * KB }, { path: '/auth/signup', announced: 200 * KB })
    await eventually(async () => expect(await send({ key: sk, announced: 200 * KB })).toBe('taken'))
    expect((await small.call('POST', '/auth/login', { body: { email: 'a@example.com', password: 'wrong wrong' } })).status).toBe(401)
    stranger.request.destroy()
  })
})

describe('slow reads', () => {
  let running = 0
  /** Concurrent slow reads per owner. */
  const now = new Map<string, number>()
  const most = new Map<string, number>()
  const count = (id: string, by: number) => {
    running += by
    now.set(id, (now.get(id) ?? 0) + by)
    most.set(id, Math.max(most.get(id) ?? 0, now.get(id)!))
  }
  let open = () => {}
  let gate: Promise<void>
  const close = () => {
    gate = new Promise((resolve) => {
      open = resolve
    })
  }
  close()
  const slow: string[] = []
  const node = useApp({
    env: { RATE_LIMIT_PER_MINUTE: '0' },
    extend: (app) =>
      void app.get(
        '/probe/slow-read',
        { config: { ...OF_PROBES, slowRead: ({ query }) => query !== undefined && 'slow' in (query as object) } },
        async (req) => {
          if (!('slow' in (req.query as object))) return {}
          count(req.project.owner, 1)
          await gate
          count(req.project.owner, -1)
          return {}
        },
      ),
  })
  subscribe('fastify.initialization', (message) =>
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url, config }) => {
      if (config?.slowRead && method === 'GET') slow.push(url)
    }),
  )
  const ask = (key: string, url: string, count: number) => Array.from({ length: count }, () => node.call('GET', url, { key }))
  const statuses = (answers: Answer[]) => answers.map(({ status }) => status)

  test('of one owner run a few at a time, some wait and the rest get Retry-After; other owners are not affected', async () => {
    const [mine, theirs] = [await node.newProject(), await node.newProject()]
    const second = await node.newProject(mine.owner)
    const asked = [mine, second].flatMap(({ sk }) => ask(sk, '/probe/slow-read?slow', 15))
    const first = await Promise.race(asked)
    expect([first.status, first.headers['retry-after'], first.body.error.code]).toEqual([503, '1', 'SERVICE_UNAVAILABLE'])
    await eventually(() => expect(running).toBe(SLOW_READS_PER_OWNER))
    expect(statuses(await Promise.all(ask(mine.sk, '/probe/slow-read', 4)))).toEqual([200, 200, 200, 200])
    const others = ask(theirs.sk, '/probe/slow-read?slow', 4)
    await eventually(() => expect(running).toBe(2 * SLOW_READS_PER_OWNER))
    open()
    expect(statuses(await Promise.all(others))).toEqual([200, 200, 200, 200])
    const served = statuses(await Promise.all(asked)).filter((status) => status === 200)
    expect(served.length).toBeGreaterThanOrEqual(SLOW_READS_PER_OWNER)
    expect(most.size).toBe(2)
    expect(Math.max(...most.values())).toBe(SLOW_READS_PER_OWNER)
    expect(statuses(await Promise.all(ask(mine.sk, '/probe/slow-read?slow', 8)))).toEqual(Array(8).fill(200))
  })

  test('wait nearly as long as clients do', async () => {
    const { sk } = await node.newProject()
    close()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
    try {
      const asked = ask(sk, '/probe/slow-read?slow', SLOW_READS_PER_OWNER + 1)
      await eventually(() => expect(running).toBe(SLOW_READS_PER_OWNER))
      for (let quick = 0; quick < 5; quick++) await Promise.all(ask(sk, '/probe/slow-read', 1))
      await vi.advanceTimersByTimeAsync(10_000)
      open()
      expect(new Set(statuses(await Promise.all(asked)))).toEqual(new Set([200]))
    } finally {
      vi.useRealTimers()
    }
  })

  test('are those whose cost grows with the data of a project', () => {
    expect([...new Set(slow)].sort()).toEqual([
      '/activity',
      '/activity/stats',
      '/activity/types',
      '/analytics/campaign-stats',
      '/analytics/delivery-times',
      '/analytics/domains',
      '/analytics/growth',
      '/analytics/leaders',
      '/analytics/summary',
      '/analytics/timeseries',
      '/analytics/top-campaigns',
      '/analytics/top-events',
      '/analytics/weekday-hours',
      '/campaigns',
      '/campaigns/:id/audience',
      '/campaigns/:id/excluded',
      '/campaigns/:id/hours',
      '/campaigns/:id/links',
      '/campaigns/:id/preflight',
      '/campaigns/:id/reasons',
      '/campaigns/:id/recipients',
      '/contacts',
      '/contacts/:id/segments',
      '/contacts/fields',
      '/contacts/fields/:field/usage',
      '/contacts/fields/:field/values',
      '/emails',
      '/emails/:id/preview',
      '/events/:eventName/usage',
      '/events/contact/:contactId',
      '/events/contact/usage',
      '/events/names',
      '/events/names/details',
      '/events/stats',
      '/probe/slow-read',
      '/projects/:id/audit',
      '/sandbox/messages/:id',
      '/sandbox/messages/:id/preview',
      '/segments/:id/contacts',
      '/segments/:id/explain/:contactId',
      '/segments/:id/history',
      '/segments/:id/usage',
      '/segments/usage',
      '/templates',
      '/templates/:id/usage',
      '/templates/usage',
      '/workflows',
      '/workflows/:id/executions',
      '/workflows/:id/steps/:stepId/visits',
      '/workflows/fields',
    ])
  })
})

describe('requests with large bodies', () => {
  let [running, most] = [0, 0]
  let open = () => {}
  const node = useApp({
    env: { RATE_LIMIT_PER_MINUTE: '0' },
    extend: (app) =>
      void app.post('/probe/large-body', { config: OF_PROBES }, async () => {
        most = Math.max(most, ++running)
        await new Promise<void>((resolve) => {
          const before = open
          open = () => {
            before()
            resolve()
          }
        })
        running--
        return {}
      }),
  })
  const AT_ONCE = 4 * SLOW_READS_PER_OWNER
  const post = (key: string, bytes: number) => node.call('POST', '/probe/large-body', { key, body: { text: 'x'.repeat(bytes) } })
  /** Lets the requests under way end, until all have. */
  async function finish(asked: Promise<Answer>[]) {
    const statuses = Promise.all(asked.map(async (each) => (await each).status))
    let isDone = false
    statuses.then(() => (isDone = true))
    await eventually(() => {
      open()
      open = () => {}
      expect(isDone).toBe(true)
    })
    return statuses
  }

  /** Whether so many run at once, before any of them may end. */
  async function isReached(count: number) {
    for (let waited = 0; running < count && waited < 2_000; waited += 10) await new Promise((resolve) => setTimeout(resolve, 10))
    return running === count
  }

  test('of one owner run a few at a time while another owner makes requests, and all at once otherwise', async () => {
    const [mine, theirs] = [await node.newProject(), await node.newProject()]
    const second = await node.newProject(mine.owner)
    const ask = (bytes: number) => [mine, second].flatMap(({ sk }) => Array.from({ length: AT_ONCE }, () => post(sk, bytes)))
    // The other owner goes on making requests for as long as its requests are answered.
    let isBusy = true
    const call = () => node.call('GET', '/contacts', { key: theirs.sk })
    // It is known before the requests of the first owner arrive.
    expect((await call()).status).toBe(200)
    const busy = (async () => {
      while (isBusy) await call()
    })()
    onTestFinished(async () => {
      isBusy = false
      await busy
    })
    const [large, small] = [ask(20_000), ask(1_000)]
    await eventually(() => expect(running).toBe(AT_ONCE + small.length))
    expect((await finish([...large, ...small])).every((status) => status === 200)).toBe(true)
    expect(most).toBe(AT_ONCE + small.length)
    isBusy = false
    await busy

    // The other owner counts as busy for a moment longer.
    await eventually(async () => {
      const asked = ask(20_000)
      const runAtOnce = await isReached(asked.length)
      await finish(asked)
      expect(runAtOnce).toBe(true)
    })
  })
})

describe('reads with large responses', () => {
  /** Handlers that wait for their turn, per project. */
  const held = new Map<string, (() => void)[]>()
  const node = useApp({
    env: { RATE_LIMIT_PER_MINUTE: '0' },
    extend: (app) =>
      void app.get('/probe/large', { config: OF_PROBES }, async (req) => {
        const { size, hold } = req.query as { size: string; hold?: string }
        const { id } = req.project
        if (hold) await new Promise<void>((resolve) => held.set(id, [...(held.get(id) ?? []), resolve]))
        return { text: 'x'.repeat(Number(size)) }
      }),
  })
  const heldOf = (id: string) => held.get(id)?.length ?? 0
  const letOne = (id: string) => held.get(id)!.shift()!()

  test('run one at a time per project once a response was large, and other reads and projects do not wait', async () => {
    const [mine, theirs] = [await node.newProject(), await node.newProject()]
    const ask = ({ sk }: { sk: string }, query: string) => node.call('GET', `/probe/large?${query}`, { key: sk })
    const small = [ask(theirs, 'size=10&hold=1'), ask(theirs, 'size=10&hold=1')]
    await eventually(() => expect(heldOf(theirs.id)).toBe(2))
    for (let n = 0; n < 2; n++) letOne(theirs.id)
    await Promise.all(small)

    expect((await ask(mine, 'size=300000')).status).toBe(200)
    const large = [1, 2, 3].map(() => ask(mine, 'size=300000&hold=1'))
    const others = [ask(theirs, 'size=10&hold=1'), ask(theirs, 'size=10&hold=1')]
    await eventually(() => expect([heldOf(mine.id), heldOf(theirs.id)]).toEqual([1, 2]))
    for (let n = 0; n < 2; n++) letOne(theirs.id)
    await Promise.all(others)
    expect((await node.call('GET', '/contacts', { key: mine.sk })).status).toBe(200)
    expect(heldOf(mine.id)).toBe(1)
    for (let n = 0; n < 3; n++) {
      await eventually(() => expect(heldOf(mine.id)).toBe(1))
      letOne(mine.id)
    }
    for (const { status, body } of await Promise.all(large)) expect([status, body.text.length]).toEqual([200, 300_000])
  })

  test('are refused with Retry-After if too many wait', async () => {
    const { sk, id } = await node.newProject()
    const ask = (query: string) => node.call('GET', `/probe/large?${query}`, { key: sk })
    await ask('size=300000')
    const asked = Array.from({ length: 18 }, () => ask('size=1&hold=1'))
    const { status, headers, body } = await Promise.race(asked)
    expect([status, headers['retry-after'], body.error.code]).toEqual([503, '1', 'SERVICE_UNAVAILABLE'])
    for (let n = 0; n < 17; n++) {
      await eventually(() => expect(heldOf(id)).toBe(1))
      letOne(id)
    }
    expect((await Promise.all(asked)).filter((answer) => answer.status === 200)).toHaveLength(17)
  })
})
