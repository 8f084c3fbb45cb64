import { describe, expect, test } from 'vitest'
import { connect } from '../../src/db/index.ts'
import { whenReachable } from '../../src/db/when-reachable.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog, type Log } from '../../src/lib/process/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { startWorker } from '../../src/worker.ts'
import { joinAsWorker } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { freePort, type Running, spawnNode, waitUntilReady } from '../support/process.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { startProxy } from '../support/servers/proxy.ts'

const log = createLog('silent')

const statusOf = async ({ url }: Running, path: string) => (await fetch(`${url}${path}`)).status

/** A node that waits is alive and says so, but takes no requests. */
async function expectWaiting(node: Running) {
  await eventually(() => expect(node.output()).toContain('waiting for the database'))
  const statuses = await Promise.all(['/health', '/ready', '/v1/track', '/auth/me', '/'].map((path) => statusOf(node, path)))
  expect(statuses.slice(0, 2)).toEqual([200, 503])
  return statuses.slice(2)
}

// They mostly wait.
describe.concurrent('a node that starts while the database', () => {
  test('answers nothing waits for it', async ({ onTestFinished: undo }) => {
    const database = await cloneDatabase()
    const proxy = await startProxy(database.url)
    proxy.drop()
    const node = await spawnNode({ DATABASE_URL: proxy.url, ROLE: 'api' })
    undo(database.drop)
    undo(proxy.stop)
    undo(async () => void (await node.stop('SIGKILL')))
    expect(await expectWaiting(node)).toEqual([503, 503, 503])
    proxy.heal()
    await waitUntilReady(node)
    expect(node.output()).not.toMatch(/^\s+at /m)
  })

  test('refuses connections waits for it', async ({ onTestFinished: undo }) => {
    const database = await cloneDatabase()
    const port = await freePort()
    const [, credentials, name] = /^postgres:\/\/(.*)@\/(\w+)/.exec(database.url)!
    const node = await spawnNode({ DATABASE_URL: `postgres://${credentials}@127.0.0.1:${port}/${name}`, ROLE: 'worker' })
    undo(database.drop)
    undo(async () => void (await node.stop('SIGKILL')))
    expect(await expectWaiting(node)).toEqual([404, 404, 404])
    const proxy = await startProxy(database.url, { port })
    undo(proxy.stop)
    await waitUntilReady(node)
  })
})

test('a worker whose sender gets no connection waits for one', async ({ onTestFinished: undo }) => {
  const database = await cloneDatabase()
  const proxy = await startProxy(database.url)
  const db = connect({ url: database.url, max: 4, log })
  undo(database.drop)
  undo(proxy.stop)
  undo(() => db.destroy())
  const deps = { config: loadConfig({ SECRET_KEY, DATABASE_URL: database.url }), db, secrets: deriveSecrets(SECRET_KEY), log }
  const presence = await joinAsWorker(deps, database.url)
  undo(presence.leave)
  proxy.ignore('sterna')
  const steps: string[] = []
  const warn = ({ step }: { step: string }) => void steps.push(step)
  const reach = whenReachable({ log: { ...log, info() {}, warn } as unknown as Log, limitMs: 60_000 })
  const starting = startWorker(deps, { url: proxy.url, presence, withSchedule: false, reach })
  await eventually(() => expect(steps).toEqual(['take the lease of this worker']))
  proxy.ignore()
  const worker = await starting
  await worker.stop()
})

describe('a step of the start', () => {
  const away = () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' }))

  test('ends with a clear message when the database stays away', async () => {
    const reach = whenReachable({ log, limitMs: 0 })
    await expect(reach('migrate', away)).rejects.toThrow('The database could not be used for 0 s (migrate): connect ECONNREFUSED')
  })

  test('is not repeated for another error', async () => {
    let calls = 0
    const reach = whenReachable({ log, limitMs: 60_000 })
    const wrongPassword = async () => {
      calls++
      throw Object.assign(new Error('password authentication failed'), { code: '28P01' })
    }
    await expect(reach('connect', wrongPassword)).rejects.toThrow('password authentication failed')
    expect(calls).toBe(1)
  })

  test('ends at once when the node is asked to stop', async () => {
    const stop = new AbortController()
    const waiting = whenReachable({ log, limitMs: 60_000, signal: stop.signal })('connect', away)
    stop.abort()
    await expect(waiting).rejects.toThrow()
  })
})
