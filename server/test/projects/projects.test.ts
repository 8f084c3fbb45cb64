import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { fields } from '../support/answers.ts'
import { type Project, useTeams } from './team-client.ts'

const { sterna, projectsOf, join, keyStatuses } = useTeams()

describe('a project', () => {
  test('is created with a valid pair of keys and its creator as owner', async () => {
    const person = await sterna.newPerson()
    const { status, body } = await person.call('POST', '/users/@me/projects', { body: { name: '  Shop  ' } })

    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      name: 'Shop',
      public: expect.stringMatching(/^pk_[0-9a-f]{64}$/),
      secret: expect.stringMatching(/^sk_[0-9a-f]{64}$/),
      role: 'OWNER',
      disabled: false,
      disabledReason: null,
      tracking: 'ENABLED',
      language: 'en',
      timezone: 'UTC',
      nameFields: ['name', 'firstName + lastName'],
      brand: {},
      customer: null,
      subscription: null,
      billingLimitWorkflows: null,
      billingLimitCampaigns: null,
      billingLimitTransactional: null,
      billingLimitInbound: null,
      createdAt: expect.stringMatching(/T[\d:]{8}\.\d{3}Z$/),
      updatedAt: body.createdAt,
    })
    expect(await projectsOf(person)).toEqual([body])
    expect(await keyStatuses(body)).toEqual([200, 200])
  })

  test('has unique keys', async () => {
    const person = await sterna.newPerson()
    const made = await Promise.all(Array.from({ length: 10 }, () => sterna.newProject(person)))
    const parts = made.flatMap(({ pk, sk }) => [pk.slice(3), sk.slice(3)])
    expect(new Set(parts).size).toBe(20)
  })

  test('is listed for its members only', async () => {
    const [mine, theirs] = [await sterna.newProject(), await sterna.newProject()]
    expect((await projectsOf(mine.owner)).map(({ id }) => id)).toEqual([mine.id])
    expect((await projectsOf(theirs.owner)).map(({ id }) => id)).toEqual([theirs.id])
  })

  test('shows its keys to owners and admins, never to members', async () => {
    const project = await sterna.newProject()
    const [admin, member] = [await sterna.newPerson({ verified: true }), await sterna.newPerson({ verified: true })]
    await join(project, admin, 'ADMIN')
    await join(project, member, 'MEMBER')

    expect(await projectsOf(admin)).toMatchObject([{ role: 'ADMIN', public: project.pk, secret: project.sk }])
    expect(await projectsOf(member)).toMatchObject([{ role: 'MEMBER', public: null, secret: null }])
    const { body } = await admin.call('PATCH', `/users/@me/projects/${project.id}`, { body: { name: 'Renamed' } })
    expect(body).toMatchObject({ role: 'ADMIN', public: project.pk, secret: project.sk })
  })

  test.each([
    ['is missing', {}],
    ['is empty', { name: '' }],
    ['is blank', { name: ' \t ' }],
    ['has 101 characters', { name: 'x'.repeat(101) }],
    ['is a number', { name: 7 }],
    ['is null', { name: null }],
    ['is a list', { name: ['Shop'] }],
    ['holds U+0000', { name: 'Sh\0op' }],
    ['holds half a character', { name: 'Sh\ud83dop' }],
  ])('is not created when its name %s', async (_, body) => {
    const person = await sterna.newPerson()
    const answer = await person.call('POST', '/users/@me/projects', { body })
    expect([answer.status, fields(answer)]).toEqual([422, ['name']])
    expect(await projectsOf(person)).toEqual([])
  })

  test('may have a name of 100 characters in any script', async () => {
    const name = `${'店'.repeat(98)}🦜`
    const person = await sterna.newPerson()
    const { body } = await person.call('POST', '/users/@me/projects', { body: { name } })
    expect(body.name).toBe(name)
  })

  test.each([
    'x\r\nBcc: victim@example.com',
    'x\n\nLocked: https://evil.example',
    'x\ry',
    'x\ty',
    'x\u0085y',
    'x\u2028y',
    'x\u2029y',
    'x\u001by',
    'x\u007fy',
  ])('cannot inject lines into an email by the name %j', async (name) => {
    const { owner, id } = await sterna.newProject()
    const answers = [
      await owner.call('POST', '/users/@me/projects', { body: { name } }),
      await owner.call('PATCH', `/users/@me/projects/${id}`, { body: { name } }),
    ]
    for (const answer of answers) expect([answer.status, fields(answer)]).toEqual([422, ['name']])
  })

  test('uses only the name of the request when it is created', async () => {
    const [person, victim] = [await sterna.newPerson(), await sterna.newPerson()]
    const id = randomUUID()
    const extra = {
      id,
      ownerId: victim.id,
      userId: victim.id,
      public: 'pk_x',
      secret: 'sk_x',
      disabled: true,
      keyVersion: 9,
      customer: 'cus_x',
    }
    const { body } = await person.call('POST', '/users/@me/projects', { body: { name: 'Shop', ...extra } })

    expect(body).toMatchObject({ role: 'OWNER', disabled: false, customer: null, public: expect.stringMatching(/^pk_[0-9a-f]{64}$/) })
    expect(body.id).not.toBe(id)
    expect(await projectsOf(victim)).toEqual([])
  })
})

describe('settings of a project', () => {
  const change = (project: Project, body: unknown) => project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body })

  test.each([
    { name: 'New name' },
    { tracking: 'DISABLED' },
    { tracking: 'MARKETING_ONLY' },
    { tracking: 'ENABLED' },
    { language: 'de' },
    { name: 'All', tracking: 'DISABLED', language: 'fr' },
    {},
  ])('can be changed to %j, and nothing else changes', async (changes) => {
    const project = await sterna.newProject()
    const [before] = await projectsOf(project.owner)
    const { status, body } = await change(project, changes)

    expect([status, body]).toEqual([200, { ...before, ...changes, updatedAt: expect.any(String) }])
    expect(await projectsOf(project.owner)).toEqual([body])
  })

  test.each([
    [{ name: '' }, ['name']],
    [{ name: null }, ['name']],
    [{ name: 'x'.repeat(101) }, ['name']],
    [{ tracking: 'enabled' }, ['tracking']],
    [{ tracking: true }, ['tracking']],
    [{ tracking: null }, ['tracking']],
    [{ language: 'xx' }, ['language']],
    [{ language: 'EN' }, ['language']],
    [{ language: ['en'] }, ['language']],
    [{ name: 'ok', tracking: 'NO', language: '' }, ['tracking', 'language']],
  ])('are refused as a whole if %j is invalid', async (changes, expected) => {
    const project = await sterna.newProject()
    const before = await projectsOf(project.owner)
    const answer = await change(project, changes)

    expect([answer.status, answer.body.error.code, fields(answer)]).toEqual([422, 'VALIDATION_ERROR', expected])
    expect(await projectsOf(project.owner)).toEqual(before)
  })

  test('cannot change other fields', async () => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    await sql`update projects set disabled = true, disabled_reason = 'EMAIL_REPUTATION' where id = ${project.id}`.execute(sterna.db)
    const [before] = await projectsOf(project.owner)
    const forged = {
      id: other.id,
      projectId: other.id,
      ownerId: other.owner.id,
      role: 'OWNER',
      public: other.pk,
      secret: other.sk,
      disabled: false,
      disabledReason: null,
      disabled_reason: null,
      keyVersion: 7,
      key_version: 7,
      customer: 'cus_1',
      subscription: 'sub_1',
      createdAt: '2000-01-01T00:00:00.000Z',
      created_at: '2000-01-01',
      updatedAt: '2000-01-01T00:00:00.000Z',
      deletedAt: null,
      deleted_at: 'now()',
      'name = name, disabled': false,
    }
    const digestOf = (id: string) => one(sterna.db, sql<{ row: string }>`select p::text as row from projects p where id = ${id}`)
    const untouched = await digestOf(other.id)
    const { status, body } = await change(project, { name: 'New name', ...forged })

    expect([status, body]).toEqual([200, { ...before, name: 'New name', updatedAt: expect.any(String) }])
    expect(body.updatedAt).not.toContain('2000')
    expect(await digestOf(other.id)).toEqual(untouched)
    expect(await keyStatuses({ public: project.pk, secret: project.sk })).toEqual([200, 403])
  })
})

test('the setup state of a new project is empty', async () => {
  const project = await sterna.newProject()
  const { status, body } = await project.owner.call('GET', `/projects/${project.id}/setup-state`)
  expect([status, body]).toEqual([
    200,
    {
      hasVerifiedDomain: false,
      contactCount: 0,
      lastCampaignSentAt: null,
      hasEnabledWorkflow: false,
      hasSubscription: false,
      hasSentEmail: false,
      hasUsedApi: expect.any(Boolean),
      hasTrackedEvent: false,
      hasTemplate: false,
      hasSegment: false,
    },
  ])
})
