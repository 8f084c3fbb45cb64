import { once } from 'node:events'
import { connect as connectSocket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { buildProbe, type Running, spawnNode, startNode } from '../support/process.ts'

beforeAll(buildProbe)

/** Two API nodes and a worker on one database, as separate processes. */
const LIMIT = 400
let database: Awaited<ReturnType<typeof cloneDatabase>>
let nodes: Running[]
let worker: Running

beforeAll(async () => {
  database = await cloneDatabase()
  const env = { DATABASE_URL: database.url, RATE_LIMIT_PER_MINUTE: String(LIMIT) }
  const started = await Promise.all([
    startNode({ ...env, ROLE: 'api' }, 'probe'),
    startNode({ ...env, ROLE: 'api' }, 'probe'),
    startNode({ ...env, ROLE: 'worker' }),
  ])
  nodes = started.slice(0, 2)
  worker = started[2]!
})
afterAll(async () => {
  await Promise.all([...nodes, worker].map((node) => node.stop()))
  await database.drop()
})

describe('several nodes on one PostgreSQL server', () => {
  const post = (url: string, body: object, cookie = '') =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', cookie }, body: JSON.stringify(body) })

  async function newProject() {
    const signedUp = await post(`${nodes[0]!.url}/auth/signup`, { email: `node${Math.random()}@example.com`, password: 'correct horse' })
    const cookie = signedUp.headers.get('set-cookie')!.split(';')[0]!
    const project = (await (await post(`${nodes[0]!.url}/users/@me/projects`, { name: 'Nodes' }, cookie)).json()) as {
      id: string
      public: string
      secret: string
    }
    return { ...project, cookie }
  }
  const secretCall = (node: Running, key: string) => fetch(`${node.url}/probe/secret`, { headers: { authorization: `Bearer ${key}` } })
  const trackCall = (node: Running, key: string) =>
    fetch(`${node.url}/probe/track`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{}',
    })

  test('a worker serves its health and nothing else', async () => {
    expect((await fetch(`${worker.url}/health`)).status).toBe(200)
    expect((await fetch(`${worker.url}/config`)).status).toBe(404)
  })

  test('every node refuses the old keys from the moment a rotation responds', async () => {
    let { id, public: pk, secret: sk, cookie } = await newProject()
    for (let round = 0; round < 10; round++) {
      const [rotating, other] = round % 2 ? [nodes[1]!, nodes[0]!] : [nodes[0]!, nodes[1]!]
      expect((await secretCall(other, sk)).status).toBe(200) // the other node has just used the old key
      const fresh = (await (await post(`${rotating.url}/users/@me/projects/${id}/regenerate-keys`, {}, cookie)).json()) as {
        public: string
        secret: string
      }
      const refused = await Promise.all([secretCall(other, sk), secretCall(rotating, sk), trackCall(other, pk), trackCall(rotating, pk)])
      expect(refused.map(({ status }) => status)).toEqual([401, 401, 401, 401])
      const allowed = await Promise.all([secretCall(other, fresh.secret), trackCall(other, fresh.public)])
      expect(allowed.map(({ status }) => status)).toEqual([200, 200])
      ;({ public: pk, secret: sk } = fresh)
    }
  })

  test('together they let 95 to 105 per cent of the limit through', async () => {
    const { secret } = await newProject()
    const statuses: number[] = []
    const client = async (node: Running) => {
      for (let n = 0; n < LIMIT * 0.75; n++) statuses.push((await secretCall(node, secret)).status)
    }
    await Promise.all([client(nodes[0]!), client(nodes[0]!), client(nodes[1]!), client(nodes[1]!)])
    const passed = statuses.filter((status) => status === 200).length
    expect(passed).toBeGreaterThanOrEqual(LIMIT * 0.95)
    expect(passed).toBeLessThanOrEqual(LIMIT * 1.05)
    expect(statuses.filter((status) => status === 429)).toHaveLength(statuses.length - passed)
  })

  test('a signed-out session is signed out everywhere', async () => {
    const { cookie } = await newProject()
    expect((await fetch(`${nodes[1]!.url}/users/@me`, { headers: { cookie } })).status).toBe(200)
    await fetch(`${nodes[0]!.url}/auth/logout`, { headers: { cookie } })
    expect((await fetch(`${nodes[1]!.url}/users/@me`, { headers: { cookie } })).status).toBe(401)
  })

  test('a node that is killed while it tracks loses nothing, and a retry elsewhere records nothing twice', async () => {
    const { public: pk, secret } = await newProject()
    const victim = await startNode({ DATABASE_URL: database.url, RATE_LIMIT_PER_MINUTE: '0', ROLE: 'api' })
    let answered = 0
    const trackAt = (node: Running, n: number) =>
      fetch(`${node.url}/v1/track`, {
        method: 'POST',
        headers: { authorization: `Bearer ${pk}`, 'content-type': 'application/json', 'idempotency-key': `k${n}` },
        body: JSON.stringify({ email: `c${n}@example.com`, event: 'bought' }),
      })
    const insist = async (n: number) => {
      const answer = await trackAt(victim, n).catch(() => trackAt(nodes[n % 2]!, n))
      if (++answered === 80) victim.stop('SIGKILL')
      return answer.status
    }
    const statuses = await Promise.all(
      Array.from({ length: 10 }, async (_, client) => {
        const mine: number[] = []
        for (let n = 0; n < 20; n++) mine.push(await insist(client * 20 + n))
        return mine
      }),
    )
    // Written, or written already by the one that could not say so any more.
    expect(statuses.flat().every((status) => status === 200 || status === 409)).toBe(true)
    for (const list of ['events?eventName=bought', 'contacts']) {
      const answer = await fetch(`${nodes[0]!.url}/${list}`, { headers: { authorization: `Bearer ${secret}` } })
      expect(((await answer.json()) as { total: number }).total).toBe(200)
    }
  })

  test('a reset asked of an API node is done by the worker', async () => {
    const { id, secret, cookie } = await newProject()
    const withKey = () =>
      fetch(`${nodes[0]!.url}/probe/once`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': 'k' },
        body: '{}',
      })
    expect((await withKey()).status).toBe(200)
    expect((await withKey()).status).toBe(409)
    const reset = await post(`${nodes[0]!.url}/users/@me/projects/${id}/reset`, {}, cookie)
    // On a busy machine the API node answers before the worker has done it.
    expect(await reset.json()).toEqual({
      success: true,
      message: expect.stringMatching(/^All data of this project (?:was|is being) deleted\.$/),
    })
    await eventually(async () => expect((await withKey()).status).toBe(200))
  })
})

describe('starting and stopping', () => {
  test('a request under way is answered after SIGTERM, new connections are not taken, and the exit is clean', async () => {
    const node = nodes[1]!
    const slow = fetch(`${node.url}/probe/slow`)
    await new Promise((resolve) => setTimeout(resolve, 100)) // the request must have arrived,
    await fetch(`${node.url}/health`) // and a later one was answered
    const before = performance.now()
    const code = node.stop('SIGTERM')
    expect(await (await slow).json()).toEqual({ done: true })
    expect(await code).toBe(0)
    expect(performance.now() - before).toBeLessThan(40_000)
    const refused = connectSocket(Number(new URL(node.url).port), '127.0.0.1')
    expect(await once(refused, 'error').then(() => 'refused')).toBe('refused')
  })

  // Each is a process that reads its settings and ends.
  test.concurrent.each([
    ['a port that is taken', (node: Running) => ({ PORT: new URL(node.url).port }), /Port \d+ on 127\.0\.0\.1 is in use/],
    ['another SECRET_KEY', () => ({ SECRET_KEY: 'another secret key that is long enough' }), /SECRET_KEY is not the one/],
    ['a bad value', () => ({ ROLE: 'boss' }), /ROLE: /],
    ['no SECRET_KEY', () => ({ SECRET_KEY: '' }), /SECRET_KEY is required with DATABASE_URL/],
    ['no database', () => ({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', DATABASE_WAIT_SECONDS: '0' }), /ECONNREFUSED/],
  ])('a start with %s fails with a clear message', async (_, change, message) => {
    const second = await spawnNode({ DATABASE_URL: database.url, ...change(nodes[0]!) })
    expect(await second.exited).toBe(1)
    expect(second.output()).toMatch(message)
    expect(second.output()).not.toMatch(/^\s+at /m)
  })
})
