import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createUser } from '../../src/auth/accounts.ts'
import { many, transact } from '../../src/db/index.ts'
import { cookieOf, useApp } from '../support/app.ts'
import { CHEAP_PARTS } from '../support/cheap-parts.ts'

const sterna = useApp({ env: { DISABLE_SIGNUPS: 'true' } })

const PASSWORD = 'correct horse'
let people = 0
const newEmail = () => `closed${++people}@example.com`

const signUp = (body: Record<string, unknown>) => sterna.call('POST', '/auth/signup', { body: { password: PASSWORD, ...body } })
const logIn = (email: string) => sterna.call('POST', '/auth/login', { body: { email, password: PASSWORD } })
const users = () => many(sterna.db, sql<{ email: string }>`select email from users order by email`)

/** A user from before sign-ups were closed. */
async function newExistingUser() {
  const email = newEmail()
  const passwordHash = await CHEAP_PARTS.passwords.hashPassword(PASSWORD)
  await transact(sterna.db, (tx) => createUser(tx, { email, passwordHash, verified: true }))
  const cookie = cookieOf(await logIn(email))
  const { body: project } = await sterna.call('POST', '/users/@me/projects', { cookie, body: { name: 'Closed' } })
  return { email, cookie, projectId: project.id as string }
}

/** The invitation link of an email. */
async function invite(email: string, host?: Awaited<ReturnType<typeof newExistingUser>>) {
  const { cookie, projectId } = host ?? (await newExistingUser())
  await sterna.call('POST', `/projects/${projectId}/members`, { cookie, body: { email, role: 'MEMBER' } })
  return { projectId, cookie, token: await sterna.tokenFor(email) }
}

describe('with sign-ups closed', () => {
  test('a sign-up without an invitation is refused and reveals nothing', async () => {
    const { email: taken } = await newExistingUser()
    const before = await users()
    const [stranger, known] = [await signUp({ email: newEmail() }), await signUp({ email: taken })]

    expect([stranger.status, stranger.body.error.code]).toEqual([403, 'FORBIDDEN'])
    expect(stranger.headers['set-cookie']).toBeUndefined()
    expect({ ...known.body.error, requestId: '' }).toEqual({ ...stranger.body.error, requestId: '' })
    expect(await users()).toEqual(before)
  })

  test('existing users can sign in', async () => {
    const { email } = await newExistingUser()
    expect((await logIn(email)).status).toBe(200)
  })

  test('an invitation admits its addressee as a member with a verified address', async () => {
    const email = newEmail()
    const { token, projectId } = await invite(email)
    const answer = await signUp({ email: email.toUpperCase(), invitation: token })

    expect([answer.status, answer.body.email]).toEqual([200, email])
    const cookie = cookieOf(answer)
    expect((await sterna.call('GET', '/users/@me', { cookie })).body.emailVerified).toBe(true)
    const { body: projects } = await sterna.call('GET', '/users/@me/projects', { cookie })
    expect(projects.map(({ id, role }: { id: string; role: string }) => [id, role])).toEqual([[projectId, 'MEMBER']])
  })

  test('an invitation admits one user, once', async () => {
    const email = newEmail()
    const { token } = await invite(email)
    const answers = await Promise.all(Array.from({ length: 10 }, () => signUp({ email, invitation: token })))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => ![200, 400, 403, 409].includes(status))).toEqual([])
    expect((await signUp({ email: newEmail(), invitation: token })).status).toBe(403)
  })

  test.each<[string, (link: { token: string; email: string; projectId: string; cookie: string }) => Promise<Record<string, unknown>>]>([
    ['someone else with it', async ({ token }) => ({ email: newEmail(), invitation: token })],
    ['a made-up token', async ({ email }) => ({ email, invitation: 'x'.repeat(43) })],
    ['a token cut short', async ({ email, token }) => ({ email, invitation: token.slice(0, -1) })],
    ['none at all', async ({ email }) => ({ email })],
    [
      'one that has expired',
      async ({ email, token }) => {
        await sql`update invitations set expires_at = now() where email = ${email}`.execute(sterna.db)
        return { email, invitation: token }
      },
    ],
    [
      'one that was replaced',
      async ({ email, token, projectId, cookie }) => {
        await sterna.call('POST', `/projects/${projectId}/members`, { cookie, body: { email, role: 'MEMBER' } })
        return { email, invitation: token }
      },
    ],
    [
      'one that was withdrawn',
      async ({ email, token, projectId, cookie }) => {
        const { body } = await sterna.call('GET', `/projects/${projectId}/invitations`, { cookie })
        await sterna.call('DELETE', `/projects/${projectId}/invitations/${body[0].id}`, { cookie })
        return { email, invitation: token }
      },
    ],
  ])('an invitation does not admit %s', async (_, attempt) => {
    const email = newEmail()
    const body = await attempt({ email, ...(await invite(email)) })
    const before = await users()
    const answer = await signUp(body)

    expect([answer.status, answer.body.error.code]).toEqual([403, 'FORBIDDEN'])
    expect(await users()).toEqual(before)
  })

  test('an invitation to a deleted project creates no account', async () => {
    const email = newEmail()
    const { token, projectId, cookie } = await invite(email)
    await sterna.call('DELETE', `/users/@me/projects/${projectId}`, { cookie })
    const before = await users()
    expect([400, 403]).toContain((await signUp({ email, invitation: token })).status)
    expect(await users()).toEqual(before)
  })

  test.each(['invitation', 'password'])('an invalid %s is a 422 before the check of the invitation', async (field) => {
    const answer = await signUp({ email: newEmail(), [field]: 7 })
    expect([answer.status, answer.body.error.errors[0].field]).toEqual([422, field])
  })

  test('the public configuration says that sign-ups are closed', async () => {
    const { body } = await sterna.call('GET', '/config')
    expect(body.features.signup).toEqual({ signupsDisabled: true, hasAccounts: true, needsClaimCode: false })
  })
})
