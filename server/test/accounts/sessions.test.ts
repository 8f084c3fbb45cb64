import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { fields, statuses } from '../support/answers.ts'
import { cookieOf } from '../support/app.ts'
import { expectToWait, useAccounts } from './account-client.ts'

const { sterna, logIn, reset, me, resetTokenFor } = useAccounts()

describe('sessions', () => {
  test('end at logout, also on the server, and only the current one', async () => {
    const { email, password, cookie } = await sterna.newPerson()
    const phone = cookieOf(await logIn(email, password))
    const answer = await sterna.call('GET', '/auth/logout', { cookie })

    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    expect(String(answer.headers['set-cookie'])).toMatch(/^sterna_session=; .*(Max-Age=0|Expires=Thu, 01 Jan 1970)/)
    expect([(await me(cookie)).status, (await me(phone)).status]).toEqual([401, 200])
  })

  test.each([undefined, 'sterna_session=unknown', 'sterna_session=', 'other=cookie', 'sterna_session=%00%ff'])(
    'are not changed by a logout with the cookie %j',
    async (cookie) => {
      const before = await sterna.digest()
      const answer = await sterna.call('GET', '/auth/logout', { cookie })
      expect([answer.status, answer.body]).toEqual([200, { success: true }])
      expect(await sterna.digest()).toBe(before)
    },
  )

  test('end when they expire', async () => {
    const { cookie, id } = await sterna.newPerson()
    await sql`update sessions set expires_at = now() where user_id = ${id}`.execute(sterna.db)
    const answer = await me(cookie)
    expect([answer.status, answer.body.error.code]).toEqual([401, 'UNAUTHORIZED'])
  })

  test('last 30 days', async () => {
    const { id } = await sterna.newPerson()
    const { days } = await one(
      sterna.db,
      sql<{ days: number }>`select round(extract(epoch from expires_at - now()) / 86400)::int as days from sessions where user_id = ${id}`,
    )
    expect(days).toBe(30)
  })

  test('end with the account', async () => {
    const { cookie, id } = await sterna.newPerson()
    await sql`delete from users where id = ${id}`.execute(sterna.db)
    expect((await me(cookie)).status).toBe(401)
  })

  test('show their own user at /users/@me', async () => {
    const [ada, bob] = [await sterna.newPerson(), await sterna.newPerson()]
    expect((await me(ada.cookie)).body).toMatchObject({ id: ada.id, email: ada.email })
    expect((await me(bob.cookie)).body).toMatchObject({ id: bob.id, email: bob.email })
  })
})

describe('change-password', () => {
  const change = (cookie: string, body: Record<string, unknown>) => sterna.call('POST', '/auth/change-password', { cookie, body })

  test('ends every session and starts a new one', async () => {
    const { email, password, cookie } = await sterna.newPerson()
    const phone = cookieOf(await logIn(email, password))
    const answer = await change(cookie, { currentPassword: password, password: 'battery staple' })

    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    expect([(await me(cookie)).status, (await me(phone)).status, (await me(cookieOf(answer))).status]).toEqual([401, 401, 200])
    expect([(await logIn(email, password)).status, (await logIn(email, 'battery staple')).status]).toEqual([401, 200])
  })

  test('refuses a wrong current password and changes nothing', async () => {
    const { email, password, cookie } = await sterna.newPerson()
    const answer = await change(cookie, { currentPassword: 'wrong password', password: 'battery staple' })

    expect([answer.status, answer.body.error.code]).toEqual([401, 'INVALID_CREDENTIALS'])
    expect((await me(cookie)).status).toBe(200)
    expect((await logIn(email, password)).status).toBe(200)
  })

  test.each([
    [{ currentPassword: 'correct horse', password: 'short' }, ['password']],
    [{ currentPassword: 'correct horse', password: 'x'.repeat(257) }, ['password']],
    [{ password: 'battery staple' }, ['currentPassword']],
    [{ currentPassword: 'correct horse', password: ['battery staple'] }, ['password']],
  ])('refuses %j and names the field', async (body, expected) => {
    const { cookie } = await sterna.newPerson()
    const answer = await change(cookie, body)
    expect([answer.status, fields(answer)]).toEqual([422, expected])
  })

  test('limits the guesses of the password with a stolen session', async () => {
    const { cookie, password } = await sterna.newPerson()
    const guesses = await Promise.all(
      Array.from({ length: 12 }, () => change(cookie, { currentPassword: 'wrong password', password: 'battery staple' })),
    )
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429, 429])
    expectToWait(await change(cookie, { currentPassword: password, password: 'battery staple' }), 3600)
  })

  test('changes only the password of the caller', async () => {
    const [ada, bob] = [await sterna.newPerson(), await sterna.newPerson()]
    await change(ada.cookie, { currentPassword: ada.password, password: 'battery staple', userId: bob.id, id: bob.id, email: bob.email })
    expect((await logIn(bob.email, bob.password)).status).toBe(200)
    expect((await me(bob.cookie)).status).toBe(200)
  })

  test('invalidates earlier reset links', async () => {
    const { email, password, cookie } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    await change(cookie, { currentPassword: password, password: 'battery staple' })
    expect((await reset(token, 'thief was here')).status).toBe(400)
    expect((await logIn(email, 'battery staple')).status).toBe(200)
  })
})
