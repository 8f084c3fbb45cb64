import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { connect, many } from '../../src/db/index.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { checkSecret } from '../../src/nodes/instance.ts'
import { createSterna } from '../support/app.ts'
import { CHEAP_PARTS } from '../support/cheap-parts.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { verifyDomains } from '../support/project.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { startProxy } from '../support/servers/proxy.ts'
import { times } from '../support/times.ts'

const log = createLog('silent')
type Node = Awaited<ReturnType<typeof startNode>>
let node: Node
beforeAll(async () => {
  // Instead of 15 s and 2 s. A connection whose packets are lost reports no error.
  node = await startNode({ queryTimeoutMs: 1_000 })
})
afterAll(() => node.close())

async function startNode({ queryTimeoutMs, env = {} }: { queryTimeoutMs: number; env?: Record<string, string> }) {
  const direct = await cloneDatabase()
  const proxy = await startProxy(direct.url)
  const db = connect({ url: `${proxy.url}?query_timeout=${queryTimeoutMs}&connect_timeout=1`, max: 4, log })
  const deps = { config: loadConfig({ SECRET_KEY, DATABASE_URL: proxy.url, ...env }), db, secrets: deriveSecrets(SECRET_KEY), log }
  await checkSecret(db, deps.secrets)
  const app = await buildApp(deps, CHEAP_PARTS)
  return {
    proxy,
    sterna: createSterna(app, db, deps.secrets),
    async close() {
      await app.close()
      // Ends the queries that got no reply.
      await proxy.stop()
      await db.destroy()
      await direct.drop()
    },
  }
}

describe('an API node whose connections to the database lose every packet', () => {
  test('answers 503 in time, stores nothing, and works again by itself when the network does', async () => {
    const { sterna, proxy } = node
    const project = await sterna.newProject()
    await sterna.call('POST', '/domains', { key: project.sk, body: { domain: 'shop.example' } })
    await verifyDomains(sterna.db, project.id)
    const send = (to: string, headers = {}) => {
      const body = { to, from: 'a@shop.example', subject: 'Hi', body: '<p>Hi</p>' }
      return sterna.call('POST', '/v1/send', { key: project.sk, body, headers })
    }
    expect((await send('before@example.com')).status).toBe(200)

    proxy.drop()
    const calls = [
      ...times(10, (n) => send(`during${n}@example.com`)),
      ...times(10, () => project.call('GET', '/contacts')),
      send('elsewhere@example.com', { host: 'api.example.com' }),
      sterna.call('GET', '/ready'),
    ]
    const answers = await Promise.all(calls)
    expect([...new Set(answers.map(({ status, headers }) => `${status} ${headers['retry-after']}`))]).toEqual(['503 1'])
    expect((await sterna.call('GET', '/health')).status).toBe(200)

    proxy.heal()
    await eventually(async () => expect((await send('after@example.com')).status).toBe(200))
    await eventually(async () => expect((await sterna.call('GET', '/ready')).status).toBe(200))
    const stored = await many<{ to: string }>(sterna.db)`select distinct to_address as to from emails order by 1`
    expect(stored.map(({ to }) => to)).toEqual(['after@example.com', 'before@example.com'])
  })

  test('does so by other names of the installation, too, and answers probes of its health by each', async () => {
    // A look-up of a name would wait for ever.
    const patient = await startNode({ queryTimeoutMs: 3_600_000, env: { INSTALLATION_NAMES: 'sterna.cluster.example' } })
    const { sterna, proxy } = patient
    const by = async (host: string, path: string) => {
      const { status, headers, body } = await sterna.call('GET', path, { headers: { host } })
      return [status, headers['retry-after'], body.error?.code]
    }
    expect(await by('api.example.com:3000', '/config')).toEqual([200, undefined, undefined])

    proxy.drop()
    expect(await by('other.example.com', '/config')).toEqual([503, '1', 'SERVICE_UNAVAILABLE'])
    expect(await by('other.example.com:3000', '/health')).toEqual([200, undefined, undefined])
    expect(await by('other.example.com', '/ready')).toEqual([503, '1', 'SERVICE_UNAVAILABLE'])
    // Without a look-up, as by PUBLIC_URL.
    expect(await by('sterna.cluster.example:3000', '/openapi.json')).toEqual([200, undefined, undefined])
    await patient.close()
  })
})
