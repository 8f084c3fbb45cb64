import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { fields, outcome, statuses } from '../support/answers.ts'
import { cookieOf } from '../support/app.ts'
import { type Project, useTeams } from './team-client.ts'

const { sterna, newEmail, projectsOf, invite, membersOf, invitationsOf, accept, settledDigest } = useTeams()

describe('POST /projects/:id/members', () => {
  test('adds a user with a verified address immediately and notifies them', async () => {
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
    const [email] = await sterna.accountEmailsTo(guest.email)
    expect(email!.subject).toBe('You now have access to Test')
    expect(email!.text).toContain(`Leave the project: http://localhost:3000/app/p/${project.id}/team`)
  })

  test('adds a user who can leave again', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson({ verified: true })
    await invite(project, guest.email)
    expect((await guest.call('DELETE', `/projects/${project.id}/members/${guest.id}`)).status).toBe(204)
    expect(await projectsOf(guest)).toEqual([])
  })

  test('sends a link to an unknown address and adds no member', async () => {
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
    const [accountEmail] = await sterna.accountEmailsTo(email)
    expect(accountEmail).toMatchObject({
      subject: 'You are invited to Test',
      text: expect.stringContaining('http://localhost:3000/accept-invitation?token='),
    })
  })

  test('gives an unverified account no access until its address is verified: it may belong to a squatter', async () => {
    const project = await sterna.newProject()
    const squatter = await sterna.newPerson({ email: newEmail() })
    const answer = await invite(project, squatter.email, 'ADMIN')

    expect(answer.body).toMatchObject({ userId: null, status: 'INVITED' })
    expect(await projectsOf(squatter)).toEqual([])
    expect(outcome(await squatter.call('GET', `/projects/${project.id}/members`))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    // Without the mailbox a squatter can sign in again, request emails and change the password.
    await squatter.call('POST', '/auth/request-verification')
    const changed = await squatter.call('POST', '/auth/change-password', {
      body: { currentPassword: squatter.password, password: 'battery staple' },
    })
    const again = {
      call: (method: string, url: string, options = {}) => sterna.call(method, url, { ...options, cookie: cookieOf(changed) }),
    }
    expect(await projectsOf(again)).toEqual([])
    expect(outcome(await accept(again, 'x'.repeat(43)))).toEqual([400, 'INVALID_TOKEN'])

    // The owner of the mailbox takes over the account with its invitation, and the squatter is signed out.
    await sterna.call('POST', '/auth/request-password-reset', { body: { email: squatter.email } })
    const token = await sterna.tokenFor(squatter.email)
    await sterna.call('POST', '/auth/reset-password', { body: { token, password: 'mailboxOwner owner' } })
    expect((await again.call('GET', '/users/@me')).status).toBe(401)
    const mailboxOwner = await sterna.call('POST', '/auth/login', { body: { email: squatter.email, password: 'mailboxOwner owner' } })
    const { body } = await sterna.call('GET', '/users/@me/projects', { cookie: cookieOf(mailboxOwner) })
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
  ])('refuses %j and sends no email', async (body, expected) => {
    const project = await sterna.newProject()
    const before = await settledDigest()
    const answer = await project.owner.call('POST', `/projects/${project.id}/members`, { body })
    expect([answer.status, fields(answer)]).toEqual([422, expected])
    expect(await sterna.digest()).toBe(before)
  })

  test('uses only the address and the role', async () => {
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

  test('is a 409 for a member, also 10 times at once', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson({ verified: true })
    const answers = await Promise.all(Array.from({ length: 10 }, () => invite(project, guest.email)))

    expect(statuses(answers)).toEqual([201, ...Array(9).fill(409)])
    expect(outcome(await invite(project, project.owner.email, 'ADMIN'))).toEqual([409, 'CONFLICT'])
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`, `${guest.email} MEMBER`])
  })

  test('replaces the link and the role of an earlier invitation; 10 at once leave one valid link', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email, 'ADMIN')
    const older = await sterna.tokenFor(guest.email)
    const answers = await Promise.all(Array.from({ length: 10 }, () => invite(project, guest.email, 'MEMBER')))
    expect(new Set(statuses(answers))).toEqual(new Set([201]))
    expect((await invitationsOf(project)).map(({ role }: { role: string }) => role)).toEqual(['MEMBER'])

    expect(outcome(await accept(guest, older))).toEqual([400, 'INVALID_TOKEN'])
    const links = (await sterna.accountEmailsTo(guest.email))
      .map(({ text }) => /accept-invitation\?token=([\w-]+)/.exec(text)?.[1])
      .filter(Boolean)
    expect(links).toHaveLength(11)
    const accepted = []
    for (const token of links) accepted.push((await accept(guest, token!)).status)
    expect(accepted.sort()).toEqual([200, ...Array(10).fill(400)])
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`, `${guest.email} MEMBER`])
  })
})

describe('an invitation', () => {
  test('is accepted by a sign-up with its token, which verifies the address', async () => {
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
    expect((await sterna.accountEmailsTo(email)).map(({ subject }) => subject)).toEqual(['You are invited to Test'])
  })

  test('creates no account if its token is wrong', async () => {
    const project = await sterna.newProject()
    const email = newEmail()
    await invite(project, email)
    const before = await settledDigest({ except: ['attempts'] })
    const answer = await sterna.call('POST', '/auth/signup', { body: { email, password: 'correct horse', invitation: 'x'.repeat(43) } })
    expect(outcome(answer)).toEqual([400, 'INVALID_TOKEN'])
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(await sterna.digest({ except: ['attempts'] })).toBe(before)
  })

  test('is not accepted by a sign-up without its token', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson({ email: await invited(project) })
    expect(await projectsOf(guest)).toEqual([])
  })

  async function invited(project: Project) {
    const email = newEmail()
    await invite(project, email)
    return email
  }

  test('is accepted by a signed-in user with that address', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email)
    const answer = await accept(guest, await sterna.tokenFor(guest.email))

    expect([answer.status, answer.body]).toEqual([200, { success: true, projectId: project.id }])
    expect((await guest.call('GET', '/users/@me')).body.emailVerified).toBe(true)
    expect((await projectsOf(guest)).map(({ id }) => id)).toEqual([project.id])
  })

  test('is accepted, with all others to that address, when the address is verified', async () => {
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

  test('is accepted once by 10 concurrent requests', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email)
    const token = await sterna.tokenFor(guest.email)
    const answers = await Promise.all(Array.from({ length: 10 }, () => accept(guest, token)))
    expect(statuses(answers)).toEqual([200, ...Array(9).fill(400)])

    await project.owner.call('DELETE', `/projects/${project.id}/members/${guest.id}`)
    expect(outcome(await accept(guest, token))).toEqual([400, 'INVALID_TOKEN'])
  })

  test('is invalid for another address, signed in or signing up', async () => {
    const project = await sterna.newProject()
    const token = await invited(project).then((email) => sterna.tokenFor(email))
    const thief = await sterna.newPerson({ verified: true })

    expect(outcome(await accept(thief, token))).toEqual([400, 'INVALID_TOKEN'])
    const signUp = await sterna.call('POST', '/auth/signup', { body: { email: newEmail(), password: 'correct horse', invitation: token } })
    expect(outcome(signUp)).toEqual([400, 'INVALID_TOKEN'])
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`])
    expect(await invitationsOf(project)).toHaveLength(1)
  })

  test('has a token that is valid for nothing else, and accepts no other token', async () => {
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

  test('expires after seven days, for its link and for the address', async () => {
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

  test('does not change the role of an existing member', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    await invite(project, guest.email, 'ADMIN')
    const token = await sterna.tokenFor(guest.email)
    await sql`insert into memberships (project_id, user_id, role) values (${project.id}, ${guest.id}, 'MEMBER')`.execute(sterna.db)
    await accept(guest, token)
    expect(await membersOf(project)).toEqual([`${project.owner.email} OWNER`, `${guest.email} MEMBER`])
  })
})

describe('POST /auth/invitation', () => {
  const show = (token: string) => sterna.call('POST', '/auth/invitation', { body: { token } })

  test('tells the holder of a link who invites, and to which project, and changes nothing', async () => {
    const project = await sterna.newProject()
    const email = newEmail()
    await invite(project, email, 'ADMIN')
    const mailed = await sterna.tokenFor(email)
    const [{ id, expiresAt }] = await invitationsOf(project)
    const { url } = (await project.owner.call('POST', `/projects/${project.id}/invitations/${id}/link`)).body
    for (const token of [mailed, new URL(url).searchParams.get('token')!]) {
      const { status, body } = await show(token)
      expect([status, body]).toEqual([
        200,
        { email, role: 'ADMIN', project: { name: 'Test' }, invitedBy: { email: project.owner.email }, expiresAt },
      ])
    }
    expect(await invitationsOf(project)).toHaveLength(1)
  })

  test('names the last inviter, and none whose account is gone', async () => {
    const project = await sterna.newProject()
    const admin = await sterna.newPerson({ verified: true })
    await invite(project, admin.email, 'ADMIN')
    const email = newEmail()
    await invite(project, email)
    await invite(project, email, 'MEMBER', admin)
    const token = await sterna.tokenFor(email)
    expect((await show(token)).body.invitedBy).toEqual({ email: admin.email })
    await sql`delete from users where id = ${admin.id}`.execute(sterna.db)
    expect((await show(token)).body.invitedBy).toBeNull()
  })

  test('tells nothing without the token of an invitation that is open', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson()
    const verification = await sterna.tokenFor(guest.email)
    await invite(project, guest.email)
    const token = await sterna.tokenFor(guest.email)
    for (const wrong of ['x', verification, guest.email, `${token}x`]) expect(outcome(await show(wrong))).toEqual([400, 'INVALID_TOKEN'])
    await sql`update invitations set expires_at = expires_at - interval '7 days' where email = ${guest.email}`.execute(sterna.db)
    expect(outcome(await show(token))).toEqual([400, 'INVALID_TOKEN'])
    await sql`update invitations set expires_at = expires_at + interval '7 days' where email = ${guest.email}`.execute(sterna.db)
    expect((await show(token)).status).toBe(200)
    await accept(guest, token)
    expect(outcome(await show(token))).toEqual([400, 'INVALID_TOKEN'])
  })

  test('counts wrong tokens of a network, and not right ones', async () => {
    const project = await sterna.newProject()
    const email = newEmail()
    await invite(project, email)
    const token = await sterna.tokenFor(email)
    for (let n = 0; n < 100; n++) await show('wrong')
    expect(outcome(await show('wrong'))).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
    await sql`delete from attempts`.execute(sterna.db)
    for (let n = 0; n < 101; n++) expect((await show(token)).status).toBe(200)
  })
})

describe('POST /projects/:id/invitations/:invitationId/link', () => {
  const copy = async (project: Project, email: string) => {
    await invite(project, email)
    const [{ id }] = await invitationsOf(project)
    const path = `/projects/${project.id}/invitations/${id}/link`
    const { body } = await project.owner.call('POST', path)
    return { path, token: new URL(body.url).searchParams.get('token')!, url: body.url as string }
  }

  test('creates a link that joins the invited address without verifying it', async () => {
    const project = await sterna.newProject()
    const email = newEmail()
    const { url, token } = await copy(project, email)
    expect(url).toBe(`http://localhost:3000/accept-invitation?token=${token}&email=${encodeURIComponent(email)}`)
    const other = await sterna.newPerson({ email: newEmail() })
    expect(outcome(await accept(other, token))).toEqual([400, 'INVALID_TOKEN'])

    const signedUp = await sterna.call('POST', '/auth/signup', { body: { email, password: 'four unrelated words', invitation: token } })
    const cookie = cookieOf(signedUp)
    expect(await membersOf(project)).toContain(`${email} MEMBER`)
    // Only a link that reached the mailbox proves the address: others would join projects that invited it by email.
    expect((await sterna.call('GET', '/users/@me', { cookie })).body.emailVerified).toBe(false)
    expect((await sterna.accountEmailsTo(email)).map(({ subject }) => subject)).toContain('Confirm your email address')
  })

  test('replaces the link copied before, keeps the one in the email, and needs an admin of the project', async () => {
    const project = await sterna.newProject()
    const guest = await sterna.newPerson({ email: newEmail() })
    const { path, token } = await copy(project, guest.email)
    const stranger = await sterna.newPerson({ verified: true })
    expect(outcome(await stranger.call('POST', path))).toEqual([404, 'RESOURCE_NOT_FOUND'])
    expect((await project.owner.call('POST', path.replace(/[0-9a-f-]+\/link$/, `${randomUUID()}/link`))).status).toBe(404)
    await project.owner.call('POST', path)
    expect(outcome(await accept(guest, token))).toEqual([400, 'INVALID_TOKEN'])
    expect((await accept(guest, await sterna.tokenFor(guest.email))).status).toBe(200)
    expect(await membersOf(project)).toContain(`${guest.email} MEMBER`)
  })
})
