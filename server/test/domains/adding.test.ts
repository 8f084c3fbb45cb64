import { createPrivateKey, createPublicKey, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { newDkimKey } from '../../src/domains/sender-domains/dkim-key.ts'
import { type Answer, startApp } from '../support/app.ts'
import { useDomains } from './use-domains.ts'

const { env, dns, sterna, newName, post, add, dkimOf, publish, ask, check, addVerified, list } = useDomains()

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
      select ${project.id}, gen_random_uuid(), 'many' || n || '.example', 's', 'p', '', 'infinity' from generate_series(1, 500) n
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
      value: expect.stringMatching(/^sterna-domain=[\w-]{44}$/),
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
