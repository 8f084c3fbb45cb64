import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { type Answer, cookieOf, useApp } from '../support/app.ts'
import { probe } from '../support/probe.ts'

const sterna = useApp({ env: { TRUST_PROXY: '127.0.0.1' }, extend: probe })

type Person = Awaited<ReturnType<typeof sterna.newPerson>>
type Project = Awaited<ReturnType<typeof sterna.newProject>>

let addresses = 0
/** Wrong keys are limited per IP: every test that tries some comes from an address of its own. */
const from = () => ({ 'x-forwarded-for': `10.1.0.${++addresses}` })
const newEmail = () => `guest${++addresses}@example.com`

// Limits on how often are tested with the accounts; here they would only couple the tests.
beforeEach(() => sql`delete from attempts`.execute(sterna.db))

const fields = ({ body }: Answer) => [...new Set(body.error.errors.map((issue: { field: string }) => issue.field))]
const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort()
const outcome = ({ status, body }: Answer) => [status, body.error?.code]

const projectsOf = async (person: Pick<Person, 'call'>) =>
  (await person.call('GET', '/users/@me/projects')).body as Record<string, unknown>[]
const invite = (project: Project, email: string, role = 'MEMBER', by: Pick<Person, 'call'> = project.owner) =>
  by.call('POST', `/projects/${project.id}/members`, { body: { email, role } })
const membersOf = async (project: Project) => {
  const { body } = await project.owner.call('GET', `/projects/${project.id}/members`)
  return body.map(({ email, role }: { email: string; role: string }) => `${email} ${role}`)
}
const invitationsOf = async (project: Project) => (await project.owner.call('GET', `/projects/${project.id}/invitations`)).body
const accept = (person: Pick<Person, 'call'>, token: string) => person.call('POST', '/auth/accept-invitation', { body: { token } })

async function join(project: Project, person: Person, role: 'ADMIN' | 'MEMBER') {
  expect((await invite(project, person.email, role)).body.status).toBe('MEMBER')
}

/** Which of a pair of keys opens something. */
async function working({ public: pk, secret: sk }: { public: string; secret: string }) {
  const headers = from()
  const [secret, open] = [
    await sterna.call('GET', '/probe/secret', { key: sk, headers }),
    await sterna.call('POST', '/probe/track', { key: pk, headers, body: {} }),
  ]
  return [secret.status, open.status]
}

/** The digest once the worker has removed what earlier tests deleted. */
async function settledDigest(options?: Parameters<typeof sterna.digest>[0]) {
  const wipes = () => many(sterna.db, sql`select 1 from project_wipes`)
  await expect.poll(wipes, { timeout: 10_000, interval: 20 }).toEqual([])
  return sterna.digest(options)
}

/** How many rows each table has of a project, without the tables that have none. Sees every table, also the ones added later. */
async function rowsOf(projectId: string) {
  const tables = await many(
    sterna.db,
    sql<{ name: string; key: string }>`
      select table_name as name, column_name as key from information_schema.columns
      where table_schema = 'public' and (column_name = 'project_id' or (table_name = 'projects' and column_name = 'id'))
    `,
  )
  const counted = await Promise.all(
    tables.map(async ({ name, key }) => {
      const { count } = await one(
        sterna.db,
        sql<{ count: number }>`select count(*)::int as count from ${sql.table(name)} where ${sql.ref(key)} = ${projectId}`,
      )
      return [name, count] as const
    }),
  )
  return Object.fromEntries(counted.filter(([, count]) => count > 0))
}

describe('a project', () => {
  test('is created with a pair of keys that work, and its creator as the owner', async () => {
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
    expect(await working(body)).toEqual([200, 200])
  })

  test('has keys like no other', async () => {
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
  ])('cannot write lines of its own into a mail by the name %j', async (name) => {
    const { owner, id } = await sterna.newProject()
    const answers = [
      await owner.call('POST', '/users/@me/projects', { body: { name } }),
      await owner.call('PATCH', `/users/@me/projects/${id}`, { body: { name } }),
    ]
    for (const answer of answers) expect([answer.status, fields(answer)]).toEqual([422, ['name']])
  })

  test('takes only a name when it is created', async () => {
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
  ])('are refused whole when %j is wrong', async (changes, expected) => {
    const project = await sterna.newProject()
    const before = await projectsOf(project.owner)
    const answer = await change(project, changes)

    expect([answer.status, answer.body.error.code, fields(answer)]).toEqual([422, 'VALIDATION_ERROR', expected])
    expect(await projectsOf(project.owner)).toEqual(before)
  })

  test('cannot touch what is not a setting', async () => {
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
    expect(await working({ public: project.pk, secret: project.sk })).toEqual([200, 403])
  })
})

describe('regenerate-keys', () => {
  const rotate = (project: Project) => project.owner.call('POST', `/users/@me/projects/${project.id}/regenerate-keys`)

  test('replaces both keys, and the old pair is refused from that answer on', async () => {
    const project = await sterna.newProject()
    const [before] = await projectsOf(project.owner)
    const { status, body } = await rotate(project)

    expect(status).toBe(200)
    expect(body).toEqual({ ...before, public: body.public, secret: body.secret, updatedAt: expect.any(String) })
    expect(body.public).toMatch(/^pk_[0-9a-f]{64}$/)
    expect(body.secret).toMatch(/^sk_[0-9a-f]{64}$/)
    expect(await working({ public: project.pk, secret: project.sk })).toEqual([401, 401])
    expect(await working(body)).toEqual([200, 200])
    // Not even a mix of old and new.
    expect(new Set([project.pk.slice(3), project.sk.slice(3), body.public.slice(3), body.secret.slice(3)]).size).toBe(4)
  })

  test('20 times at once leaves exactly one pair that works', async () => {
    const project = await sterna.newProject()
    const answers = await Promise.all(Array.from({ length: 20 }, () => rotate(project)))
    expect(new Set(statuses(answers))).toEqual(new Set([200]))

    const pairs = await Promise.all(answers.map(({ body }) => working(body)))
    expect(pairs.filter((pair) => pair.join() === '200,200')).toHaveLength(1)
    expect(pairs.filter((pair) => pair.join() === '401,401')).toHaveLength(19)
    const [shown] = await projectsOf(project.owner)
    expect(await working(shown as { public: string; secret: string })).toEqual([200, 200])
    expect(await working({ public: project.pk, secret: project.sk })).toEqual([401, 401])
  })

  test('leaves the keys of other projects alone', async () => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    await rotate(project)
    expect(await working({ public: other.pk, secret: other.sk })).toEqual([200, 200])
  })

  test('during use never lets an old key through after it answered', async () => {
    const project = await sterna.newProject()
    const headers = from()
    let answered = false
    const late: number[] = []
    const use = async () => {
      for (let n = 0; n < 15; n++) {
        const after = answered
        const { status } = await sterna.call('GET', '/probe/secret', { key: project.sk, headers })
        if (after) late.push(status)
      }
    }
    await Promise.all([use(), use(), rotate(project).then(() => (answered = true))])
    await use()
    expect(new Set(late)).toEqual(new Set([401]))
  })
})

describe('deleting a project', () => {
  const remove = (project: Project, by: Pick<Person, 'call'> = project.owner) => by.call('DELETE', `/users/@me/projects/${project.id}`)

  test('ends its keys at once, hides it from its members, and removes its rows and nobody else’s', async () => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, 'MEMBER')
    await invite(project, newEmail())
    for (const { sk } of [project, other])
      await sterna.call('POST', '/probe/once', { key: sk, body: {}, headers: { 'idempotency-key': 'k' } })
    const others = await rowsOf(other.id)
    expect(Object.keys(await rowsOf(project.id)).sort()).toEqual([
      'idempotency_keys',
      'invitations',
      'memberships',
      'projects',
      'rate_windows',
    ])

    const answer = await remove(project)
    expect([answer.status, answer.body, answer.headers['content-type']]).toEqual([204, '', undefined])
    expect(await working({ public: project.pk, secret: project.sk })).toEqual([401, 401])
    for (const person of [project.owner, member]) {
      expect(await projectsOf(person)).toEqual([])
      expect(outcome(await person.call('GET', `/projects/${project.id}/members`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
      expect(outcome(await person.call('GET', '/probe/project', { headers: { 'x-project-id': project.id } }))).toEqual([
        403,
        'PROJECT_ACCESS_DENIED',
      ])
    }

    await expect.poll(() => rowsOf(project.id), { timeout: 5_000, interval: 50 }).toEqual({})
    expect(await rowsOf(other.id)).toEqual(others)
    expect(await working({ public: other.pk, secret: other.sk })).toEqual([200, 200])
  })

  test('a second time finds nothing', async () => {
    const project = await sterna.newProject()
    await remove(project)
    expect(outcome(await remove(project))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    for (const [method, path] of [
      ['PATCH', ''],
      ['POST', '/regenerate-keys'],
      ['POST', '/reset'],
    ] as const) {
      const answer = await project.owner.call(
        method,
        `/users/@me/projects/${project.id}${path}`,
        method === 'PATCH' ? { body: { name: 'Alive' } } : {},
      )
      expect(outcome(answer)).toEqual([404, 'RESOURCE_NOT_FOUND'])
    }
  })

  test('ends the invitations to it', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email)
    const token = await sterna.tokenFor(guest.email)
    await remove(project)

    expect(outcome(await accept(guest, token))).toEqual([400, 'INVALID_TOKEN'])
    expect(await projectsOf(guest)).toEqual([])
    expect((await guest.call('GET', '/users/@me')).body.emailVerified).toBe(false)
  })
})

describe('resetting a project', () => {
  const wipe = (project: Project) => project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)
  const once = (project: Project, key: string) =>
    sterna.call('POST', '/probe/once', { key: project.sk, body: {}, headers: { 'idempotency-key': key } })

  test('removes its data, keeps members and keys, and says that it is done', async () => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, 'ADMIN')
    for (const each of [project, other]) expect((await once(each, 'k')).status).toBe(200)
    const members = await membersOf(project)
    const [before] = await projectsOf(project.owner)

    const { status, body } = await wipe(project)

    expect([status, body]).toEqual([200, { success: true, message: 'All data of this project was deleted.' }])
    expect(await rowsOf(project.id)).toEqual({ projects: 1, memberships: 2, rate_windows: 1 })
    expect(await membersOf(project)).toEqual(members)
    expect(await projectsOf(project.owner)).toEqual([before])
    expect(await working({ public: project.pk, secret: project.sk })).toEqual([200, 200])
    expect([(await once(project, 'k')).status, (await once(other, 'k')).status]).toEqual([200, 409])
  })

  test('does not keep other projects from being deleted', async () => {
    const [first, second] = [await sterna.newProject(), await sterna.newProject()]
    await wipe(first)
    await second.owner.call('DELETE', `/users/@me/projects/${second.id}`)
    await expect.poll(() => rowsOf(second.id), { timeout: 3_000, interval: 50 }).toEqual({})
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
    },
  ])
})

describe('inviting', () => {
  test('someone whose address is proven makes them a member at once and tells them', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson({ verified: true })
    const answer = await invite(project, ` ${guest.email.toUpperCase()}`, 'ADMIN')

    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      userId: guest.id,
      email: guest.email,
      role: 'ADMIN',
      status: 'MEMBER',
      createdAt: expect.stringMatching(/Z$/),
    })
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`, `${guest.email} ADMIN`])
    expect((await projectsOf(guest)).map(({ id }) => id)).toEqual([project.id])
    expect(await invitationsOf(project)).toEqual([])
    const [mail] = await sterna.mailsTo(guest.email)
    expect(mail!.subject).toBe('You now have access to Test')
    expect(mail!.text).toContain(`Leave the project: http://localhost:3000/app/p/${project.id}/team`)
  })

  test('someone who is added without having been asked can leave', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson({ verified: true })
    await invite(project, guest.email)
    expect((await guest.call('DELETE', `/projects/${project.id}/members/${guest.id}`)).status).toBe(204)
    expect(await projectsOf(guest)).toEqual([])
  })

  test('an unknown address sends a link and makes nobody a member', async () => {
    const project = await sterna.newProject()
    const email = newEmail()
    const answer = await invite(project, email)

    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({ userId: null, email, role: 'MEMBER', status: 'INVITED', createdAt: expect.any(String) })
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`])
    const [invitation] = await invitationsOf(project)
    expect(invitation).toEqual({
      id: expect.any(String),
      email,
      role: 'MEMBER',
      createdAt: answer.body.createdAt,
      expiresAt: expect.any(String),
    })
    expect(Date.parse(invitation.expiresAt) - Date.parse(invitation.createdAt)).toBe(7 * 86_400_000)
    const [mail] = await sterna.mailsTo(email)
    expect(mail).toMatchObject({
      subject: 'You are invited to Test',
      text: expect.stringContaining('http://localhost:3000/accept-invitation?token='),
    })
  })

  test('an account whose address is not proven gives it nothing until it proves it: it may be a squatter’s', async () => {
    const project = await sterna.newProject()
    const squatter = await sterna.newPerson({ email: newEmail() })
    const answer = await invite(project, squatter.email, 'ADMIN')

    expect(answer.body).toMatchObject({ userId: null, status: 'INVITED' })
    expect(await projectsOf(squatter)).toEqual([])
    expect(outcome(await squatter.call('GET', `/projects/${project.id}/members`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    // What a squatter can do without the mailbox: sign in again, ask for mails, change the password.
    await squatter.call('POST', '/auth/request-verification')
    const changed = await squatter.call('POST', '/auth/change-password', {
      body: { currentPassword: squatter.password, password: 'battery staple' },
    })
    const again = {
      call: (method: string, url: string, options = {}) => sterna.call(method, url, { ...options, cookie: cookieOf(changed) }),
    }
    expect(await projectsOf(again)).toEqual([])
    expect(outcome(await accept(again, 'x'.repeat(43)))).toEqual([400, 'INVALID_TOKEN'])

    // The one who reads the mailbox takes the account over, with the invitation, and throws the squatter out.
    await sterna.call('POST', '/auth/request-password-reset', { body: { email: squatter.email } })
    const token = await sterna.tokenFor(squatter.email)
    await sterna.call('POST', '/auth/reset-password', { body: { token, password: 'rightful owner' } })
    expect((await again.call('GET', '/users/@me')).status).toBe(401)
    const rightful = await sterna.call('POST', '/auth/login', { body: { email: squatter.email, password: 'rightful owner' } })
    const { body } = await sterna.call('GET', '/users/@me/projects', { cookie: cookieOf(rightful) })
    expect(body.map(({ id, role }: Record<string, unknown>) => [id, role])).toEqual([[project.id, 'ADMIN']])
  })

  test.each([
    [{}, ['email', 'role']],
    [{ email: newEmail(), role: 'OWNER' }, ['role']],
    [{ email: newEmail(), role: 'member' }, ['role']],
    [{ email: newEmail() }, ['role']],
    [{ email: 'nobody', role: 'MEMBER' }, ['email']],
    [{ email: [newEmail(), newEmail()], role: 'MEMBER' }, ['email']],
    [{ email: newEmail(), role: ['MEMBER'] }, ['role']],
  ])('refuses %j and mails nobody', async (body, expected) => {
    const project = await sterna.newProject()
    const before = await settledDigest()
    const answer = await project.owner.call('POST', `/projects/${project.id}/members`, { body })
    expect([answer.status, fields(answer)]).toEqual([422, expected])
    expect(await sterna.digest()).toBe(before)
  })

  test('takes only an address and a role', async () => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    const email = newEmail()
    const forged = {
      projectId: other.id,
      id: randomUUID(),
      userId: project.owner.id,
      status: 'MEMBER',
      token: 'known',
      expiresAt: '2099-01-01T00:00:00Z',
    }
    const { body } = await project.owner.call('POST', `/projects/${project.id}/members`, { body: { email, role: 'MEMBER', ...forged } })
    expect(body).toMatchObject({ userId: null, status: 'INVITED' })
    const [invitation] = await invitationsOf(project)
    expect(invitation.id).not.toBe(forged.id)
    expect(invitation.expiresAt).not.toContain('2099')
    expect(await invitationsOf(other)).toEqual([])
  })

  test('a member again is a conflict, also 10 times at once', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson({ verified: true })
    const answers = await Promise.all(Array.from({ length: 10 }, () => invite(project, guest.email)))

    expect(statuses(answers)).toEqual([201, ...Array(9).fill(409)])
    expect(outcome(await invite(project, project.owner.email, 'ADMIN'))).toEqual([409, 'CONFLICT'])
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`, `${guest.email} MEMBER`])
  })

  test('an address again replaces the link and the role; 10 times at once leaves one link that works', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email, 'ADMIN')
    const older = await sterna.tokenFor(guest.email)
    const answers = await Promise.all(Array.from({ length: 10 }, () => invite(project, guest.email, 'MEMBER')))
    expect(new Set(statuses(answers))).toEqual(new Set([201]))
    expect((await invitationsOf(project)).map(({ role }: { role: string }) => role)).toEqual(['MEMBER'])

    expect(outcome(await accept(guest, older))).toEqual([400, 'INVALID_TOKEN'])
    const links = (await sterna.mailsTo(guest.email)).map(({ text }) => /accept-invitation\?token=([\w-]+)/.exec(text)?.[1]).filter(Boolean)
    expect(links).toHaveLength(11)
    const accepted = []
    for (const token of links) accepted.push((await accept(guest, token!)).status)
    expect(accepted.sort()).toEqual([200, ...Array(10).fill(400)])
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`, `${guest.email} MEMBER`])
  })
})

describe('an invitation', () => {
  test('is accepted by signing up with its token, which proves the address', async () => {
    const project = await sterna.newProject()
    const email = newEmail()
    await invite(project, email, 'ADMIN')
    const answer = await sterna.call('POST', '/auth/signup', {
      body: { email, password: 'correct horse', invitation: await sterna.tokenFor(email) },
    })

    expect(answer.status).toBe(200)
    expect((await sterna.call('GET', '/users/@me', { cookie: cookieOf(answer) })).body.emailVerified).toBe(true)
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`, `${email} ADMIN`])
    expect(await invitationsOf(project)).toEqual([])
    expect((await sterna.mailsTo(email)).map(({ subject }) => subject)).toEqual(['You are invited to Test'])
  })

  test('makes no account when its token is wrong', async () => {
    const project = await sterna.newProject()
    const email = newEmail()
    await invite(project, email)
    const before = await settledDigest({ except: ['attempts'] })
    const answer = await sterna.call('POST', '/auth/signup', { body: { email, password: 'correct horse', invitation: 'x'.repeat(43) } })
    expect(outcome(answer)).toEqual([400, 'INVALID_TOKEN'])
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(await sterna.digest({ except: ['attempts'] })).toBe(before)
  })

  test('is not accepted by signing up without its token', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson({ email: await invited(project) })
    expect(await projectsOf(guest)).toEqual([])
  })

  async function invited(project: Project) {
    const email = newEmail()
    await invite(project, email)
    return email
  }

  test('is accepted by someone signed in with that address', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email)
    const answer = await accept(guest, await sterna.tokenFor(guest.email))

    expect([answer.status, answer.body]).toEqual([200, { success: true, projectId: project.id }])
    expect((await guest.call('GET', '/users/@me')).body.emailVerified).toBe(true)
    expect((await projectsOf(guest)).map(({ id }) => id)).toEqual([project.id])
  })

  test('is accepted, with every other to that address, by proving the address', async () => {
    const [first, second] = [await sterna.newProject(), await sterna.newProject()]
    const guest = await sterna.newPerson()
    const verification = await sterna.tokenFor(guest.email)
    await invite(first, guest.email, 'ADMIN')
    await invite(second, guest.email, 'MEMBER')
    await sterna.call('POST', '/auth/verify-email', { body: { token: verification } })

    expect(await projectsOf(guest)).toMatchObject([
      { id: first.id, role: 'ADMIN' },
      { id: second.id, role: 'MEMBER' },
    ])
    expect(await invitationsOf(first)).toEqual([])
  })

  test('is accepted once, of 10 at once', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email)
    const token = await sterna.tokenFor(guest.email)
    const answers = await Promise.all(Array.from({ length: 10 }, () => accept(guest, token)))
    expect(statuses(answers)).toEqual([200, ...Array(9).fill(400)])

    await project.owner.call('DELETE', `/projects/${project.id}/members/${guest.id}`)
    expect(outcome(await accept(guest, token))).toEqual([400, 'INVALID_TOKEN'])
  })

  test('is worth nothing to another address, signed in or signing up', async () => {
    const project = await sterna.newProject()
    const token = await invited(project).then((email) => sterna.tokenFor(email))
    const thief = await sterna.newPerson({ verified: true })

    expect(outcome(await accept(thief, token))).toEqual([400, 'INVALID_TOKEN'])
    const signUp = await sterna.call('POST', '/auth/signup', { body: { email: newEmail(), password: 'correct horse', invitation: token } })
    expect(outcome(signUp)).toEqual([400, 'INVALID_TOKEN'])
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`])
    expect(await invitationsOf(project)).toHaveLength(1)
  })

  test('is no token for anything else, and nothing else is one for it', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    const verification = await sterna.tokenFor(guest.email)
    await invite(project, guest.email)
    const token = await sterna.tokenFor(guest.email)

    expect(outcome(await sterna.call('POST', '/auth/verify-email', { body: { token } }))).toEqual([400, 'INVALID_TOKEN'])
    expect(outcome(await sterna.call('POST', '/auth/reset-password', { body: { token, password: 'thief was here' } }))).toEqual([
      400,
      'INVALID_TOKEN',
    ])
    expect(outcome(await accept(guest, verification))).toEqual([400, 'INVALID_TOKEN'])
    expect((await accept(guest, token)).status).toBe(200)
  })

  test('expires after seven days, by its link and by the address alike', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    const verification = await sterna.tokenFor(guest.email)
    await invite(project, guest.email)
    const token = await sterna.tokenFor(guest.email)
    await sql`update invitations set expires_at = expires_at - interval '7 days' where email = ${guest.email}`.execute(sterna.db)

    expect(await invitationsOf(project)).toEqual([])
    expect(outcome(await accept(guest, token))).toEqual([400, 'INVALID_TOKEN'])
    await sterna.call('POST', '/auth/verify-email', { body: { token: verification } })
    expect(await projectsOf(guest)).toEqual([])
  })

  test('can be withdrawn', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email)
    const token = await sterna.tokenFor(guest.email)
    const [{ id }] = await invitationsOf(project)
    const withdraw = () => project.owner.call('DELETE', `/projects/${project.id}/invitations/${id}`)

    const answer = await withdraw()
    expect([answer.status, answer.body]).toEqual([204, ''])
    expect(outcome(await accept(guest, token))).toEqual([400, 'INVALID_TOKEN'])
    expect(outcome(await withdraw())).toEqual([404, 'RESOURCE_NOT_FOUND'])
  })

  test('of another project cannot be withdrawn', async () => {
    const [mine, theirs] = [await sterna.newProject(), await sterna.newProject()]
    await invited(theirs)
    const [{ id }] = await invitationsOf(theirs)
    const answer = await mine.owner.call('DELETE', `/projects/${mine.id}/invitations/${id}`)
    expect([...outcome(answer), answer.body.error.details]).toEqual([404, 'RESOURCE_NOT_FOUND', { resource: 'invitation', id }])
    expect(await invitationsOf(theirs)).toHaveLength(1)
  })

  test('does not lower or raise the role of someone who is a member already', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email, 'ADMIN')
    const token = await sterna.tokenFor(guest.email)
    await sql`insert into memberships (project_id, user_id, role) values (${project.id}, ${guest.id}, 'MEMBER')`.execute(sterna.db)
    await accept(guest, token)
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`, `${guest.email} MEMBER`])
  })
})

describe('members', () => {
  test('are listed with their roles', async () => {
    const project = await sterna.newProject()
    const { status, body } = await project.owner.call('GET', `/projects/${project.id}/members`)
    expect([status, body]).toEqual([
      200,
      [{ userId: project.owner.id, email: project.owner.email, role: 'OWNER', createdAt: expect.stringMatching(/Z$/) }],
    ])
  })

  test('lose every access the moment they are removed', async () => {
    const project = await sterna.newProject()
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, 'ADMIN')
    const byHeader = () => member.call('GET', '/probe/project', { headers: { 'x-project-id': project.id } })
    expect((await byHeader()).status).toBe(200)

    const answer = await project.owner.call('DELETE', `/projects/${project.id}/members/${member.id}`)
    expect([answer.status, answer.body]).toEqual([204, ''])
    expect(outcome(await byHeader())).toEqual([403, 'PROJECT_ACCESS_DENIED'])
    expect(outcome(await member.call('GET', `/projects/${project.id}/members`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    expect(outcome(await member.call('POST', `/users/@me/projects/${project.id}/regenerate-keys`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    expect(await projectsOf(member)).toEqual([])
    expect((await member.call('GET', '/users/@me')).status).toBe(200)
  })

  test('change what they may do the moment their role changes', async () => {
    const project = await sterna.newProject()
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, 'ADMIN')
    const asAdmin = () => member.call('GET', '/probe/admin', { headers: { 'x-project-id': project.id } })
    expect((await asAdmin()).status).toBe(200)

    const answer = await project.owner.call('PATCH', `/projects/${project.id}/members/${member.id}`, { body: { role: 'MEMBER' } })
    expect([answer.status, answer.body]).toEqual([
      200,
      { userId: member.id, email: member.email, role: 'MEMBER', createdAt: expect.any(String) },
    ])
    expect(outcome(await asAdmin())).toEqual([403, 'FORBIDDEN'])
    expect(await projectsOf(member)).toMatchObject([{ role: 'MEMBER', public: null, secret: null }])
  })

  test.each(['ADMIN', 'MEMBER'] as const)('who are %s may leave', async (role) => {
    const project = await sterna.newProject()
    const member = await sterna.newPerson({ verified: true })
    await join(project, member, role)
    expect((await member.call('DELETE', `/projects/${project.id}/members/${member.id}`)).status).toBe(204)
    expect(await projectsOf(member)).toEqual([])
  })

  test('cannot remove, demote or replace the owner, who cannot leave either', async () => {
    const project = await sterna.newProject()
    const admin = await sterna.newPerson({ verified: true })
    await join(project, admin, 'ADMIN')
    const path = `/projects/${project.id}/members`
    const attempts = [
      [admin, 'DELETE', `${path}/${project.owner.id}`, undefined],
      [admin, 'PATCH', `${path}/${project.owner.id}`, { role: 'MEMBER' }],
      [project.owner, 'DELETE', `${path}/${project.owner.id}`, undefined],
      [project.owner, 'PATCH', `${path}/${project.owner.id}`, { role: 'ADMIN' }],
    ] as const
    for (const [person, method, url, body] of attempts)
      expect(outcome(await person.call(method, url, { body }))).toEqual([403, 'FORBIDDEN'])

    const promotion = await admin.call('PATCH', `${path}/${admin.id}`, { body: { role: 'OWNER' } })
    expect([promotion.status, fields(promotion)]).toEqual([422, ['role']])
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`, `${admin.email} ADMIN`])
  })

  test('who are nobody here are not found, whether they exist elsewhere or not', async () => {
    const [project, other] = [await sterna.newProject(), await sterna.newProject()]
    for (const id of [other.owner.id, randomUUID(), 'x', '00000000-0000-0000-0000-000000000000']) {
      const url = `/projects/${project.id}/members/${id}`
      for (const answer of [await project.owner.call('DELETE', url), await project.owner.call('PATCH', url, { body: { role: 'ADMIN' } })]) {
        expect([...outcome(answer), answer.body.error.details]).toEqual([404, 'RESOURCE_NOT_FOUND', { resource: 'member', id }])
      }
    }
    expect(await membersOf(other)).toEqual([`${other.owner.email} OWNER`])
  })
})

describe('who may do what', () => {
  const ROLES = ['OWNER', 'ADMIN', 'MEMBER', 'STRANGER'] as const
  let cast: Record<(typeof ROLES)[number], Person>
  let target: Person

  beforeAll(async () => {
    const people = await Promise.all(Array.from({ length: 5 }, () => sterna.newPerson({ verified: true })))
    cast = { OWNER: people[0]!, ADMIN: people[1]!, MEMBER: people[2]!, STRANGER: people[3]! }
    target = people[4]!
  })

  type Stage = { project: Project; self: Person; invitationId: string }
  type Deed = (stage: Stage) => [method: string, path: string, body?: unknown]

  test.each<[string, number[], Deed]>([
    ['see the members', [200, 200, 200, 404], ({ project }) => ['GET', `/projects/${project.id}/members`]],
    ['see the setup state', [200, 200, 200, 404], ({ project }) => ['GET', `/projects/${project.id}/setup-state`]],
    ['see the invitations', [200, 200, 403, 404], ({ project }) => ['GET', `/projects/${project.id}/invitations`]],
    ['invite', [201, 201, 403, 404], ({ project }) => ['POST', `/projects/${project.id}/members`, { email: newEmail(), role: 'MEMBER' }]],
    [
      'withdraw an invitation',
      [204, 204, 403, 404],
      ({ project, invitationId }) => ['DELETE', `/projects/${project.id}/invitations/${invitationId}`],
    ],
    ['change a role', [200, 200, 403, 404], ({ project }) => ['PATCH', `/projects/${project.id}/members/${target.id}`, { role: 'ADMIN' }]],
    [
      'promote oneself',
      [403, 200, 403, 404],
      ({ project, self }) => ['PATCH', `/projects/${project.id}/members/${self.id}`, { role: 'ADMIN' }],
    ],
    ['remove a member', [204, 204, 403, 404], ({ project }) => ['DELETE', `/projects/${project.id}/members/${target.id}`]],
    ['leave', [403, 204, 204, 404], ({ project, self }) => ['DELETE', `/projects/${project.id}/members/${self.id}`]],
    ['change settings', [200, 200, 403, 404], ({ project }) => ['PATCH', `/users/@me/projects/${project.id}`, { name: 'New' }]],
    ['regenerate the keys', [200, 200, 403, 404], ({ project }) => ['POST', `/users/@me/projects/${project.id}/regenerate-keys`]],
    ['delete the project', [204, 403, 403, 404], ({ project }) => ['DELETE', `/users/@me/projects/${project.id}`]],
    // The owner's own reset has a test above.
    ['reset the project', [0, 403, 403, 404], ({ project }) => ['POST', `/users/@me/projects/${project.id}/reset`]],
  ])('to %s: owner, admin, member, stranger', async (_, expected, deed) => {
    for (const [index, role] of ROLES.entries()) {
      if (expected[index] === 0) continue
      const project = await sterna.newProject(cast.OWNER)
      await sql`
        insert into memberships (project_id, user_id, role)
        values (${project.id}, ${cast.ADMIN.id}, 'ADMIN'), (${project.id}, ${cast.MEMBER.id}, 'MEMBER'), (${project.id}, ${target.id}, 'MEMBER')
      `.execute(sterna.db)
      await invite(project, newEmail())
      const [{ id: invitationId }] = await invitationsOf(project)
      const before = await rowsOf(project.id)

      const [method, path, body] = deed({ project, self: cast[role], invitationId })
      const answer = await cast[role].call(method, path, { body })

      const code = { 403: 'FORBIDDEN', 404: 'RESOURCE_NOT_FOUND' }[answer.status]
      expect([role, ...outcome(answer)]).toEqual([role, expected[index], code])
      if (answer.status >= 400) expect(await rowsOf(project.id)).toEqual(before)
    }
  })
})

describe('a foreign project', () => {
  let mine: Project
  let theirs: Project
  beforeAll(async () => {
    mine = await sterna.newProject()
    theirs = await sterna.newProject()
  })

  test.each<[string, (id: string) => [method: string, path: string, body?: unknown]]>([
    ['PATCH project', (id) => ['PATCH', `/users/@me/projects/${id}`, { name: 'Mine now' }]],
    ['DELETE project', (id) => ['DELETE', `/users/@me/projects/${id}`]],
    ['POST regenerate-keys', (id) => ['POST', `/users/@me/projects/${id}/regenerate-keys`]],
    ['POST reset', (id) => ['POST', `/users/@me/projects/${id}/reset`]],
    ['GET setup-state', (id) => ['GET', `/projects/${id}/setup-state`]],
    ['GET members', (id) => ['GET', `/projects/${id}/members`]],
    ['POST members', (id) => ['POST', `/projects/${id}/members`, { email: 'a@example.com', role: 'MEMBER' }]],
    ['PATCH member', (id) => ['PATCH', `/projects/${id}/members/${randomUUID()}`, { role: 'ADMIN' }]],
    ['DELETE member', (id) => ['DELETE', `/projects/${id}/members/${randomUUID()}`]],
    ['GET invitations', (id) => ['GET', `/projects/${id}/invitations`]],
    ['DELETE invitation', (id) => ['DELETE', `/projects/${id}/invitations/${randomUUID()}`]],
  ])('answers to %s as if it never was', async (_, request) => {
    const before = await settledDigest()
    const answers = []
    for (const id of [randomUUID(), theirs.id, theirs.id.toUpperCase(), 'not-an-id']) {
      const [method, path, body] = request(id)
      const { status, headers, body: answer } = await mine.owner.call(method, path, { body })
      answers.push({
        status,
        headers: Object.keys(headers),
        ...answer,
        error: { ...answer.error, requestId: '', details: { ...answer.error.details, id: answer.error.details.id === id } },
        timestamp: '',
      })
    }

    expect(answers[0]).toMatchObject({
      status: 404,
      error: { code: 'RESOURCE_NOT_FOUND', message: 'No such project.', details: { resource: 'project', id: true } },
    })
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(await sterna.digest()).toBe(before)
  })
})

describe('a disabled project', () => {
  async function newDisabled() {
    const project = await sterna.newProject()
    await sql`update projects set disabled = true, disabled_reason = 'EMAIL_REPUTATION' where id = ${project.id}`.execute(sterna.db)
    return project
  }

  test('can be read and not written, by key and by session', async () => {
    const project = await newDisabled()
    const byKey = { key: project.sk }
    const bySession = { cookie: project.owner.cookie, headers: { 'x-project-id': project.id } }

    expect((await sterna.call('GET', '/probe/secret', byKey)).status).toBe(200)
    for (const caller of [byKey, bySession]) {
      expect((await sterna.call('GET', '/probe/project', caller)).status).toBe(200)
      expect(outcome(await sterna.call('POST', '/probe/project', { ...caller, body: {} }))).toEqual([403, 'PROJECT_DISABLED'])
    }
    expect(outcome(await sterna.call('POST', '/probe/once', { ...byKey, body: {} }))).toEqual([403, 'PROJECT_DISABLED'])
    expect(outcome(await sterna.call('POST', '/probe/track', { key: project.pk, body: {} }))).toEqual([403, 'PROJECT_DISABLED'])
  })

  test('shows why to its members, and works again when enabled', async () => {
    const project = await newDisabled()
    expect(await projectsOf(project.owner)).toMatchObject([{ disabled: true, disabledReason: 'EMAIL_REPUTATION' }])
    await sql`update projects set disabled = false where id = ${project.id}`.execute(sterna.db)
    expect((await sterna.call('POST', '/probe/project', { key: project.sk, body: {} })).status).toBe(200)
  })

  test('does not disable its neighbour', async () => {
    const person = await sterna.newPerson()
    const [one, two] = [await sterna.newProject(person), await sterna.newProject(person)]
    await sql`update projects set disabled = true where id = ${one.id}`.execute(sterna.db)
    expect((await sterna.call('POST', '/probe/project', { key: two.sk, body: {} })).status).toBe(200)
  })

  test('refuses a wrong key before it says that it is disabled', async () => {
    const project = await newDisabled()
    expect(outcome(await sterna.call('POST', '/probe/project', { key: project.pk, body: {}, headers: from() }))).toEqual([
      401,
      'INVALID_API_KEY',
    ])
  })
})
