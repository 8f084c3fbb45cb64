import { sql } from 'kysely'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { scalar } from '../../src/db/index.ts'
import { runHousekeeping } from '../../src/housekeeping.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { startApp, useApp } from '../support/app.ts'

const PROXY = '10.0.0.7'
const PUBLIC_URL = 'http://mail.example.com'
const sterna = useApp({ withWorker: false })
const stops: (() => Promise<void>)[] = []
let operator: Awaited<ReturnType<typeof sterna.newPerson>>

beforeAll(async () => {
  operator = await sterna.newPerson()
})
beforeEach(async () => {
  await sql`truncate request_sources`.execute(sterna.db)
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A node that has counted nothing yet. */
async function newNode(env: Record<string, string>) {
  const node = await startApp(sterna.url, { env: { RATE_LIMIT_PER_MINUTE: '0', PUBLIC_URL, ...env }, withWorker: false })
  stops.push(node.close)
  return node.sterna
}

type Node = Awaited<ReturnType<typeof newNode>>
type From = { from: string; client?: string | undefined; key?: string; path?: string }

/** Opens of emails, each by another client behind the proxy. */
async function request(node: Node, count: number, { from, client, key, path = '/t/o/x' }: From) {
  for (let n = 0; n < count; n++)
    await node.call('GET', path, { from, ...(key ? { key } : {}), headers: { 'x-forwarded-for': client ?? `93.184.216.${(n % 250) + 1}` } })
}

const stored = () => scalar<number>(sterna.db)`select coalesce(sum(requests), 0)::int from request_sources`
const untilStored = (count: number) => expect.poll(stored).toBe(count)

async function warnings(node: Node) {
  const { body } = await node.call('GET', '/doctor', { cookie: operator.cookie })
  return (body.checks as { name: string; note: string }[]).filter(({ name }) => name === 'proxy').map(({ note }) => note)
}

describe('the doctor', () => {
  test('warns of a proxy that TRUST_PROXY does not name: all clients have its address', async () => {
    const node = await newNode({ TRUST_PROXY: '10.0.0.1' })
    await request(node, 100, { from: PROXY })
    await untilStored(100)
    expect(await warnings(node)).toEqual([
      expect.stringMatching(/^all 100 requests without credentials .* came from 10\.0\.0\.7, .*name it in TRUST_PROXY$/),
    ])
  })

  test('does not warn when TRUST_PROXY names the proxy', async () => {
    const node = await newNode({ TRUST_PROXY: '10.0.0.0/8' })
    await request(node, 100, { from: PROXY })
    await untilStored(100)
    expect(await warnings(node)).toEqual([])
  })

  test('does not warn when one request came from elsewhere', async () => {
    const node = await newNode({})
    await request(node, 1, { from: '93.184.216.34' })
    await request(node, 99, { from: PROXY })
    await untilStored(100)
    expect(await warnings(node)).toEqual([])
  })

  test('does not warn of fewer than a hundred requests, of health checks, or of a server that calls with its key', async () => {
    const node = await newNode({})
    const { sk } = await node.newProject()
    await request(node, 98, { from: PROXY })
    await request(node, 100, { from: PROXY, path: '/health' })
    await request(node, 100, { from: PROXY, path: '/contacts', key: sk })
    expect(await stored()).toBe(0)
    expect(await warnings(node)).toEqual([])
  })

  test.each(['http://localhost:3000', 'http://192.168.1.10:3000', 'http://[fd00::1]:3000'])(
    'does not warn an installation for its own machine or network, %s',
    async (url) => {
      const node = await newNode({ PUBLIC_URL: url })
      await request(node, 100, { from: '127.0.0.1' })
      await untilStored(100)
      expect(await warnings(node)).toEqual([])
    },
  )

  test('looks at this hour and the one before, and older counts are deleted after a day', async () => {
    const node = await newNode({})
    await request(node, 100, { from: PROXY })
    await untilStored(100)
    await sql`update request_sources set hour = hour - interval '1 hour'`.execute(sterna.db)
    expect(await warnings(node)).toHaveLength(1)
    await sql`update request_sources set hour = hour - interval '1 hour'`.execute(sterna.db)
    expect(await warnings(node)).toEqual([])
    await sql`update request_sources set hour = hour - interval '1 day'`.execute(sterna.db)
    await runHousekeeping(sterna.db, createLog('silent'), { idempotencyTtlHours: 24, executionRetentionMonths: 0 })
    expect(await stored()).toBe(0)
  })

  test('counts what several nodes store in one hour', async () => {
    const [one, other] = [await newNode({}), await newNode({})]
    await request(one, 100, { from: PROXY })
    await request(other, 100, { from: PROXY })
    await untilStored(200)
    expect(await warnings(one)).toEqual([expect.stringContaining('all 200 requests')])
  })
})
