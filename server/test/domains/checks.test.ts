import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { createCheckNow } from '../../src/domains/sender-domains/check.ts'
import { findDomain } from '../../src/domains/sender-domains/domain.ts'
import { findRecords, recordsFor } from '../../src/domains/sender-domains/records.ts'
import { createDns } from '../../src/lib/network/dns.ts'
import { createLog } from '../../src/lib/process/log.ts'
import { type Published, useDomains } from './use-domains.ts'

const { dns, sterna, add, dkimOf, inStrings, publish, withdraw, ask, check, addVerified, list } = useDomains()

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
      { usesSes: false, publicUrl: 'http://localhost' },
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
    expect(performance.now() - start).toBeLessThan(40_000)
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
    await expect.poll(() => dns.queries.filter((each) => each === `TXT ${dkimOf(domain).name}`).length).toBeGreaterThanOrEqual(1)
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

    const answers = Array.from({ length: 50 }, () => checkNow(row, { usesSes: false, publicUrl: 'http://localhost' }))
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

  test('is told to webhook endpoints, and so is its loss', async () => {
    const project = await sterna.newProject()
    const body = { url: 'https://hooks.example.com', events: ['domain.*'] }
    expect((await sterna.call('POST', '/webhook-endpoints', { key: project.sk, body })).status).toBe(201)
    const { id: domainId, domain, records } = await addVerified(project)
    withdraw({ records })
    for (let n = 0; n < 3; n++) await check(project, domainId)
    const told = await many(
      sterna.db,
      sql<{ type: string; data: object }>`select type, data from webhook_messages where project_id = ${project.id} order by id`,
    )
    expect(told).toEqual([
      { type: 'domain.verified', data: { domainId, domain } },
      { type: 'domain.failed', data: { domainId, domain, reason: expect.stringContaining('was not found') } },
    ])
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
