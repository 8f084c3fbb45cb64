import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { resetPassword } from '../../src/auth/accounts.ts'
import { one, transact } from '../../src/db/index.ts'
import { fields, statuses } from '../support/answers.ts'
import { type Answer, cookieOf } from '../support/app.ts'
import { CHEAP_PARTS } from '../support/cheap-parts.ts'
import { expectToWait, median, timed, useAccounts } from './account-client.ts'

const { sterna, from, newEmail, signUp, logIn, requestReset, reset, verify, me, resetTokenFor, accountEmailDeps } = useAccounts()

describe('password reset', () => {
  test('sets a new password, verifies the address and ends every session', async () => {
    const { email, password, cookie } = await sterna.newPerson()
    const phone = cookieOf(await logIn(email, password))
    await requestReset(email)
    const answer = await reset(await sterna.tokenFor(email), 'battery staple')

    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect([(await me(cookie)).status, (await me(phone)).status]).toEqual([401, 401])
    expect((await logIn(email, password)).status).toBe(401)
    const again = await logIn(email, 'battery staple')
    expect((await me(cookieOf(again))).body.emailVerified).toBe(true)
  })

  // Retried: on a busy machine either of the two may be interrupted.
  test('gives the same answer in the same time with and without an account', { retry: 2 }, async () => {
    const { email } = await sterna.newPerson()
    const known: number[] = []
    const unknown: number[] = []
    const time = async (times: number[], address: string) => {
      times.push(await timed(async () => expect(pick(await requestReset(address))).toEqual([200, { success: true }])))
    }
    // Concurrent, so that a slow moment of the machine affects both.
    for (let round = 0; round < 5; round++) await Promise.all([time(known, email), time(unknown, newEmail())])
    expect(Math.min(...known, ...unknown)).toBeGreaterThan(145)
    expect(Math.abs(median(known) - median(unknown))).toBeLessThan(50)
  })

  const pick = ({ status, body }: Answer) => [status, body]

  test('gives the same answer to the sixth request for an address, but sends no email', async () => {
    const { email } = await sterna.newPerson()
    const answers = await Promise.all(Array.from({ length: 7 }, () => requestReset(email)))

    expect(new Set(answers.map((answer) => JSON.stringify(pick(answer)))).size).toBe(1)
    const resets = (await sterna.accountEmailsTo(email)).filter(({ subject }) => subject === 'Choose a new password')
    expect(resets).toHaveLength(5)
  })

  test('is limited per IP', async () => {
    const headers = from()
    const answers = await Promise.all(Array.from({ length: 51 }, () => requestReset(newEmail(), headers)))
    expect(statuses(answers)).toEqual([...Array(50).fill(200), 429])
    expectToWait(answers.find(({ status }) => status === 429)!, 3600)
  })

  test('sends the email to the stored spelling, never to the given one', async () => {
    const { email } = await sterna.newPerson()
    await requestReset(` ${email.toUpperCase()} `)
    expect((await sterna.accountEmailsTo(email)).map(({ subject }) => subject)).toEqual([
      'Choose a new password',
      'Confirm your email address',
    ])
    expect(await sterna.accountEmailsTo(email.toUpperCase())).toEqual([])
  })

  test('sends no email for a similar address', async () => {
    await signUp({ email: 'victim@example.com', password: 'correct horse' })
    const before = await sterna.digest({ except: ['attempts'] })
    const similar = [
      'vıctim@example.com',
      'victim+evil@example.com',
      'v.i.c.t.i.m@example.com',
      'victim@example.com.evil.example',
      'victim%@example.com',
      'victi_@example.com',
    ]
    const answers = await Promise.all(similar.map((email) => requestReset(email)))
    expect(new Set(statuses(answers))).toEqual(new Set([200]))
    expect(await sterna.digest({ except: ['attempts'] })).toBe(before)
  })

  test.each([
    [['a@example.com', 'b@example.com']],
    [{ a: 'a@example.com' }],
    ['a@example.com,b@example.com'],
    ['a@example.com\nb@example.com'],
  ])('refuses %j', async (email) => {
    const answer = await requestReset(email)
    expect([answer.status, fields(answer)]).toEqual([422, ['email']])
  })

  test('links to PUBLIC_URL, whatever host the request names', async () => {
    const { email, cookie } = await sterna.newPerson()
    const evil = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-original-url': 'http://evil.example/',
      forwarded: 'host=evil.example',
      ...from(),
    }
    await requestReset(email, evil)
    await sterna.call('POST', '/auth/request-verification', { cookie, headers: evil })

    const emails = await sterna.accountEmailsTo(email)
    expect(emails).toHaveLength(3)
    for (const { text } of emails) {
      expect(text).not.toContain('evil')
      expect(text.match(/https?:\/\/[^/]+/g)).toEqual(['http://localhost:3000'])
    }
  })

  test('accepts a token once', async () => {
    const { email } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    expect((await reset(token, 'battery staple')).status).toBe(200)
    const again = await reset(token, 'thief was here')
    expect([again.status, again.body.error.code]).toEqual([400, 'INVALID_TOKEN'])
    expect((await logIn(email, 'battery staple')).status).toBe(200)
  })

  test('accepts a token once of 20 concurrent requests', async () => {
    const { email } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => reset(token, `new password ${n}`)))

    expect(statuses(answers)).toEqual([200, ...Array(19).fill(400)])
    const winner = answers.findIndex(({ status }) => status === 200)
    expect((await logIn(email, `new password ${winner}`)).status).toBe(200)
    expect((await logIn(email, `new password ${(winner + 1) % 20}`)).status).toBe(401)
  })

  test('accepts only the newest token', async () => {
    const { email } = await sterna.newPerson()
    const [older, newer] = [await resetTokenFor(email), await resetTokenFor(email)]
    expect(older).not.toBe(newer)
    expect((await reset(older, 'battery staple')).status).toBe(400)
    expect((await reset(newer, 'battery staple')).status).toBe(200)
  })

  test('accepts a token for one hour', async () => {
    const { email, id, password } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    const { minutes } = await one(
      sterna.db,
      sql<{ minutes: number }>`
        select round(extract(epoch from expires_at - now()) / 60)::int as minutes from user_tokens where user_id = ${id} and purpose = 'reset-password'
      `,
    )
    expect(minutes).toBe(60)

    await sql`update user_tokens set expires_at = expires_at - interval '1 hour' where user_id = ${id}`.execute(sterna.db)
    expect((await reset(token, 'battery staple')).status).toBe(400)
    expect((await logIn(email, password)).status).toBe(200)
  })

  test('accepts no token of another purpose or user', async () => {
    const [ada, bob] = [await sterna.newPerson(), await sterna.newPerson()]
    const verification = await sterna.tokenFor(ada.email)
    expect((await reset(verification, 'battery staple')).status).toBe(400)

    expect((await reset(await resetTokenFor(bob.email), 'battery staple')).status).toBe(200)
    expect((await logIn(ada.email, ada.password)).status).toBe(200)
  })

  test.each(['', 'x', 'x'.repeat(43), 'x'.repeat(200)])('refuses the token %j and ends no session', async (token) => {
    const { cookie } = await sterna.newPerson()
    const answer = await reset(token, 'battery staple')
    expect([answer.status, answer.body.error.code]).toEqual(token === '' ? [422, 'VALIDATION_ERROR'] : [400, 'INVALID_TOKEN'])
    expect((await me(cookie)).status).toBe(200)
  })

  test.each(['short', 'x'.repeat(257)])('keeps the token valid if the new password is invalid', async (password) => {
    const { email } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    const refused = await reset(token, password)
    expect([refused.status, fields(refused)]).toEqual([422, ['password']])
    expect((await reset(token, 'battery staple')).status).toBe(200)
  })

  test('limits the token attempts of one IP, over both kinds of token', async () => {
    const { email } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    const headers = from()
    const tries = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (n % 20 ? verify(`guess${n}`, headers) : reset(`guess${n}`, 'battery staple', headers))),
    )
    expect(new Set(statuses(tries))).toEqual(new Set([400]))
    expectToWait(await reset(token, 'battery staple', headers), 3600)
    expectToWait(await verify('guess', headers), 3600)
    expect((await reset(token, 'battery staple')).status).toBe(200)
  })

  test('ends the session of a concurrent login with the old password', async () => {
    const { email, password } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    const headers = from()
    await logIn(email, 'wrong password', headers)
    const lock = await holdRows(sql`select 1 from attempts where scope = 'login-pair' for update`)

    const login = logIn(email, password, headers)
    await expect.poll(waiting, { interval: 5 }).toBe(1)
    expect((await reset(token, 'battery staple')).status).toBe(200)
    await lock.release()

    const answer = await login
    expect(answer.status === 401 || (await me(cookieOf(answer))).status === 401).toBe(true)
  })

  test('is not undone by a concurrent change of the old password', async () => {
    const { email, id, password, cookie } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    const passwordHash = await CHEAP_PARTS.passwords.hashPassword('battery staple')

    const change = await transact(sterna.db, async (tx) => {
      await sql`select 1 from users where id = ${id} for update`.execute(tx)
      const change = sterna.call('POST', '/auth/change-password', {
        cookie,
        body: { currentPassword: password, password: 'thief was here' },
      })
      await expect.poll(waiting, { interval: 5 }).toBe(1)
      await resetPassword(tx, accountEmailDeps(), { token, passwordHash })
      return { answer: change }
    })

    expect((await change.answer).status).toBe(401)
    expect((await logIn(email, 'battery staple')).status).toBe(200)
  })
})

/** The number of statements in this database that wait for a lock. */
async function waiting() {
  const { count } = await one(
    sterna.db,
    sql<{
      count: number
    }>`select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return count
}

/** Locks rows until released, like another request inside its transaction. */
async function holdRows(query: ReturnType<typeof sql>) {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let held: Promise<unknown> = Promise.resolve()
  await new Promise<void>((locked, failed) => {
    held = sterna.db.transaction().execute(async (tx) => {
      await query.execute(tx).then(() => locked(), failed)
      await released
    })
  })
  return {
    async release() {
      release()
      await held
    },
  }
}
