import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createPasswords } from '../../src/auth/passwords.ts'
import { many, one } from '../../src/db/index.ts'
import { fields, statuses } from '../support/answers.ts'
import { cookieOf, useApp } from '../support/app.ts'
import { essence, expectToWait, median, timed, useAccounts } from './account-client.ts'

const { sterna, newIp, from, newEmail, signUp, logIn, me, addAttempts } = useAccounts({
  // At the cost of the product: one test compares response times.
  passwords: createPasswords(),
})

describe('login', () => {
  test('answers the same to a wrong address and a wrong password', async () => {
    const { email } = await sterna.newPerson()
    const [wrongPassword, unknownAddress] = [await logIn(email, 'wrong password'), await logIn(newEmail(), 'wrong password')]

    expect([wrongPassword.status, wrongPassword.body.error.code]).toEqual([401, 'INVALID_CREDENTIALS'])
    expect(essence(unknownAddress)).toEqual(essence(wrongPassword))
    expect(Object.keys(unknownAddress.headers)).toEqual(Object.keys(wrongPassword.headers))
    expect(wrongPassword.headers['set-cookie']).toBeUndefined()
  })

  // Retried: on a busy machine either of the two may be interrupted.
  test('takes as long for an unknown address as for a wrong password', { retry: 2 }, async () => {
    const { email } = await sterna.newPerson()
    const known: number[] = []
    const unknown: number[] = []
    for (let round = 0; round < 5; round++) {
      known.push(await timed(() => logIn(email, 'wrong password')))
      unknown.push(await timed(() => logIn(newEmail(), 'wrong password')))
    }
    // Without a password hash it would take a tenth of the time.
    expect(median(unknown)).toBeGreaterThan(median(known) / 2)
    expect(median(unknown)).toBeLessThan(median(known) * 3)
  })

  test('refuses the 11th guess at an account from one IP, even the right one, and not other IPs and accounts', async () => {
    const { email, password } = await sterna.newPerson()
    const other = await sterna.newPerson()
    const headers = from()
    const guesses = await Promise.all(Array.from({ length: 30 }, (_, n) => logIn(email, `guess ${n}`, headers)))

    expect(statuses(guesses)).toEqual([...Array(10).fill(401), ...Array(20).fill(429)])
    expectToWait(await logIn(email, password, headers), 900)
    expect((await logIn(email, password)).status).toBe(200)
    expect((await logIn(other.email, other.password, headers)).status).toBe(200)
  })

  test('has the same limits for an unknown address', async () => {
    const email = newEmail()
    const headers = from()
    const guesses = await Promise.all(Array.from({ length: 11 }, (_, n) => logIn(email, `guess ${n}`, headers)))
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429])
  })

  test('counts all spellings of an address together', async () => {
    const { email } = await sterna.newPerson()
    const headers = from()
    const guesses = await Promise.all(
      Array.from({ length: 11 }, (_, n) => logIn(n % 2 ? email.toUpperCase() : ` ${email} `, `guess ${n}`, headers)),
    )
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429])
  })

  test('accepts attempts again after the window', async () => {
    const { email, password } = await sterna.newPerson()
    const ip = newIp()
    await logIn(email, 'wrong password', from(ip))
    await addAttempts('login-pair', `${ip} ${email}`, 9)
    expect((await logIn(email, password, from(ip))).status).toBe(429)

    await sql`update attempts set window_ends_at = now() - interval '1 second'`.execute(sterna.db)
    expect((await logIn(email, password, from(ip))).status).toBe(200)
  })

  test('does not count successful logins', async () => {
    const { email, password } = await sterna.newPerson()
    const headers = from()
    for (let n = 0; n < 12; n++) expect((await logIn(email, password, headers)).status).toBe(200)
  })

  test('refuses the 201st guess from one IP, over all accounts', async () => {
    const { email, password } = await sterna.newPerson()
    const ip = newIp()
    const guess = () => logIn(newEmail(), 'wrong password', from(ip))
    expect((await guess()).status).toBe(401)
    await addAttempts('login-ip', ip, 198)

    expect(statuses(await Promise.all([guess(), guess()]))).toEqual([401, 429])
    expectToWait(await logIn(email, password, from(ip)), 900)
    expect((await logIn(email, password)).status).toBe(200)
  })

  test('refuses the 101st guess at an account from many IPs, but not from the IP of its session', async () => {
    const home = from()
    const owner = await signUp({ email: newEmail(), password: 'correct horse' }, home)
    const { email } = owner.body
    expect((await logIn(email, 'wrong password')).status).toBe(401)
    await addAttempts('login-account', email, 98)

    expect(statuses(await Promise.all([logIn(email, 'wrong password'), logIn(email, 'wrong password')]))).toEqual([401, 429])
    expectToWait(await logIn(email, 'correct horse'), 900)
    expect((await logIn(email, 'correct horse', home)).status).toBe(200)

    await sql`update sessions set expires_at = now() - interval '1 second' where user_id = ${owner.body.id}`.execute(sterna.db)
    expect((await logIn(email, 'correct horse', home)).status).toBe(429)
  })

  test('does not count refused guesses of one IP towards the limit of the account', async () => {
    const { email } = await sterna.newPerson()
    const headers = from()
    await Promise.all(Array.from({ length: 30 }, () => logIn(email, 'wrong password', headers)))
    const { count } = await one(
      sterna.db,
      sql<{
        count: number
      }>`select count from attempts where scope = 'login-account' and subject = ${sterna.secrets.hash('attempt', email)}`,
    )
    expect(count).toBe(10)
  })

  test('issues a new session token and never adopts the one of the browser', async () => {
    const { email, password } = await sterna.newPerson()
    const planted = `sterna_session=${'A'.repeat(43)}`
    const answer = await sterna.call('POST', '/auth/login', { body: { email, password }, cookie: planted, headers: from() })

    expect(answer.status).toBe(200)
    expect(cookieOf(answer)).not.toBe(planted)
    expect((await me(planted)).status).toBe(401)
    expect((await me(cookieOf(answer))).status).toBe(200)
  })

  test('ends the previous session of the browser', async () => {
    const first = await sterna.newPerson()
    const second = await sterna.newPerson()
    const { email, password } = second
    await sterna.call('POST', '/auth/login', { body: { email, password }, cookie: first.cookie, headers: from() })
    expect((await me(first.cookie)).status).toBe(401)
  })

  test('leaves other devices signed in', async () => {
    const { email, password, cookie } = await sterna.newPerson()
    const phone = cookieOf(await logIn(email, password))
    expect([(await me(cookie)).status, (await me(phone)).status]).toEqual([200, 200])
    expect(phone).not.toBe(cookie)
  })

  test('sets a cookie that scripts cannot read and other sites cannot send', async () => {
    const { email, password } = await sterna.newPerson()
    const { headers } = await logIn(email, password)
    const [pair, ...flags] = String(headers['set-cookie']).split('; ')

    expect(pair).toMatch(/^sterna_session=[\w-]{43}$/)
    expect(flags.sort()).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Lax'])
    expect(headers['strict-transport-security']).toBeUndefined()
    expect(headers['referrer-policy']).toBe('no-referrer')
  })

  test.each([
    ['an array', { email: ['a@example.com'], password: 'correct horse' }, ['email']],
    ['an object', { email: 'a@example.com', password: { $ne: '' } }, ['password']],
    ['nothing', {}, ['email', 'password']],
    ['257 characters', { email: 'a@example.com', password: 'x'.repeat(257) }, ['password']],
    ['U+0000', { email: 'a@example.com', password: 'correct\0horse' }, ['password']],
  ])('refuses %s', async (_, body, expected) => {
    const answer = await sterna.call('POST', '/auth/login', { body, headers: from() })
    expect([answer.status, fields(answer)]).toEqual([422, expected])
  })
})

describe('X-Forwarded-For', () => {
  const direct = useApp()

  test('is ignored when no proxy is trusted', async () => {
    const [email, password] = ['direct@example.com', 'correct horse']
    await direct.call('POST', '/auth/signup', { body: { email, password }, headers: { 'x-forwarded-for': '203.0.113.98' } })
    const guess = (n: number) =>
      direct.call('POST', '/auth/login', {
        body: { email, password: 'wrong password' },
        headers: { 'x-forwarded-for': `203.0.113.${n}`, forwarded: `for=203.0.113.${n}` },
      })
    const guesses = await Promise.all(Array.from({ length: 11 }, (_, n) => guess(n)))

    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429])
    expect(
      (await direct.call('POST', '/auth/login', { body: { email, password }, headers: { 'x-forwarded-for': '203.0.113.99' } })).status,
    ).toBe(429)
    const ips = await many(direct.db, sql<{ ip: string }>`select distinct network as ip from sessions`)
    expect(ips).toEqual([{ ip: '127.0.0.1' }])
  })

  test('cannot be forged through a trusted proxy: the last address counts', async () => {
    const { email } = await sterna.newPerson()
    const seen = newIp()
    const guesses = await Promise.all(
      Array.from({ length: 11 }, (_, n) => logIn(email, 'wrong password', { 'x-forwarded-for': `203.0.113.${n}, ${seen}` })),
    )
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429])
  })

  test('counts IPv6 addresses by their first 64 bits', async () => {
    const { email } = await sterna.newPerson()
    const guesses = await Promise.all(
      Array.from({ length: 11 }, (_, n) => logIn(email, 'wrong password', from(`2001:db8:1:2:${n}::${n + 1}`))),
    )
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429])
    expect((await logIn(email, 'wrong password', from('2001:db8:1:3::1'))).status).toBe(401)
  })
})
