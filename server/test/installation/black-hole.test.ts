import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { connect, many } from '../../src/db/index.ts'
import { checkSecret } from '../../src/db/instance.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createLog } from '../../src/lib/log.ts'
import { deriveSecrets } from '../../src/lib/secrets.ts'
import { createSterna } from '../support/app.ts'
import { CHEAP_PARTS } from '../support/cheap-parts.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { verifyDomains } from '../support/project.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { startProxy } from '../support/servers/proxy.ts'
import { times } from '../support/times.ts'

const log = createLog('silent')
const direct = {} as Awaited<ReturnType<typeof cloneDatabase>>
let proxy: Awaited<ReturnType<typeof startProxy>>
let sterna: ReturnType<typeof createSterna>
let close = async () => {}

beforeAll(async () => {
  Object.assign(direct, await cloneDatabase())
  proxy = await startProxy(direct.url)
  // Instead of 15 s and 2 s. A connection whose packets are lost reports no error.
  const db = connect({ url: `${proxy.url}?query_timeout=1000&connect_timeout=1`, max: 4, log })
  const deps = { config: loadConfig({ SECRET_KEY, DATABASE_URL: proxy.url }), db, secrets: deriveSecrets(SECRET_KEY), log }
  await checkSecret(db, deps.secrets)
  const app = await buildApp(deps, CHEAP_PARTS)
  sterna = createSterna(app, db, deps.secrets)
  close = async () => {
    await app.close()
    proxy.heal()
    await db.destroy()
    await proxy.stop()
    await direct.drop()
  }
})
afterAll(() => close())

describe('an API node whose connections to the database lose every packet', () => {
  test('answers 503 in time, stores nothing, and works again by itself when the network does', async () => {
    const project = await sterna.newProject()
    await sterna.call('POST', '/domains', { key: project.sk, body: { domain: 'shop.example' } })
    await verifyDomains(sterna.db, project.id)
    const send = (to: string) =>
      sterna.call('POST', '/v1/send', { key: project.sk, body: { to, from: 'a@shop.example', subject: 'Hi', body: '<p>Hi</p>' } })
    expect((await send('before@example.com')).status).toBe(200)

    proxy.drop()
    const calls = [
      ...times(10, (n) => send(`during${n}@example.com`)),
      ...times(10, () => project.call('GET', '/contacts')),
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
})
