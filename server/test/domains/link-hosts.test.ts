import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { checkDueLinkHosts, nextLinkHostState } from '../../src/domains/link-hosts/check-link-host.ts'
import { createLog } from '../../src/lib/log.ts'
import { createDns } from '../../src/lib/network/dns.ts'
import { outcome } from '../support/answers.ts'
import { useApp } from '../support/app.ts'
import { newProject } from '../support/project.ts'
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
  Object.assign(env, { DNS_SERVERS: dns.address, PUBLIC_URL: `http://${OWN_HOST}:${port}` })
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
  await project.call('POST', '/webhook-endpoints', { url: 'https://hooks.example.com', events: ['domain.failed'] })
  expect(await project.check()).toMatchObject({ linkHostStatus: 'failed', linkHostError: `CNAME ${host} was not found.`, verified: true })
  const told = await many(
    sterna.db,
    sql<{ linkHost: string }>`
      select data ->> 'linkHost' as "linkHost" from webhook_messages where project_id = ${project.id}
    `,
  )
  expect(told).toEqual([{ linkHost: host }])
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

  test('that another domain of the installation has, and by members', async () => {
    const host = `taken.${project.domain}`
    expect(outcome(await project.setHost(host))).toEqual([200])
    const other = await sendingProject()
    await sql`update domains set domain = ${`x.${project.domain}`} where id = ${other.domainId}`.execute(sterna.db)
    await sql`update domains set link_host = ${`y.x.${project.domain}`} where id = ${project.domainId}`.execute(sterna.db)
    expect(outcome(await other.setHost(`y.x.${project.domain}`))).toEqual([409, 'CONFLICT'])
    expect((await other.call('PATCH', `/domains/${project.domainId}`, { linkHost: null })).status).toBe(404)
    await project.setHost(null)
  })
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
    const allowed = async (domain: string) =>
      (await get('localhost', `/link-hosts/allowed?domain=${encodeURIComponent(domain)}`)).statusCode
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
