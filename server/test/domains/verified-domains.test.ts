import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { assertVerified, findVerified } from '../../src/domains/verified.ts'
import { type Answer, startApp } from '../support/app.ts'
import { cloneDatabase } from '../support/database.ts'
import { type Project, type Published, useDomains } from './use-domains.ts'

const { env, dns, sterna, newName, add, publish, addVerified, list } = useDomains()

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
    const found = [one, two, three].map(({ id, domain, dkimTokens }) => ({ id, domain, dkimSelector: dkimTokens[0], linkHost: null }))
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
  await expect.poll(() => many(sterna.db, sql`select 1 from domains where project_id = ${project.id}`)).toEqual([])
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
    await expect.poll(async () => (await list(project))[0].status).toBe('pending')
  })
})
