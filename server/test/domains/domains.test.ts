import { createPrivateKey, createPublicKey, randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, many, one } from '../../src/db/index.ts'
import { createCheckNow, nextState } from '../../src/domains/check.ts'
import { checkDueDomains, MAX_CHECK_RUN_MS } from '../../src/domains/check-due.ts'
import { newDkimKey } from '../../src/domains/dkim-key.ts'
import { findDomain } from '../../src/domains/domain.ts'
import { findRecords, recordsFor } from '../../src/domains/records.ts'
import { assertVerified, findVerified } from '../../src/domains/verified.ts'
import { loadConfig } from '../../src/lib/config.ts'
import { createDns } from '../../src/lib/dns.ts'
import { createLog } from '../../src/lib/log.ts'
import { type Answer, startApp, useApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { startDnsServer } from '../support/dns-server.ts'

const env: Record<string, string> = {
  SMTP_URL: 'smtp://user:relay-password@relay.example:587',
  PUBLIC_URL: 'http://sterna.example:3000',
  RATE_LIMIT_PER_MINUTE: '0',
}
let dns: Awaited<ReturnType<typeof startDnsServer>>
beforeAll(async () => {
  dns = await startDnsServer()
  env.DNS_SERVERS = dns.address
})
afterAll(() => dns.stop())
const sterna = useApp({ env })

type Project = Awaited<ReturnType<typeof sterna.newProject>>
type Published = {
  type: string
  name: string
  value: string
  priority?: number
  purpose: string
  required: boolean
  status: string
  found: string[]
}

let names = 0
const newName = () => `domain${++names}.example`

const post = (project: Project, domain: string, more: object = {}) =>
  sterna.call('POST', '/domains', { key: project.sk, body: { domain, ...more } })

/** Adds a domain without scheduled checks: the test decides when it is checked. */
async function add(project: Project, domain = newName()): Promise<Answer['body']> {
  const { status, body } = await post(project, domain)
  expect([status, body.domain]).toEqual([201, domain])
  await sql`update domains set next_check_at = 'infinity' where project_id = ${project.id}`.execute(sterna.db)
  return body
}

const dkimOf = (domain: { records: Published[] }) => domain.records.find(({ purpose }) => purpose === 'dkim')!

/** Split into strings of at most 255 characters, as in a zone. */
const inStrings = (text: string) => text.match(/.{1,200}/g)!

function publish(domain: { records: Published[] }) {
  const { name, value } = dkimOf(domain)
  dns.set(name, { TXT: [inStrings(value)] })
}
const withdraw = (domain: { records: Published[] }) => dns.forget(dkimOf(domain).name)

const ask = (project: Project, id: string) => sterna.call('GET', `/domains/${id}/verify`, { key: project.sk })

/** A check without a wait for an earlier one. */
async function check(project: Project, id: string): Promise<Answer['body']> {
  await sql`update domains set check_began_at = null where project_id = ${project.id} and id = ${id}`.execute(sterna.db)
  return (await ask(project, id)).body
}

async function addVerified(project: Project, name = newName()) {
  const domain = await add(project, name)
  publish(domain)
  expect((await check(project, domain.id)).status).toBe('verified')
  return domain
}

const list = async (project: Project) => (await sterna.call('GET', '/domains/project/current', { key: project.sk })).body

// Adding --------------------------------------------------------------------------------------------------------------

describe('an added domain', () => {
  test('is pending and has the records to publish', async () => {
    const project = await sterna.newProject()
    const { status, body } = await post(project, 'News.Example')
    expect(status).toBe(201)
    expect(body).toMatchObject({
      domain: 'news.example',
      status: 'pending',
      verified: false,
      verifiedBy: null,
      notice: null,
      projectId: project.id,
      verifiedAt: null,
      lastCheckedAt: null,
      lastError: null,
    })
    const [selector] = body.dkimTokens
    expect(body.records).toEqual([
      {
        type: 'TXT',
        name: `${selector}._domainkey.news.example`,
        value: expect.stringMatching(/^v=DKIM1; k=rsa; p=[\w+/]{392}$/),
        purpose: 'dkim',
        required: true,
        status: 'pending',
        found: [],
      },
      {
        type: 'TXT',
        name: '_dmarc.news.example',
        value: 'v=DMARC1; p=none',
        purpose: 'dmarc',
        required: false,
        status: 'pending',
        found: [],
      },
    ])
    expect(await list(project)).toEqual([body])
  })

  test('has its own key, which is stored encrypted and never shown', async () => {
    const project = await sterna.newProject()
    const product = await startApp(sterna.url, { env, newDkimKey })
    const addKeyed = async () =>
      (await product.sterna.call('POST', '/domains', { key: project.sk, body: { domain: newName() } })).body as Answer['body']
    const [first, second] = await Promise.all([addKeyed(), addKeyed()])
    await product.close()
    await sql`update domains set next_check_at = 'infinity' where project_id = ${project.id}`.execute(sterna.db)
    expect(dkimOf(first).value).not.toBe(dkimOf(second).value)
    const { sealed } = await one(
      sterna.db,
      sql<{ sealed: Buffer }>`select dkim_private_key_sealed as sealed from domains where project_id = ${project.id} and id = ${first.id}`,
    )
    const der = Buffer.from(sterna.secrets.open('dkim-key', sealed), 'base64')
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64')
    expect([key.asymmetricKeyDetails!.modulusLength, dkimOf(first).value]).toEqual([2048, `v=DKIM1; k=rsa; p=${publicKey}`])

    publish(first)
    const answers = JSON.stringify([await list(project), await check(project, first.id)])
    const middle = der.toString('base64').slice(800, 864)
    for (const text of [answers, await sterna.digest()]) {
      expect(text).not.toContain(middle)
      expect(text).not.toContain(der.subarray(600, 640).toString('hex'))
      expect(text).not.toContain('PRIVATE KEY')
    }
    expect(JSON.stringify(await sterna.call('GET', '/config'))).not.toContain('relay')
  })

  test.each([
    ['EXAMPLE-a.com', 'example-a.com'],
    ['  example-b.com ', 'example-b.com'],
    ['example-c.com.', 'example-c.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.test', 'xn--bcher-kva.test'],
    ['почта.рф', 'xn--80a1acny.xn--p1ai'],
    ['ⓔxample-d.com', 'example-d.com'],
    ['deep.er.example-e.co.uk', 'deep.er.example-e.co.uk'],
    ['github.io', 'github.io'],
  ])('given as %s is stored as %s', async (given, stored) => {
    expect(await post(await sterna.newProject(), given)).toMatchObject({ status: 201, body: { domain: stored } })
  })

  test.each([
    'localhost',
    'com',
    'co.uk',
    'рф',
    '',
    ' ',
    '.',
    'a..b',
    '.example.com',
    'example.com..',
    '-a.example.com',
    'a-.example.com',
    '*.example.com',
    '_dmarc.example.com',
    'ex ample.com',
    'exam%70le.com',
    'user@example.com',
    'https://example.com',
    'example.com/path',
    'example.com:25',
    '127.0.0.1',
    '0x7f.1',
    '[::1]',
    '::1',
    'xn--a.com',
    `${'x'.repeat(64)}.com`,
    `${'a.'.repeat(109)}abc.com`,
    `${'a.'.repeat(126)}com`,
    `${'a.'.repeat(400)}com`,
  ])('given as "%s" is refused', async (given) => {
    const { status, body } = await post(await sterna.newProject(), given)
    expect([status, body.error.code, body.error.errors[0].field]).toEqual([422, 'VALIDATION_ERROR', 'domain'])
  })

  test('is refused the second time', async () => {
    const project = await sterna.newProject()
    const { domain } = await add(project)
    expect(await post(project, domain.toUpperCase())).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } })
  })

  test('belongs to one of two projects that add it concurrently, and exists once in a project that adds it twice', async () => {
    for (let round = 0; round < 2; round++) {
      const [a, b] = [await sterna.newProject(), await sterna.newProject()]
      const [shared, own] = [newName(), newName()]
      const rivals = await Promise.all([post(a, shared), post(b, shared), post(a, shared), post(b, shared)])
      expect(rivals.map(({ status }) => status).sort()).toEqual([201, 403, 403, 409])
      const twins = await Promise.all([post(a, own), post(a, own), post(a, own)])
      expect(twins.map(({ status }) => status).sort()).toEqual([201, 409, 409])
    }
  })

  test('belongs to the project of the key and to no other', async () => {
    const [mine, theirs] = [await sterna.newProject(), await sterna.newProject()]
    expect((await post(mine, newName(), { projectId: mine.id })).status).toBe(201)
    expect((await post(mine, newName(), { projectId: mine.id.toUpperCase() })).status).toBe(201)
    for (const projectId of [theirs.id, randomUUID()])
      expect(await post(mine, newName(), { projectId })).toMatchObject({ status: 404, body: { error: { code: 'RESOURCE_NOT_FOUND' } } })
    expect((await post(mine, newName(), { projectId: 'x' })).status).toBe(422)
    expect(await list(theirs)).toEqual([])
  })

  test('counts towards the limits per hour and per project', async () => {
    const project = await sterna.newProject()
    await sql`
      insert into domains (project_id, id, domain, dkim_selector, dkim_public_key, dkim_private_key_sealed, next_check_at)
      select ${project.id}, gen_random_uuid(), 'many' || n || '.example', 's', 'p', '', null from generate_series(1, 500) n
    `.execute(sterna.db)
    expect(await post(project, newName())).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('500') } } })
    expect(await list(project)).toHaveLength(500)
    await sql`update attempts set count = 100 where scope = 'add-domain'`.execute(sterna.db)
    expect((await post(project, newName())).status).toBe(429)
    await sql`delete from attempts`.execute(sterna.db)
  })
})

// One owner -----------------------------------------------------------------------------------------------------------

describe('a domain of another project', () => {
  test('is refused, with a record to claim it while it is not verified', async () => {
    const [first, second, third] = [await sterna.newProject(), await sterna.newProject(), await sterna.newProject()]
    const { domain } = await add(first)
    const refused = await post(second, domain)
    expect([refused.status, refused.body.error.code]).toEqual([403, 'FORBIDDEN'])
    const { record } = refused.body.error.details
    expect(record).toMatchObject({
      type: 'TXT',
      name: `_sterna-challenge.${domain}`,
      value: expect.stringMatching(/^sterna-domain=[\w-]{43}$/),
    })
    expect((await post(third, domain)).body.error.details.record.value).not.toBe(record.value)
  })

  test('is taken over by the project that publishes that record, and by no other', async () => {
    const [squatter, owner, other] = [await sterna.newProject(), await sterna.newProject(), await sterna.newProject()]
    const squatted = await add(squatter)
    const { record } = (await post(owner, squatted.domain)).body.error.details
    dns.set(record.name, { TXT: ['something else', record.value] })

    expect((await post(other, squatted.domain)).status).toBe(403)
    const taken = await post(owner, squatted.domain)
    expect([taken.status, taken.body.status]).toEqual([201, 'pending'])
    expect(dkimOf(taken.body).value).not.toBe(dkimOf(squatted).value)
    expect((await ask(squatter, squatted.id)).status).toBe(404)
    expect((await post(squatter, squatted.domain)).status).toBe(403)
  })

  test('keeps its project once it is verified', async () => {
    const [holder, claimant] = [await sterna.newProject(), await sterna.newProject()]
    const held = await add(holder)
    const { record } = (await post(claimant, held.domain)).body.error.details
    publish(held)
    await check(holder, held.id)
    dns.set(record.name, { TXT: [record.value] })

    const questions = () => dns.queries.filter((each) => each === `TXT ${record.name}`).length
    const before = questions()

    const refused = await post(claimant, held.domain)
    expect([refused.status, refused.body.error.details, questions()]).toEqual([403, undefined, before])
    expect((await check(holder, held.id)).status).toBe('verified')
  })

  test('keeps its project if it is verified during the lookup of the claim', async () => {
    const [holder, claimant] = [await sterna.newProject(), await sterna.newProject()]
    const held = await add(holder)
    const { record } = (await post(claimant, held.domain)).body.error.details
    dns.set(record.name, 'hang')
    const claiming = post(claimant, held.domain)
    await expect.poll(() => dns.queries.filter((each) => each === `TXT ${record.name}`).length).toBe(2)
    publish(held)
    await check(holder, held.id)
    dns.set(record.name, { TXT: [record.value] })

    expect((await claiming).status).toBe(403)
    expect((await check(holder, held.id)).status).toBe('verified')
  })

  test('keeps its project while DNS fails', async () => {
    const [holder, claimant] = [await sterna.newProject(), await sterna.newProject()]
    const { domain } = await add(holder)
    dns.set(`_sterna-challenge.${domain}`, 'servfail')
    expect((await post(claimant, domain)).status).toBe(403)
  })

  test('is free once that project is deleted, before its rows are removed', async () => {
    const [gone, next] = [await sterna.newProject(), await sterna.newProject()]
    const { domain } = await addVerified(gone)
    await sql`update projects set deleted_at = now() where id = ${gone.id}`.execute(sterna.db)
    expect((await post(next, domain)).status).toBe(201)
  })

  test('is free once that project removes it', async () => {
    const [first, next] = [await sterna.newProject(), await sterna.newProject()]
    const { id, domain } = await addVerified(first)
    expect((await sterna.call('DELETE', `/domains/${id}`, { key: first.sk })).status).toBe(204)
    expect((await sterna.call('DELETE', `/domains/${id}`, { key: first.sk })).status).toBe(404)
    expect(await list(first)).toEqual([])
    expect((await post(next, domain)).status).toBe(201)
  })
})

// Access --------------------------------------------------------------------------------------------------------------

describe('a foreign domain', () => {
  test('is a 404', async () => {
    const [mine, theirs] = [await sterna.newProject(), await sterna.newProject()]
    const { id } = await addVerified(theirs)
    for (const [method, url] of [
      ['GET', `/domains/${id}/verify`],
      ['DELETE', `/domains/${id}`],
      ['GET', `/domains/project/${theirs.id}`],
    ] as const) {
      const foreign = await sterna.call(method, url, { key: mine.sk })
      const unknown = await sterna.call(method, url.replace(id, randomUUID()).replace(theirs.id, randomUUID()), { key: mine.sk })
      expect([url, foreign.status, foreign.body.error.code]).toEqual([url, 404, 'RESOURCE_NOT_FOUND'])
      expect(foreign.body.error.message).toBe(unknown.body.error.message)
    }
    expect(await list(theirs)).toHaveLength(1)
    expect(await list(mine)).toEqual([])
  })

  test('is not listed for a member of both projects, who gets those of the project in the header', async () => {
    const owner = await sterna.newPerson()
    const [one, two] = [await sterna.newProject(owner), await sterna.newProject(owner)]
    const { domain } = await add(one)
    const listed = (project: string, header: string) =>
      owner.call('GET', `/domains/project/${project}`, { headers: { 'x-project-id': header } })
    expect((await listed(one.id, one.id)).body).toMatchObject([{ domain }])
    expect((await listed('current', one.id)).body).toMatchObject([{ domain }])
    expect((await listed('current', two.id)).body).toEqual([])
    expect((await listed(one.id, two.id)).status).toBe(404)
  })
})

test('a member can list and check domains, but not add or remove them', async () => {
  const project = await sterna.newProject()
  const member = await sterna.newPerson({ verified: true })
  await project.owner.call('POST', `/projects/${project.id}/members`, { body: { email: member.email, role: 'MEMBER' } })
  const { id } = await add(project)
  const as = { headers: { 'x-project-id': project.id } }
  expect((await member.call('POST', '/domains', { ...as, body: { domain: newName() } })).status).toBe(403)
  expect((await member.call('DELETE', `/domains/${id}`, as)).status).toBe(403)
  expect((await member.call('GET', `/domains/${id}/verify`, as)).status).toBe(200)
  expect((await member.call('GET', '/domains/project/current', as)).body).toHaveLength(1)
  expect((await project.owner.call('POST', '/domains', { ...as, body: { domain: newName() } })).status).toBe(201)
  expect((await project.owner.call('DELETE', `/domains/${id}`, as)).status).toBe(204)
})

// Checking ------------------------------------------------------------------------------------------------------------

describe('a check of a domain', () => {
  test('verifies a domain whose key is published, with any other records', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    publish(domain)
    dns.set(`_dmarc.${domain.domain}`, { TXT: ['v=DMARC1; p=reject; rua=mailto:x@y.example'] })

    const { status, body } = await ask(project, domain.id)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      domain: domain.domain,
      tokens: domain.dkimTokens,
      status: 'verified',
      verified: true,
      verifiedBy: 'dns',
      notice: null,
      lastError: null,
    })
    expect(body.records.map(({ purpose, status, found }: Published) => [purpose, status, found])).toEqual([
      ['dkim', 'found', [dkimOf(domain).value]],
      ['dmarc', 'found', ['v=DMARC1; p=reject; rua=mailto:x@y.example']],
    ])
    const [listed] = await list(project)
    expect(listed).toMatchObject({ status: 'verified', verified: true, verifiedAt: expect.any(String), records: body.records })
  })

  test('does not need the recommended records', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    publish(domain)
    const { verified, records } = await check(project, domain.id)
    expect([verified, records.map(({ status }: Published) => status)]).toEqual([true, ['found', 'missing']])
  })

  test.each<[string, (value: string) => string]>([
    ['spaces within', (value) => value.replace('p=', 'p = ').replace(/(.{50})/g, '$1 ')],
    ['other tags around', (value) => `${value}; t=s; n=key of example`],
    ['no version', (value) => value.replace('v=DKIM1; ', '')],
  ])('accepts the key with %s', async (_, spell) => {
    const project = await sterna.newProject()
    const domain = await add(project)
    dns.set(dkimOf(domain).name, { TXT: ['google-site-verification=x', inStrings(spell(dkimOf(domain).value))] })
    expect((await check(project, domain.id)).status).toBe('verified')
  })

  test.each<[string, string, (value: string) => string]>([
    ['another key', 'mismatch', (value) => value.replace(/.{4}$/, 'AAAA')],
    ['half of the key', 'mismatch', (value) => value.slice(0, 200)],
    ['a revoked key', 'mismatch', () => 'v=DKIM1; p='],
    ['nothing of the kind', 'mismatch', () => 'hello'],
  ])('does not accept %s', async (_, status, spell) => {
    const project = await sterna.newProject()
    const domain = await add(project)
    dns.set(dkimOf(domain).name, { TXT: [inStrings(spell(dkimOf(domain).value))] })
    const body = await check(project, domain.id)
    expect([body.status, body.verified, body.records[0].status, body.lastError]).toEqual([
      'pending',
      false,
      status,
      `TXT ${dkimOf(domain).name} has another value.`,
    ])
  })

  test('does not accept the key of another domain', async () => {
    const project = await sterna.newProject()
    const [one, two] = [await add(project), await add(project)]
    dns.set(dkimOf(two).name, { TXT: [inStrings(dkimOf(one).value)] })
    expect((await check(project, two.id)).status).toBe('pending')
  })

  test('stores a record with a NUL byte without that byte', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    dns.set(dkimOf(domain).name, { TXT: ['a\0b'] })
    const { status, body } = await ask(project, domain.id)
    expect([status, body.records?.[0].status, body.records?.[0].found]).toEqual([200, 'mismatch', ['ab']])
  })

  test('stores no unpaired surrogate, neither published nor cut', async () => {
    const records = recordsFor(
      { domain: 'a.example', dkimSelector: 's', dkimPublicKey: 'p', sesTokens: [], sesZone: null },
      { usesSes: false },
    )
    const published = ['a\ud83d', `${'x'.repeat(499)}😀`]
    const lookUp = async () => ({ is: 'found' as const, records: published })
    const findings = await findRecords({ ...createDns(), lookUp: lookUp as never }, records)
    expect(findings.map(({ found }) => found)).toEqual(records.map(() => ['a\ufffd', `${'x'.repeat(499)}\ufffd`]))
  })

  test('shows only a few of many records', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    dns.set(dkimOf(domain).name, 'truncated')
    const [record] = (await check(project, domain.id)).records
    expect([record.status, record.found.length]).toEqual(['mismatch', 10])
  })

  test.each(['servfail', 'refused', 'garbage', 'loop'] as const)(
    'with the DNS failure %s leaves a pending domain pending',
    async (fault) => {
      const project = await sterna.newProject()
      const domain = await add(project)
      dns.set(dkimOf(domain).name, fault)
      const body = await check(project, domain.id)
      expect([body.status, body.records[0].status]).toEqual(['pending', fault === 'loop' ? 'missing' : 'unknown'])
    },
  )

  test('ends if DNS never answers', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    dns.set(dkimOf(domain).name, 'hang')
    const start = performance.now()
    expect((await check(project, domain.id)).lastError).toMatch(/could not be looked up/)
    expect(performance.now() - start).toBeLessThan(5_000)
  })

  test('queries DNS each time', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    const questions = () => dns.queries.filter((each) => each === `TXT ${dkimOf(domain).name}`).length
    expect([(await ask(project, domain.id)).body.status, questions()]).toEqual(['pending', 1])
    publish(domain)
    expect([(await ask(project, domain.id)).body.status, questions()]).toEqual(['verified', 2])
    expect([(await ask(project, domain.id)).body.status, questions()]).toEqual(['verified', 3])
  })

  test('under way answers all concurrent requests', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    const checks = async () =>
      (await many(sterna.db, sql<{ count: number }>`select check_number as count from domains where id = ${domain.id}`))[0]!.count
    const before = await checks()
    dns.set(dkimOf(domain).name, 'hang')
    const first = ask(project, domain.id)
    await expect.poll(() => dns.queries.filter((each) => each === `TXT ${dkimOf(domain).name}`).length).toBe(1)
    const others = Array.from({ length: 20 }, () => ask(project, domain.id))
    // The resolver repeats its query after a timeout and then gets an answer.
    publish(domain)
    const answers = await Promise.all([first, ...others])
    expect(answers.map(({ status, body }) => [status, body.status])).toEqual(answers.map(() => [200, 'verified']))
    expect(await checks()).toBe(before + 1)
  })

  test('of another process is polled by one of 50 waiting requests', async () => {
    const project = await sterna.newProject()
    const { id } = await add(project)
    let statements = 0
    const db = sterna.db.withPlugin({
      transformQuery: ({ node }) => {
        statements++
        return node
      },
      transformResult: async ({ result }) => result,
    })
    await sql`update domains set check_number = check_number + 1, check_began_at = now() where id = ${id}`.execute(sterna.db)
    const row = (await findDomain(sterna.db, project.id, id))!
    const checkNow = createCheckNow({ db, dns: createDns(), log: createLog('silent'), identities: undefined })

    const answers = Array.from({ length: 50 }, () => checkNow(row, { usesSes: false }))
    await expect.poll(() => statements).toBeGreaterThanOrEqual(3)
    await sql`update domains set last_checked_at = now(), last_error = 'theirs' where id = ${id}`.execute(sterna.db)

    expect((await Promise.all(answers)).map((answer) => answer?.lastError)).toEqual(answers.map(() => 'theirs'))
    expect(statements).toBeLessThan(50)
  })

  test('of a crashed process is repeated', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    publish(domain)
    await sql`update domains set check_number = check_number + 1, check_began_at = now() - interval '31 seconds' where id = ${domain.id}`.execute(
      sterna.db,
    )
    expect((await ask(project, domain.id)).body.status).toBe('verified')
  })
})

describe('a verified domain', () => {
  test('stays verified after one and two misses, and is pending after the third', async () => {
    const project = await sterna.newProject()
    const domain = await addVerified(project)
    withdraw(domain)
    const seen = []
    for (let n = 0; n < 3; n++) seen.push(await check(project, domain.id))
    expect(seen.map(({ status, verified }) => [status, verified])).toEqual([
      ['verified', true],
      ['verified', true],
      ['pending', false],
    ])
    expect(seen[0].lastError).toBe(`TXT ${dkimOf(domain).name} was not found.`)
    expect((await list(project))[0]).toMatchObject({ verifiedAt: null, verifiedBy: null })
    publish(domain)
    expect((await check(project, domain.id)).status).toBe('verified')
  })

  test('resets its misses when the record is back in between', async () => {
    const project = await sterna.newProject()
    const domain = await addVerified(project)
    for (let round = 0; round < 3; round++) {
      withdraw(domain)
      await check(project, domain.id)
      expect((await check(project, domain.id)).status).toBe('verified')
      publish(domain)
      expect((await check(project, domain.id)).lastError).toBe(null)
    }
  })

  test('keeps its state and the time of its verification during any number of failed lookups', async () => {
    const project = await sterna.newProject()
    const domain = await addVerified(project)
    const [{ verifiedAt }] = await list(project)
    dns.set(dkimOf(domain).name, 'servfail')
    for (let n = 0; n < 5; n++) expect((await check(project, domain.id)).status).toBe('verified')
    expect((await list(project))[0]).toMatchObject({ verifiedAt, lastError: expect.stringContaining('could not be looked up') })
    withdraw(domain)
    expect((await check(project, domain.id)).status).toBe('verified')
  })
})

// Schedule ------------------------------------------------------------------------------------------------------------

describe('scheduled checks', () => {
  const node = () => ({ db: sterna.db, config: loadConfig({ ...env }), log: createLog('silent') })
  const makeDue = (project: Project) =>
    sql`update domains set next_check_at = now() - interval '1 second' where project_id = ${project.id}`.execute(sterna.db)
  const rowsOf = (project: Project) =>
    many(
      sterna.db,
      sql<{ status: string; failures: number; minutes: number | null }>`
        select status, failures, ceil(extract(epoch from next_check_at - now()) / 60)::int as minutes
        from domains where project_id = ${project.id} order by domain
      `,
    )

  test('of two nodes check every due domain once, and no other', async () => {
    const project = await sterna.newProject()
    // Inserted without real keys: 45 of them take ten seconds.
    const due = Array.from({ length: 45 }, (_, index) => ({ id: randomUUID(), domain: newName(), selector: `s${index}` }))
    await sql`
      insert into domains (project_id, id, domain, dkim_selector, dkim_public_key, dkim_private_key_sealed)
      select ${project.id}, id, domain, selector, 'AAAA', '' from jsonb_to_recordset(${JSON.stringify(due)}::jsonb) as d (id uuid, domain text, selector text)
    `.execute(sterna.db)
    const keyOf = ({ selector, domain }: (typeof due)[number]) => `${selector}._domainkey.${domain}`
    const later = await add(await sterna.newProject())
    for (const domain of due.slice(0, 20)) dns.set(keyOf(domain), { TXT: ['k=rsa; p=AAAA'] })
    const other = connect({ url: sterna.url, max: 3, log: createLog('silent') })

    await Promise.all([checkDueDomains(node()), checkDueDomains({ ...node(), db: other }), checkDueDomains(node())])

    await other.destroy()
    const asked = dns.queries.filter((question) => question.includes('_domainkey'))
    expect(due.map((domain) => asked.filter((question) => question === `TXT ${keyOf(domain)}`).length)).toEqual(due.map(() => 1))
    expect(asked).not.toContain(`TXT ${dkimOf(later).name}`)
    expect((await rowsOf(project)).filter(({ status }) => status === 'verified')).toHaveLength(20)
  })

  test('store the other results of a batch if the database refuses one', async () => {
    const [refused, neighbour] = [await sterna.newProject(), await sterna.newProject()]
    await add(refused)
    publish(await add(neighbour))
    await sql`update domains set failures = 2147483647 where project_id = ${refused.id}`.execute(sterna.db)
    await sql`update domains set next_check_at = now() - interval '1 second' where project_id in (${refused.id}, ${neighbour.id})`.execute(
      sterna.db,
    )
    await checkDueDomains(node())
    expect([(await rowsOf(neighbour))[0]?.status, (await list(refused))[0].lastCheckedAt]).toEqual(['verified', null])
  })

  test('leave the rest to the next job after a few seconds, so that a worker can stop soon', async () => {
    const project = await sterna.newProject()
    const due = Array.from({ length: 150 }, (_, index) => ({ id: randomUUID(), domain: newName(), selector: `h${index}` }))
    for (const { selector, domain } of due) dns.set(`${selector}._domainkey.${domain}`, 'hang')
    await sql`
      insert into domains (project_id, id, domain, dkim_selector, dkim_public_key, dkim_private_key_sealed)
      select ${project.id}, id, domain, selector, 'AAAA', '' from jsonb_to_recordset(${JSON.stringify(due)}::jsonb) as d (id uuid, domain text, selector text)
    `.execute(sterna.db)
    const checked = async () => (await list(project)).filter(({ lastCheckedAt }: Answer['body']) => lastCheckedAt).length

    const start = performance.now()
    await checkDueDomains({ ...node(), maxRunMs: 1 })

    expect(performance.now() - start).toBeLessThan(10_000)
    // One batch; the worker of this file has begun the next one, which ends seconds later.
    expect(await checked()).toBeLessThan(150)
    await expect.poll(checked, { timeout: 25_000 }).toBe(150)
  }, 40_000)

  test('start no batch after five seconds', () => {
    expect(MAX_CHECK_RUN_MS).toBe(5_000)
  })

  test('run every 5 minutes, also after a day, and after 30 days for a failed domain', async () => {
    const project = await sterna.newProject()
    const domain = await add(project)
    const after = async (age: string) => {
      await makeDue(project)
      await sql`update domains set pending_since = now() - ${age}::interval where project_id = ${project.id}`.execute(sterna.db)
      await checkDueDomains(node())
      return (await rowsOf(project))[0]
    }
    expect(await after('1 hour')).toMatchObject({ status: 'pending', minutes: 5 })
    expect(await after('25 hours')).toMatchObject({ status: 'pending', minutes: 5 })
    expect(await after('31 days')).toMatchObject({ status: 'failed', minutes: 5 })
    expect(await after('31 days')).toMatchObject({ status: 'failed', minutes: 5 })
    publish(domain)
    expect(await after('31 days')).toMatchObject({ status: 'verified', minutes: 5 })
    expect(await after('31 days')).toMatchObject({ status: 'verified', minutes: 5 })
  })

  test('query only the required record of a verified domain and keep the findings of the others', async () => {
    const project = await sterna.newProject()
    const domain = await addVerified(project)
    const asked = () => dns.queries.filter((question) => question.endsWith(domain.domain))
    const before = asked().length
    const [{ records }] = await list(project)
    await makeDue(project)
    await checkDueDomains(node())
    expect(asked().slice(before)).toEqual([`TXT ${dkimOf(domain).name}`])
    expect((await list(project))[0].records).toEqual(records)
  })

  test('make a verified domain without its record pending after three runs', async () => {
    const project = await sterna.newProject()
    withdraw(await addVerified(project))
    const seen = []
    for (let n = 0; n < 3; n++) {
      await makeDue(project)
      await checkDueDomains(node())
      seen.push((await rowsOf(project))[0])
    }
    expect(seen).toMatchObject([
      { status: 'verified', failures: 1, minutes: 5 },
      { status: 'verified', failures: 2, minutes: 5 },
      { status: 'pending', failures: 3, minutes: 5 },
    ])
  })

  test('drop their findings if a later check began meanwhile', async () => {
    const project = await sterna.newProject()
    const domain = await addVerified(project)
    dns.set(dkimOf(domain).name, 'hang')
    await sql`update domains set check_began_at = null where id = ${domain.id}`.execute(sterna.db)
    const slow = ask(project, domain.id)
    await expect.poll(() => dns.queries.filter((each) => each === `TXT ${dkimOf(domain).name}`).length).toBe(2)
    publish(domain)
    expect(await check(project, domain.id)).toMatchObject({ status: 'verified', lastError: null })
    // The slow check queries again and would report this.
    dns.set(dkimOf(domain).name, 'servfail')

    expect((await slow).body.status).toBe('verified')
    expect((await list(project))[0]).toMatchObject({ status: 'verified', lastError: null })
  })

  test('run as a job', async () => {
    const project = await sterna.newProject()
    publish(await add(project))
    await makeDue(project)
    await sql`select graphile_worker.add_job('cron.check-domains')`.execute(sterna.db)
    await expect.poll(async () => (await list(project))[0].status, { timeout: 10_000 }).toBe('verified')
  })
})

describe('the next state of a domain', () => {
  const state = fc.record({
    status: fc.constantFrom('pending' as const, 'verified' as const, 'failed' as const),
    failures: fc.nat(5),
    pendingSeconds: fc.nat(60 * 86_400),
  })
  const stateOf = (given: { status: 'pending' | 'verified' | 'failed'; failures: number; pendingSeconds: number }) => ({
    ...given,
    verifiedBy: given.status === 'verified' ? ('dns' as const) : null,
  })

  test('is the old one if DNS failed', () => {
    fc.assert(
      fc.property(state, (given) => {
        expect(nextState(stateOf(given), { is: 'unknown', why: '' })).toMatchObject({ status: given.status, failures: given.failures })
      }),
    )
  })

  test('is pending at the first miss or DNS failure if only the sandbox verified the domain', () => {
    const now = { status: 'verified' as const, verifiedBy: 'sandbox' as const, failures: 0, pendingSeconds: 60 }
    for (const is of ['missing', 'unknown'] as const) expect(nextState(now, { is, why: '' })).toMatchObject({ status: 'pending' })
  })

  test('is verified exactly if the record is found, or missed fewer than three times in a row', () => {
    const verdicts = fc.array(fc.constantFrom('proven' as const, 'missing' as const, 'unknown' as const), { maxLength: 30 })
    fc.assert(
      fc.property(verdicts, (given) => {
        let now = stateOf({ status: 'pending', failures: 0, pendingSeconds: 60 })
        let expected = false
        let misses = 0
        for (const is of given) {
          now = { ...stateOf({ ...now, ...nextState(now, is === 'proven' ? { is } : { is, why: '' }) }), pendingSeconds: 60 }
          if (is === 'proven') [expected, misses] = [true, 0]
          if (is === 'missing' && ++misses >= 3) expected = false
          expect(now.status).toBe(expected ? 'verified' : 'pending')
        }
      }),
    )
  })
})

// Sending -------------------------------------------------------------------------------------------------------------

describe('a from address is allowed', () => {
  const may = async (project: Project, address: string) =>
    assertVerified(sterna.db, project.id, address).then(
      () => true,
      (err) => {
        expect(err).toMatchObject({ code: 'DOMAIN_NOT_VERIFIED', statusCode: 403 })
        return false
      },
    )

  test('on a verified domain, in any spelling', async () => {
    const project = await sterna.newProject()
    const name = newName()
    await addVerified(project, name)
    await addVerified(project, 'xn--kse-qla.example')
    for (const address of [`a@${name}`, `A@${name.toUpperCase()}`, 'a@käse.example', 'a@KÄSE.example'])
      expect([address, await may(project, address)]).toEqual([address, true])
  })

  test('nowhere else', async () => {
    const project = await sterna.newProject()
    const name = newName()
    await addVerified(project, name)
    await add(project, `pending-${name}`)
    for (const address of [
      `a@mail.${name}`,
      `a@very.deep.${name}`,
      `a@evil${name}`,
      `a@${name}.evil.example`,
      `a@pending-${name}`,
      'a@example',
      'a@example.com',
      `a@${name.replace('o', 'о')}`,
      `ceo@bank.example <a@${name}>`,
      `a@${name} <ceo@bank.example>`,
      `"x@${name}"@bank.example`,
      `a@bank.example,b@${name}`,
      `a@${name}\r\nBcc: b@${name}`,
      name,
      '',
    ])
      expect([address, await may(project, address)]).toEqual([address, false])
  })

  test('not on the domain of another project, and not below it', async () => {
    const [mine, theirs] = [await sterna.newProject(), await sterna.newProject()]
    const name = newName()
    await addVerified(theirs, name)
    expect([await may(mine, `a@${name}`), await may(mine, `a@mail.${name}`)]).toEqual([false, false])
  })

  test('on a subdomain for the project that has verified it, not for the project of the parent domain', async () => {
    const [mine, theirs] = [await sterna.newProject(), await sterna.newProject()]
    const name = newName()
    await addVerified(mine, name)
    await addVerified(theirs, `mail.${name}`)
    expect([await may(mine, `a@mail.${name}`), await may(theirs, `a@mail.${name}`), await may(theirs, `a@${name}`)]).toEqual([
      false,
      true,
      false,
    ])
  })

  test('no longer once the domain is removed', async () => {
    const project = await sterna.newProject()
    const { id, domain } = await addVerified(project)
    expect(await may(project, `a@${domain}`)).toBe(true)
    await sterna.call('DELETE', `/domains/${id}`, { key: project.sk })
    expect(await may(project, `a@${domain}`)).toBe(false)
  })

  test('for many addresses at once, each with its domain', async () => {
    const project = await sterna.newProject()
    const [one, two] = [await addVerified(project), await addVerified(project)]
    const other = await sterna.newProject()
    const three = await addVerified(other)
    const of = ({ id }: { id: string }, address: string) => ({ projectId: id, address })
    const senders = [
      of(project, `a@${one.domain}`),
      of(project, `b@${two.domain}`),
      of(other, `d@${three.domain}`),
      of(project, `c@x.${two.domain}`),
      of(project, 'nonsense'),
      of(project, `a@${three.domain}`),
      of(other, `a@${one.domain}`),
    ]
    const findFor = await findVerified(sterna.db, senders)
    const found = [one, two, three].map(({ id, domain, dkimTokens }) => ({ id, domain, dkimSelector: dkimTokens[0] }))
    expect(senders.map(findFor)).toEqual([...found, undefined, undefined, undefined, undefined])
    expect((await findVerified(sterna.db, []))(senders[0]!)).toBeUndefined()
  })
})

// Projects ------------------------------------------------------------------------------------------------------------

test('the setup state says if a domain is verified', async () => {
  const project = await sterna.newProject()
  const state = async () => (await project.owner.call('GET', `/projects/${project.id}/setup-state`)).body.hasVerifiedDomain
  await add(project)
  expect(await state()).toBe(false)
  await addVerified(project)
  expect(await state()).toBe(true)
})

test('a reset keeps domains, a deletion removes them', async () => {
  const project = await sterna.newProject()
  await addVerified(project)
  await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)
  expect(await list(project)).toMatchObject([{ status: 'verified' }])
  await project.owner.call('DELETE', `/users/@me/projects/${project.id}`)
  await expect.poll(() => many(sterna.db, sql`select 1 from domains where project_id = ${project.id}`), { timeout: 10_000 }).toEqual([])
})

// The sandbox ---------------------------------------------------------------------------------------------------------

describe('without a mail transport', () => {
  test('a domain is verified immediately with a notice, and no longer once there is a transport', async () => {
    const database = await cloneDatabase()
    const sandbox = await startApp(database.url, { env: { DNS_SERVERS: dns.address } })
    const { id, sk } = await sandbox.sterna.newProject()
    const before = dns.queries.length
    const name = newName()
    const { status, body } = await sandbox.sterna.call('POST', '/domains', { key: sk, body: { domain: name } })
    expect([status, body.status, body.verified, body.verifiedBy, body.notice]).toEqual([
      201,
      'verified',
      true,
      'sandbox',
      expect.stringContaining('this installation sends no email'),
    ])
    expect(body.records.map(({ status }: Published) => status)).toEqual(body.records.map(() => 'sandbox'))
    const checked = await sandbox.sterna.call('GET', `/domains/${body.id}/verify`, { key: sk })
    expect(checked.body).toMatchObject({ verified: true, verifiedBy: 'sandbox' })
    expect((await sandbox.sterna.call('GET', '/config')).body.features.email).toEqual({ transport: 'sandbox', sandbox: true })
    const other = await sandbox.sterna.newProject()
    const refused = await sandbox.sterna.call('POST', '/domains', { key: other.sk, body: { domain: name } })
    expect([refused.status, refused.body.error.details]).toEqual([403, undefined])
    await assertVerified(sandbox.sterna.db, id, `a@${name}`)
    expect(dns.queries).toHaveLength(before)
    await sandbox.close()

    const real = await startApp(database.url, { env })
    const [listed] = (await real.sterna.call('GET', '/domains/project/current', { key: sk })).body
    expect(listed).toMatchObject({ status: 'pending', verified: false, verifiedBy: null, verifiedAt: null, notice: null })
    await expect(assertVerified(real.sterna.db, id, `a@${name}`)).rejects.toMatchObject({ code: 'DOMAIN_NOT_VERIFIED' })
    expect((await real.sterna.call('GET', '/config')).body.features.email).toEqual({ transport: 'smtp', sandbox: false })
    publish(listed)
    await real.sterna.call('GET', `/domains/${listed.id}/verify`, { key: sk })
    const added = await real.sterna.call('POST', '/domains', { key: sk, body: { domain: newName() } })
    expect(added.body.status).toBe('pending')
    await real.close()

    const again = await startApp(database.url)
    const all = (await again.sterna.call('GET', '/domains/project/current', { key: sk })).body
    expect(all.map(({ status, verifiedBy }: Answer['body']) => [status, verifiedBy])).toEqual([
      ['verified', 'dns'],
      ['verified', 'sandbox'],
    ])
    await again.close()
    await database.drop()
  })

  test('a sandbox node that still runs beside the first node with a transport is overruled within five minutes', async () => {
    const project = await sterna.newProject()
    await add(project)
    await sql`update domains set status = 'verified', verified_by = 'sandbox', verified_at = now() where project_id = ${project.id}`.execute(
      sterna.db,
    )
    await sql`select graphile_worker.add_job('cron.check-domains')`.execute(sterna.db)
    await expect.poll(async () => (await list(project))[0].status, { timeout: 10_000 }).toBe('pending')
  })
})
