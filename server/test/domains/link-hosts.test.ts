import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { many, transact } from '../../src/db/index.ts'
import { checkDueLinkHosts, nextLinkHostState } from '../../src/domains/link-hosts/check-link-host.ts'
import { syncWithTransport } from '../../src/domains/sender-domains/sync-with-transport.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { newId } from '../../src/lib/id.ts'
import { createDns } from '../../src/lib/network/dns.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { outcome } from '../support/answers.ts'
import { startApp, useApp } from '../support/app.ts'
import { CHEAP_PARTS } from '../support/cheap-parts.ts'
import { cloneDatabase } from '../support/database.ts'
import { newProject } from '../support/project.ts'
import { SECRET_KEY } from '../support/secret-key.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'

/** The installation is at 127.0.0.3; 127.0.0.1 stands for the network that no customer may reach. */
const OWN_ADDRESS = '127.0.0.3'
const OWN_HOST = 'mail.sterna.example'
const env: Record<string, string> = { RATE_LIMIT_PER_MINUTE: '0' }

async function freePort() {
  const server = createServer().listen(0, OWN_ADDRESS)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

let dns: Awaited<ReturnType<typeof startDnsServer>>
let port = 0
// Before the app, which reads its configuration.
beforeAll(async () => {
  dns = await startDnsServer()
  port = await freePort()
  dns.set(OWN_HOST, { A: [OWN_ADDRESS] })
  Object.assign(env, {
    DNS_SERVERS: dns.address,
    PUBLIC_URL: `http://${OWN_HOST}:${port}`,
    BOUNCE_DOMAIN: 'bounces.sterna.example',
    INSTALLATION_NAMES: 'api.sterna.example, sterna.cluster.example.',
  })
})
afterAll(() => dns.stop())
const sterna = useApp({ env })
type Project = Awaited<ReturnType<typeof sendingProject>>
let project: Project
beforeAll(async () => {
  await sterna.app.listen({ port, host: OWN_ADDRESS })
  project = await sendingProject()
})

const sendingProject = () =>
  newProject(sterna)
    .sending()
    .with((each) => ({
      setHost: (linkHost: string | null) => each.call('PATCH', `/domains/${each.domainId}`, { linkHost }),
      check: async () => (await each.call('GET', `/domains/${each.domainId}/verify`)).body,
    }))

const point = (host: string, records: Parameters<typeof dns.set>[1] = { CNAME: [OWN_HOST], A: [OWN_ADDRESS] }) => dns.set(host, records)
const checks = () => ({
  db: sterna.db,
  dns: createDns({ servers: [dns.address] }),
  secrets: sterna.secrets,
  log: createLog('silent'),
  publicUrl: env.PUBLIC_URL!,
})
const get = (host: string, path: string, headers: Record<string, string> = {}, method: 'GET' | 'POST' = 'GET') =>
  sterna.app.inject({ method, url: path, headers: { host, ...headers } })

const allowed = async (domain: string) => (await get('localhost', `/link-hosts/allowed?domain=${encodeURIComponent(domain)}`)).statusCode
/** As after three checks that did not find its records, or before it was ever verified. */
const unverify = (of: Project) =>
  sql`update domains set status = 'pending', verified_by = null, verified_at = null where id = ${of.domainId}`.execute(sterna.db)
const verify = (of: Project) =>
  sql`update domains set status = 'verified', verified_by = 'sandbox', verified_at = now() where id = ${of.domainId}`.execute(sterna.db)
const failuresOf = (of: Project) =>
  many(
    sterna.db,
    sql<{ linkHost: string; reason: string }>`
      select data ->> 'linkHost' as "linkHost", data ->> 'reason' as reason from webhook_messages where project_id = ${of.id}
    `,
  )
const listenToFailures = (of: Project) =>
  of.call('POST', '/webhook-endpoints', { url: 'https://hooks.example.com', events: ['domain.failed'] })

/** A project whose domain is below that of another one. */
async function projectBelow(of: Project, label = 'sub') {
  const below = await sendingProject()
  const domain = `${label}.${of.domain}`
  await sql`update domains set domain = ${domain} where id = ${below.domainId}`.execute(sterna.db)
  return { ...below, domain }
}

/** A host of its own, verified. */
async function verifiedHost(of: Project) {
  const host = `links.${of.domain}`
  point(host)
  expect(outcome(await of.setHost(host))).toEqual([200])
  expect(await of.check()).toMatchObject({ linkHost: host, linkHostStatus: 'verified', linkHostError: null })
  return host
}

test('a host is verified when its CNAME is right and it leads here; then emails use it, and otherwise the installation', async () => {
  const { domain } = project
  const host = `links.${domain}`
  const { body } = await project.setHost(host)
  expect(body).toMatchObject({ linkHost: host, linkHostStatus: 'pending', verified: true })
  expect(body.records.at(-1)).toMatchObject({ type: 'CNAME', name: host, value: OWN_HOST, purpose: 'link', status: 'pending' })
  await project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { tracking: 'ENABLED' } })
  const html = `<p><a href="https://shop.example/x">x</a> <a href="{{unsubscribeUrl}}">no</a> <img src="${env.PUBLIC_URL}/uploads/a.png"></p>`
  const contents = [html, html.replace('x</a>', '{{ email }}</a>')]
  const bases = async () =>
    Promise.all(
      contents.map(async (each) => {
        const source = (await project.source((await project.sent({ body: each })).id)).replaceAll('=\r\n', '').replaceAll('=3D', '=')
        const used = [...source.matchAll(/http:\/\/([\w.-]+:\d+)\/(t\/c|t\/o|unsubscribe|uploads)\//g)]
        expect(new Set(used.map(([, , page]) => page))).toEqual(new Set(['t/c', 't/o', 'unsubscribe', 'uploads']))
        return [...new Set(used.map(([, base]) => base))]
      }),
    )
  const own = [[`${OWN_HOST}:${port}`], [`${OWN_HOST}:${port}`]]
  expect(await bases()).toEqual(own)
  expect((await project.check()).linkHostStatus).toBe('pending')

  point(host)
  await checkDueLinkHosts(checks())
  await sql`update domains set link_host_next_check_at = now() where link_host = ${host}`.execute(sterna.db)
  await checkDueLinkHosts(checks())
  expect((await project.check()).linkHostStatus).toBe('verified')
  expect(await bases()).toEqual([[`${host}:${port}`], [`${host}:${port}`]])

  dns.forget(host)
  for (let failure = 1; failure <= 2; failure++) expect((await project.check()).linkHostStatus).toBe('verified')
  await listenToFailures(project)
  expect(await project.check()).toMatchObject({ linkHostStatus: 'failed', linkHostError: `CNAME ${host} was not found.`, verified: true })
  expect(await failuresOf(project)).toEqual([{ linkHost: host, reason: `CNAME ${host} was not found.` }])
  expect(await bases()).toEqual(own)
  expect((await project.setHost(null)).body).toMatchObject({ linkHost: null, linkHostStatus: null })
})

describe('a host is refused', () => {
  test.each([
    ['of another domain', (_own: string) => 'links.elsewhere.example', 422],
    ['that is the domain', (own: string) => own, 422],
    ['that only ends like the domain', (own: string) => `evil${own}`, 422],
    ['that is no name', (own: string) => `a b.${own}`, 422],
    ['with a port', (own: string) => `links.${own}:80`, 422],
  ])('%s', async (_what, make, status) => {
    expect((await project.setHost(make(project.domain))).status).toBe(status)
  })

  test('that another domain of the installation has', async () => {
    const other = await projectBelow(project)
    const host = `links.${other.domain}`
    expect(outcome(await other.setHost(host))).toEqual([200])
    expect(outcome(await project.setHost(host))).toEqual([409, 'CONFLICT'])
    expect((await other.call('PATCH', `/domains/${project.domainId}`, { linkHost: null })).status).toBe(404)
  })

  test('of a domain that is not verified, until it is', async () => {
    const other = await sendingProject()
    await unverify(other)
    const host = `links.${other.domain}`
    const { status, body } = await other.setHost(host)
    expect([status, body.error.code, body.error.message]).toEqual([409, 'CONFLICT', expect.stringContaining('is not verified')])
    expect((await other.check()).linkHost).toBeNull()
    await verify(other)
    expect((await other.setHost(host)).status).toBe(200)
  })

  test('that is a name of the installation; other names below the same domain are not', async () => {
    const operator = await sendingProject()
    await sql`update domains set domain = 'sterna.example' where id = ${operator.domainId}`.execute(sterna.db)
    const names = [OWN_HOST, 'bounces.sterna.example', 'api.sterna.example', 'links.sterna.example', 'x.api.sterna.example']
    const answers = []
    for (const name of names) answers.push((await operator.setHost(name)).status)
    expect(answers).toEqual([422, 422, 422, 200, 200])
  })
})

test('a domain that is closer to a name takes it over, and the other one is told why, once', async () => {
  const parent = await sendingProject()
  const owner = await projectBelow(parent)
  const host = `links.${owner.domain}`
  point(host)
  await listenToFailures(parent)
  await parent.setHost(host)
  expect(await parent.check()).toMatchObject({ linkHost: host, linkHostStatus: 'verified' })

  await unverify(owner)
  expect((await owner.setHost(host)).status).toBe(409)
  await verify(owner)
  expect((await owner.setHost(host)).body).toMatchObject({ linkHost: host, linkHostStatus: 'pending' })
  const reason = `The verified domain ${owner.domain} uses ${host} now.`
  expect(await parent.check()).toMatchObject({ linkHost: null, linkHostStatus: 'failed', linkHostError: reason, verified: true })
  expect(await owner.check()).toMatchObject({ linkHostStatus: 'verified' })

  expect(outcome(await parent.setHost(host))).toEqual([409, 'CONFLICT'])
  expect((await owner.setHost(host)).status).toBe(200)
  expect(await failuresOf(parent)).toEqual([{ linkHost: host, reason }])
  expect((await parent.setHost(null)).body).toMatchObject({ linkHost: null, linkHostStatus: null, linkHostError: null })
})

test('a claim that nothing has ever proven gives way to each verified domain', async () => {
  const parent = await sendingProject()
  const claimant = await projectBelow(parent)
  const host = `links.${claimant.domain}`
  await claimant.setHost(host)
  await unverify(claimant)
  expect((await parent.setHost(host)).body).toMatchObject({ linkHost: host })
  expect(await claimant.check()).toMatchObject({ linkHost: null, linkHostStatus: 'failed' })
})

test('of two domains that set the same host at once, one has it in the end, whichever came first', async () => {
  const parent = await sendingProject()
  const owner = await projectBelow(parent)
  const host = `links.${owner.domain}`
  const answers = await Promise.all([parent.setHost(host), owner.setHost(host), parent.setHost(host)])
  expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 409)).toEqual([])
  await owner.setHost(host)
  expect([(await parent.check()).linkHost, (await owner.check()).linkHost]).toEqual([null, host])
})

test('the link host of a domain can be changed ten times a day, and removed at any time', async () => {
  const other = await sendingProject()
  const change = async (label: string | number) => outcome(await other.setHost(`${label}.${other.domain}`))
  await unverify(other)
  expect(await change('refused')).toEqual([409, 'CONFLICT'])
  await verify(other)
  const taken = await projectBelow(other)
  await taken.setHost(`links.${taken.domain}`)
  for (let index = 0; index < 11; index++) expect(await change('links.sub')).toEqual([409, 'CONFLICT'])
  for (let index = 1; index <= 10; index++) expect(await change(index)).toEqual([200])

  expect(await change(10)).toEqual([200])
  const refused = await other.setHost(`eleven.${other.domain}`)
  expect(outcome(refused)).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(86_000)
  expect(refused.body.error.message).toBe('The link host of a domain can be changed 10 times a day.')
  expect((await other.setHost(null)).body).toMatchObject({ linkHost: null })

  await other.call('DELETE', `/domains/${other.domainId}`)
  const { id } = (await other.call('POST', '/domains', { domain: other.domain })).body
  const linkHost = `again.${other.domain}`
  expect(outcome(await other.call('PATCH', `/domains/${id}`, { linkHost }))).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
  await sql`update attempts set window_ends_at = now() where scope = 'link-host'`.execute(sterna.db)
  expect(outcome(await other.call('PATCH', `/domains/${id}`, { linkHost }))).toEqual([200])
})

describe('a check', () => {
  /** Counts connections to the network that no customer may reach. */
  async function startForbidden() {
    const seen: string[] = []
    const server = createServer((req, res) => {
      seen.push(req.url!)
      res.end('internal')
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return { seen, stop: () => server.close() }
  }

  test.each<[string, Parameters<typeof dns.set>[1]]>([
    ['the metadata service', { CNAME: [OWN_HOST], A: ['169.254.169.254'] }],
    ['a private address', { CNAME: [OWN_HOST], A: ['127.0.0.1'] }],
    ['a private address beside the right one', { CNAME: [OWN_HOST], A: [OWN_ADDRESS, '127.0.0.1'] }],
    ['a private IPv6 address', { CNAME: [OWN_HOST], AAAA: ['::1'] }],
    ['the host of another tenant', { CNAME: ['links.other.example'], A: [OWN_ADDRESS] }],
    ['no CNAME', { A: [OWN_ADDRESS] }],
  ])('does not verify a host with %s, and connects to no private address', async (_what, records) => {
    const forbidden = await startForbidden()
    const host = `bad.${project.domain}`
    point(host, records)
    await project.setHost(host)
    const checked = await project.check()
    expect(checked.linkHostStatus).toBe('pending')
    expect(forbidden.seen).toEqual([])
    expect(JSON.stringify(checked)).not.toContain('internal')
    await project.setHost(null)
    forbidden.stop()
  })

  test.each<[string, (res: import('node:http').ServerResponse) => void]>([
    ['a redirect', (res) => res.writeHead(302, { location: `http://${OWN_HOST}:${port}/.well-known/sterna-link-host` }).end()],
    ['more than a kilobyte', (res) => res.end('x'.repeat(100_000))],
    ['another text', (res) => res.end('A'.repeat(23))],
  ])('does not verify a host that answers with %s', async (_what, respond) => {
    const server = createServer((_req, res) => respond(res)).listen(port, '127.0.0.4')
    await once(server, 'listening')
    dns.set(OWN_HOST, { A: [OWN_ADDRESS, '127.0.0.4'] })
    const host = `false.${project.domain}`
    point(host, { CNAME: [OWN_HOST], A: ['127.0.0.4'] })
    await project.setHost(host)
    expect((await project.check()).linkHostStatus).toBe('pending')
    await project.setHost(null)
    dns.set(OWN_HOST, { A: [OWN_ADDRESS] })
    server.closeAllConnections()
    server.close()
  })

  test('a lookup without a reply changes nothing, and one failure does not unverify', () => {
    const verified = { status: 'verified' as const, failures: 1, pendingSeconds: 0 }
    expect(nextLinkHostState(verified, { is: 'unknown', why: 'x' })).toEqual({ ...verified, error: 'x', pendingSeconds: undefined })
    expect(nextLinkHostState(verified, { is: 'missing', why: 'x' })).toMatchObject({ status: 'verified', failures: 2 })
    expect(nextLinkHostState({ ...verified, failures: 2 }, { is: 'missing', why: 'x' })).toMatchObject({ status: 'failed' })
    const old = { status: 'pending' as const, failures: 9, pendingSeconds: 31 * 86_400 }
    expect(nextLinkHostState(old, { is: 'missing', why: 'x' })).toMatchObject({ status: 'failed' })
  })
})

describe('on a link host', () => {
  let host = ''
  let sessionHeaders: Record<string, string> = {}
  beforeAll(async () => {
    const other = await sendingProject()
    host = await verifiedHost(other)
    sessionHeaders = { cookie: other.owner.cookie, 'x-project-id': other.id, authorization: `Bearer ${other.sk}` }
  })

  test.each([
    '/',
    '/app',
    '/health',
    '/config',
    '/openapi.json',
    '/contacts',
    '/users/@me',
    '/domains/project/current',
    '/link-hosts/allowed',
    '/webhook-endpoints',
    '/assets/index.js',
    '/t/../contacts',
    '/uploads/../contacts',
    '/t%2f..%2fcontacts',
  ])('%s is not found, whatever the credentials', async (path) => {
    const { statusCode, headers } = await get(host, path, sessionHeaders)
    expect([statusCode, headers['set-cookie']]).toEqual([404, undefined])
  })

  test('sign-in and uploads are not found', async () => {
    const answers = await Promise.all(
      ['/auth/login', '/auth/signup', '/uploads/image', '/v1/send', '/v1/track'].map((path) => get(host, path, sessionHeaders, 'POST')),
    )
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([404, 404, 404, 404, 404])
  })

  test.each([
    ['in capitals', (name: string) => name.toUpperCase()],
    ['with a final dot', (name: string) => `${name}.`],
    ['with a port', (name: string) => `${name}:8443`],
    ['with a port and a dot', (name: string) => `${name}.:${port}`],
  ])('its name %s is the same host', async (_what, spell) => {
    expect((await get(spell(host), '/contacts', sessionHeaders)).statusCode).toBe(404)
  })

  test('neither Host nor X-Forwarded-Host opens more than the other', async () => {
    const tries = [
      await get(host, '/contacts', { ...sessionHeaders, 'x-forwarded-host': `${OWN_HOST}:${port}` }),
      await get(`${OWN_HOST}:${port}`, '/contacts', { ...sessionHeaders, 'x-forwarded-host': host }),
      await get(`${OWN_HOST}:${port}`, '/contacts', { ...sessionHeaders, 'x-forwarded-host': `x.example, ${host}` }),
    ]
    expect(tries.map(({ statusCode }) => statusCode)).toEqual([404, 404, 404])
    expect((await get(`${OWN_HOST}:${port}`, '/contacts', sessionHeaders)).statusCode).toBe(200)
    expect((await get('unknown.example', '/contacts', sessionHeaders)).statusCode).toBe(200)
  })

  test('pages, pixels and the proof answer, without a cookie', async () => {
    const proof = await get(host, '/.well-known/sterna-link-host', sessionHeaders)
    expect([proof.statusCode, sterna.secrets.isSigned('link-host', host, proof.body)]).toEqual([200, true])
    expect((await get('unknown.example', '/.well-known/sterna-link-host')).statusCode).toBe(404)
    const page = await get(host, '/unsubscribe/forged', { accept: 'text/html', ...sessionHeaders })
    expect([page.statusCode, page.headers['set-cookie'], String(page.headers['content-type'])]).toEqual([
      404,
      undefined,
      expect.stringContaining('text/html'),
    ])
    expect((await get(host, '/uploads/none.png')).headers['set-cookie']).toBeUndefined()
  })

  test('certificates are allowed for it, and for no other name', async () => {
    const other = await sendingProject()
    const pending = `links.${other.domain}`
    await other.setHost(pending)
    await other.check()
    const names = [host, pending, OWN_HOST, 'evil.example', `x.${host}`, '', 'a b', '*', `${host}/x`]
    expect(await Promise.all(names.map(allowed))).toEqual([200, 404, 404, 404, 404, 404, 404, 404, 404])
    // As soon as the CNAME is right, although no certificate lets the rest of the check succeed.
    point(pending, { CNAME: [OWN_HOST], A: ['192.0.2.1'] })
    expect((await other.check()).linkHostStatus).toBe('pending')
    expect(await allowed(pending)).toBe(200)
    // Not for one that it has had, and not while its domain is not verified.
    const next = `next.${other.domain}`
    point(next)
    await other.setHost(next)
    await other.check()
    expect([await allowed(pending), await allowed(next)]).toEqual([404, 200])
    await unverify(other)
    expect(await allowed(next)).toBe(404)
  })

  test('it is in the audit trail of its project, and one that points here in vain in the report of doctor', async () => {
    const other = await sendingProject()
    const vain = `links.${other.domain}`
    await other.setHost(vain)
    point(vain, { CNAME: [OWN_HOST], A: ['192.0.2.1'] })
    await other.check()
    const { data } = (await other.owner.call('GET', `/projects/${other.id}/audit?action=domain.update`)).body
    expect(data).toMatchObject([{ target: { type: 'domain', id: other.domainId }, changes: [{ field: 'linkHost', value: vain }] }])
    await sql`update users set operator = true where id = ${other.owner.id}`.execute(sterna.db)
    const { checks: report } = (await other.owner.call('GET', '/doctor')).body
    expect(report).toContainEqual(expect.objectContaining({ name: 'link hosts', verdict: 'warn', note: expect.stringContaining(vain) }))
  })
})

/** Requests that the dashboard, programs, probers and Amazon SNS make by any name of the installation. */
const answersBy = async (host: string, { sk }: Project) => {
  const answers = [
    await get(host, '/contacts', { authorization: `Bearer ${sk}` }),
    await get(host, '/health'),
    await get(host, '/ready'),
    await get(host, '/openapi.json'),
  ]
  return answers.map(({ statusCode }) => statusCode)
}
const EVERYTHING = [200, 200, 200, 200]
const NOTHING = [404, 404, 404, 404]

describe('a name serves', () => {
  test('everything while it is a pending link host, and only links from its verification on', async () => {
    const other = await sendingProject()
    const host = `api.${other.domain}`
    await other.setHost(host)
    expect(await answersBy(host, other)).toEqual(EVERYTHING)
    await other.check()
    expect(await answersBy(host, other)).toEqual(EVERYTHING)
    point(host)
    expect(await other.check()).toMatchObject({ linkHostStatus: 'verified' })
    expect(await answersBy(host, other)).toEqual(NOTHING)
  })

  test('only links when its domain or its CNAME is lost, while the host is set', async () => {
    const other = await sendingProject()
    const host = await verifiedHost(other)
    await unverify(other)
    expect(await answersBy(host, other)).toEqual(NOTHING)
    await verify(other)
    dns.forget(host)
    for (let failure = 1; failure <= 3; failure++) await other.check()
    expect(await other.check()).toMatchObject({ linkHost: host, linkHostStatus: 'failed' })
    // As on a node that has not seen the name before.
    const config = loadConfig({ SECRET_KEY, DATABASE_URL: sterna.url, ...env })
    const app = await buildApp({ config, db: sterna.db, secrets: sterna.secrets, log: createLog('silent') }, CHEAP_PARTS)
    const { statusCode } = await app.inject({ url: '/contacts', headers: { host, authorization: `Bearer ${other.sk}` } })
    expect(statusCode).toBe(404)
    await app.close()
  })

  test('everything while the host was set by an earlier release for a domain that is not verified', async () => {
    const other = await sendingProject()
    const host = `internal.${other.domain}`
    point(host)
    await unverify(other)
    await sql`
      update domains set link_host = ${host}, link_host_status = 'pending', link_host_pointed = true, link_host_since = now(),
        link_host_next_check_at = now() where id = ${other.domainId}
    `.execute(sterna.db)
    await checkDueLinkHosts(checks())
    expect(await other.check()).toMatchObject({ linkHostStatus: 'pending', linkHostError: `${other.domain} is not verified.` })
    expect(await answersBy(host, other)).toEqual(EVERYTHING)
    expect(await allowed(host)).toBe(404)
    await verify(other)
    expect(await other.check()).toMatchObject({ linkHostStatus: 'verified', linkHostError: null })
    expect(await answersBy(host, other)).toEqual(NOTHING)
  })

  test('everything when it is a name of the installation, whatever a customer has set before', async () => {
    const other = await sendingProject()
    const host = 'sterna.cluster.example'
    await sql`update domains set link_host = ${host}, link_host_verified = ${host}, link_host_status = 'verified' where id = ${other.domainId}`.execute(
      sterna.db,
    )
    expect(await answersBy(host, other)).toEqual(EVERYTHING)
  })
})

test('what the sandbox has verified counts no longer with a transport', async () => {
  const other = await sendingProject()
  const host = await verifiedHost(other)
  await transact(sterna.db, (tx) => syncWithTransport(tx, 'smtp'))
  const { linkHostStatus, status } = await other.check()
  expect([status, linkHostStatus]).toEqual(['pending', 'pending'])
  expect(await allowed(host)).toBe(404)
})

test('of the hosts that an earlier release has verified, those of verified domains stay so', async () => {
  const database = await cloneDatabase()
  const old = await startApp(database.url, { env, withWorker: false })
  const { db } = old.sterna
  const { id } = await old.sterna.newProject()
  await sql`alter table domains drop column link_host_verified`.execute(db)
  const states = ['verified', 'pending'].flatMap((domain) => ['verified', 'failed', 'pending'].map((host) => ({ domain, host })))
  for (const [index, { domain, host }] of states.entries()) {
    const isVerified = domain === 'verified'
    await sql`
      insert into domains (project_id, id, domain, status, verified_by, verified_at, dkim_selector, dkim_public_key, dkim_private_key_sealed,
        link_host, link_host_status)
      values (${id}, ${newId()}, ${`${index}.example`}, ${domain}, ${isVerified ? 'dns' : null}, ${isVerified ? new Date() : null}, 's', 'k',
        ''::bytea, ${`links.${index}.example`}, ${host})
    `.execute(db)
  }
  await sql.raw(readFileSync(new URL('../../src/db/migrations/0073_verified_link_hosts.sql', import.meta.url), 'utf8')).execute(db)
  const read = sql<{ host: string; status: string; is: boolean }>`
    select link_host as host, link_host_status as status, link_host_verified is not distinct from link_host as is from domains order by 1
  `
  expect((await many(db, read)).map(({ status, is }) => [status, is])).toEqual([
    ['verified', true],
    ['failed', true],
    ['pending', false],
    ['pending', false],
    ['failed', false],
    ['pending', false],
  ])
  await old.close()
  await database.drop()
})
