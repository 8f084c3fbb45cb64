import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildApp } from '../../../src/app.ts'
import { connect, many, one, type Pool } from '../../../src/db/index.ts'
import { syncWithTransport } from '../../../src/domains/sender-domains/sync-with-transport.ts'
import { loadConfig } from '../../../src/lib/config.ts'
import { createLog } from '../../../src/lib/process/log.ts'
import { deriveSecrets } from '../../../src/lib/secrets.ts'
import { checkSecret } from '../../../src/nodes/instance.ts'
import { joinNodes } from '../../../src/nodes/join.ts'
import { announce } from '../../../src/nodes/presence.ts'
import { createSterna } from '../../support/app.ts'
import { cloneDatabase } from '../../support/database.ts'
import { type LocalNode, startLocalNode } from '../../support/local-node.ts'
import { spawnNode, startNode } from '../../support/process.ts'
import { SECRET_KEY } from '../../support/secret-key.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { startSmtpServer } from '../../support/servers/smtp-server.ts'

/** Nodes with different transport settings on one database. Those whose output matters are processes, the others run in this one. */
let sink: Awaited<ReturnType<typeof startSmtpServer>>
let dns: Awaited<ReturnType<typeof startDnsServer>>
let database: Awaited<ReturnType<typeof cloneDatabase>>
let db: Pool
const nodes: { stop(): Promise<unknown> }[] = []

beforeAll(async () => {
  sink = await startSmtpServer()
  dns = await startDnsServer()
})
afterAll(async () => {
  await sink.stop()
  await dns.stop()
})
beforeEach(async () => {
  database = await cloneDatabase()
  db = connect({ url: database.url, max: 4, log: createLog('silent') })
})
afterEach(async () => {
  await stopAll()
  await db.destroy()
  await database.drop()
})

const stopAll = () => Promise.all(nodes.splice(0).map((node) => node.stop()))
const environment = (env: Record<string, string>) => ({ DATABASE_URL: database.url, DNS_SERVERS: dns.address, ...env })
const smtp = () => ({ SMTP_URL: sink.url })

async function start(env: Record<string, string>) {
  const node = await startLocalNode(environment(env))
  nodes.push(node)
  return node
}

async function stop(node: LocalNode) {
  nodes.splice(nodes.indexOf(node), 1)
  await node.stop()
}

async function startProcess(env: Record<string, string>) {
  const node = await startNode(environment(env))
  nodes.push(node)
  return node
}

/** Starts a node that should be refused, and returns what it printed. */
async function refusedStart(env: Record<string, string>) {
  const node = await spawnNode(environment(env))
  nodes.push(node)
  expect(await node.exited).toBe(1)
  return node.output()
}

async function newProject(node: LocalNode) {
  const { id, sk: key } = await node.newProject()
  return {
    id,
    addDomain: (domain: string) => node.call('POST', '/domains', { body: { domain }, key }),
    check: (domainId: string) => node.call('GET', `/domains/${domainId}/verify`, { key }),
    domains: async () => (await node.call('GET', '/domains/project/current', { key })).body,
    send: (from: string, to: string | string[]) =>
      node.call('POST', '/v1/send', { body: { to, from, subject: 'Hi', body: 'Hi', subscribed: true }, key }),
  }
}

const transportOf = async (node: LocalNode) => (await node.call('GET', '/config')).body.features.email
const setProof = (projectId: string, proof: 'dns' | 'sandbox') =>
  sql`
    update domains set status = 'verified', verified_by = ${proof}, verified_at = now(), next_check_at = 'infinity' where project_id = ${projectId}
  `.execute(db)
const statesOf = (projectId: string) =>
  many(db, sql<{ state: string; error: string | null }>`select state, error from emails where project_id = ${projectId} order by id`)

describe('an API node without transport settings beside a worker that sends by SMTP', () => {
  test('verifies no domain by itself, and shows the transport of the installation', async () => {
    await start({ ROLE: 'worker', ...smtp() })
    const api = await start({ ROLE: 'api' })
    const project = await newProject(api)
    const added = await project.addDomain('bank.example')
    expect([added.status, added.body.status, added.body.verifiedBy]).toEqual([201, 'pending', null])
    expect((await project.check(added.body.id)).body).toMatchObject({ verified: false, status: 'pending' })
    const refused = await project.send('ceo@bank.example', 'a@example.com')
    expect([refused.status, refused.body.error.code]).toEqual([403, 'DOMAIN_NOT_VERIFIED'])
    expect(await transportOf(api)).toEqual({ transport: 'smtp', sandbox: false })
  })

  test('a domain that a sandbox verified neither sends nor is sent from', async () => {
    const api = await start({ ROLE: 'api' })
    const worker = await start({ ROLE: 'worker', ...smtp() })
    const project = await newProject(api)
    await project.addDomain('shop.example')
    await setProof(project.id, 'dns')
    await stop(worker)
    expect((await project.send('news@shop.example', 'a@example.com')).status).toBe(200)
    // As before the first worker with a relay: no record was published.
    await setProof(project.id, 'sandbox')
    expect((await project.send('news@shop.example', 'b@example.com')).status).toBe(403)
    const before = sink.messages.length
    await start({ ROLE: 'worker', ...smtp() })
    await expect.poll(() => statesOf(project.id)).toEqual([{ state: 'failed', error: 'domain_not_verified' }])
    expect(sink.messages).toHaveLength(before)
  })
})

test('messages for a relay with dkim=off are not signed', async () => {
  const api = await start({ ROLE: 'api' })
  const project = await newProject(api)
  const sendBy = async (smtpUrl: string) => {
    const worker = await start({ ROLE: 'worker', SMTP_URL: smtpUrl })
    await setProof(project.id, 'dns')
    const { body } = await project.send('news@shop.example', 'a@example.com')
    const source = () => sink.bodies.get(body.data.emails[0].email)
    await expect.poll(source).toBeDefined()
    await stop(worker)
    return source()
  }
  await project.addDomain('shop.example')
  expect(await sendBy(sink.url)).toMatch(/^DKIM-Signature: v=1;/)
  expect(await sendBy(`${sink.url}&dkim=off`)).not.toMatch(/^DKIM-Signature/im)
})

test('before any worker has set the transport, domains stay pending; a sandbox then verifies them', async () => {
  const api = await start({ ROLE: 'api' })
  const project = await newProject(api)
  const added = await project.addDomain('shop.example')
  expect(added.body.status).toBe('pending')
  expect((await project.check(added.body.id)).body.status).toBe('pending')
  expect(await transportOf(api)).toEqual({ transport: null, sandbox: false })
  await start({ ROLE: 'worker' })
  expect(await transportOf(api)).toEqual({ transport: 'sandbox', sandbox: true })
  expect(await project.domains()).toMatchObject([{ status: 'verified', verifiedBy: 'sandbox' }])
  expect((await project.addDomain('other.example')).body).toMatchObject({ status: 'verified', verifiedBy: 'sandbox' })
})

test('a worker without SMTP_URL is refused beside one that has it, and every email reaches the relay', async () => {
  const first = await start({ ROLE: 'all', ...smtp() })
  const message = await refusedStart({ ROLE: 'worker' })
  expect(message).toMatch(/This node has neither SMTP_URL nor SES_REGION \(sandbox\), but the installation runs with SMTP_URL/)
  expect(message).toContain(`sterna-api:${process.pid}`)
  expect(message).toContain('stop all nodes first')
  expect(message).not.toMatch(/^\s+at /m)

  const project = await newProject(first)
  await project.addDomain('shop.example')
  await setProof(project.id, 'dns')
  const before = sink.messages.length
  const to = Array.from({ length: 100 }, (_, n) => `c${n}@example.com`)
  expect((await project.send('news@shop.example', to)).status).toBe(200)
  await expect.poll(async () => (await statesOf(project.id)).every(({ state }) => state === 'sent')).toBe(true)
  expect(sink.messages.length - before).toBe(100)
  expect(await many(db, sql`select 1 from sandbox_messages`)).toEqual([])
})

test('an API node with another transport is refused, one with the same is not', async () => {
  await start({ ROLE: 'worker' })
  expect(await refusedStart({ ROLE: 'api', ...smtp() })).toMatch(/This node has SMTP_URL, but the installation runs with neither/)
  await stopAll()
  await start({ ROLE: 'worker', ...smtp() })
  await start({ ROLE: 'api', ...smtp() })
})

test('a node that starts alone changes the transport, logs it, and resets domains that only the sandbox had verified', async () => {
  const trial = await start({})
  const project = await newProject(trial)
  expect((await project.addDomain('shop.example')).body.status).toBe('verified')
  await stopAll()
  const real = await startProcess(smtp())
  expect(real.output()).toMatch(/"level":"warn".*"from":"sandbox","to":"smtp".*the transport of this installation has changed/)
  expect(await many(db, sql`select status, verified_by as "verifiedBy" from domains`)).toEqual([{ status: 'pending', verifiedBy: null }])
})

test('an API node without access to Amazon SES adds and checks no domain of an installation that sends by it', async () => {
  const config = loadConfig({ SECRET_KEY, DATABASE_URL: database.url, ROLE: 'api' })
  const deps = { config, db, secrets: deriveSecrets(SECRET_KEY), log: createLog('silent') }
  await checkSecret(db, deps.secrets)
  const sterna = createSterna(await buildApp(deps), db, deps.secrets)
  const { sk } = await sterna.newProject()
  const { body: domain } = await sterna.call('POST', '/domains', { key: sk, body: { domain: 'shop.example' } })
  await sql`update instance set transport = 'ses'`.execute(db)
  const refused = await sterna.call('POST', '/domains', { key: sk, body: { domain: 'other.example' } })
  expect([refused.status, refused.body.error.message]).toEqual([503, expect.stringContaining('Amazon SES')])
  const checked = await sterna.call('GET', `/domains/${domain.id}/verify`, { key: sk })
  expect([checked.status, checked.body.status, checked.body.lastCheckedAt]).toEqual([200, 'pending', null])
  await sterna.app.close()
})

test('when two nodes with different transports start at the same moment, exactly one joins', async () => {
  const log = createLog('silent')
  await checkSecret(db, deriveSecrets(SECRET_KEY))
  const join = (transport: 'smtp' | 'ses' | 'sandbox') =>
    joinNodes({
      db,
      log,
      transport,
      announce: () => announce({ url: database.url, kind: 'worker', transport, log }),
      follow: syncWithTransport,
    })
  await (await join('sandbox')).leave()
  for (let round = 0; round < 10; round++) {
    const results = await Promise.allSettled([join('smtp'), join('ses')])
    const joined = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.constructor.name] : []))
    expect([joined.length, refused]).toEqual([1, ['ConfigError']])
    const winner = results[0].status === 'fulfilled' ? 'smtp' : 'ses'
    expect(await one(db, sql`select transport from instance`)).toEqual({ transport: winner })
    await joined[0]!.leave()
    await (await join('sandbox')).leave()
  }
})
