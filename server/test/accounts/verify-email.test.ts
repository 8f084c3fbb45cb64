import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { statuses } from '../support/answers.ts'
import { useAccounts } from './account-client.ts'

const { sterna, verify, me, resetTokenFor } = useAccounts()

describe('the verification of an email address', () => {
  test('accepts the token of the email once', async () => {
    const { email, cookie } = await sterna.newPerson()
    const token = await sterna.tokenFor(email)
    const answer = await verify(token)

    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect((await me(cookie)).body.emailVerified).toBe(true)
    const again = await verify(token)
    expect([again.status, again.body.error.code]).toEqual([400, 'INVALID_TOKEN'])
  })

  test('accepts a token once of 20 concurrent requests', async () => {
    const { email } = await sterna.newPerson()
    const token = await sterna.tokenFor(email)
    const answers = await Promise.all(Array.from({ length: 20 }, () => verify(token)))
    expect(statuses(answers)).toEqual([200, ...Array(19).fill(400)])
  })

  test('accepts only the newest token', async () => {
    const { email, cookie } = await sterna.newPerson()
    const older = await sterna.tokenFor(email)
    const answer = await sterna.call('POST', '/auth/request-verification', { cookie })
    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    const newer = await sterna.tokenFor(email)

    expect((await verify(older)).status).toBe(400)
    expect((await me(cookie)).body.emailVerified).toBe(false)
    expect((await verify(newer)).status).toBe(200)
  })

  test('accepts a token for one hour', async () => {
    const { email, id, cookie } = await sterna.newPerson()
    const token = await sterna.tokenFor(email)
    await sql`update user_tokens set expires_at = expires_at - interval '1 hour' where user_id = ${id}`.execute(sterna.db)
    expect((await verify(token)).status).toBe(400)
    expect((await me(cookie)).body.emailVerified).toBe(false)
  })

  test('accepts no token of another purpose', async () => {
    const { email, cookie } = await sterna.newPerson()
    expect((await verify(await resetTokenFor(email))).status).toBe(400)
    expect((await me(cookie)).body.emailVerified).toBe(false)
  })

  test('is sent again at most five times an hour, only to the signed-in user', async () => {
    const { email, cookie } = await sterna.newPerson()
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => sterna.call('POST', '/auth/request-verification', { cookie, body: { email: 'victim@example.com' } })),
    )
    expect(statuses(answers)).toEqual([...Array(5).fill(200), 429])
    expect(await sterna.accountEmailsTo(email)).toHaveLength(6)
  })

  test('is not sent again once the address is verified', async () => {
    const { email, cookie } = await sterna.newPerson({ verified: true })
    expect((await sterna.call('POST', '/auth/request-verification', { cookie })).status).toBe(200)
    expect(await sterna.accountEmailsTo(email)).toHaveLength(1)
  })

  test('needs a session to be sent again', async () => {
    const answer = await sterna.call('POST', '/auth/request-verification')
    expect([answer.status, answer.body.error.code]).toEqual([401, 'UNAUTHORIZED'])
  })
})

describe('an address is confirmed without its link', () => {
  const confirm = (cookie: string) => sterna.call('POST', '/auth/confirm-address', { cookie })

  test('by an operator in the sandbox only', async () => {
    const { email, cookie } = await sterna.newPerson()
    await sql`update users set operator = false where email = ${email}`.execute(sterna.db)
    expect((await confirm(cookie)).body.error.code).toBe('FORBIDDEN')
    expect((await me(cookie)).body.emailVerified).toBe(false)
    await sql`update users set operator = true where email = ${email}`.execute(sterna.db)
    expect([(await confirm(cookie)).status, (await confirm(cookie)).status]).toEqual([200, 200])
    expect((await me(cookie)).body.emailVerified).toBe(true)
  })
})
