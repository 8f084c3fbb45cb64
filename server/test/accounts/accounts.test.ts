import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { resetPassword, sendReset } from '../../src/auth/accounts.ts'
import { hashPassword } from '../../src/auth/passwords.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { createLog } from '../../src/lib/log.ts'
import { type Answer, cookieOf, useApp } from '../support/app.ts'

// Behind a proxy, so that every test can come from an address of its own: limits per IP must not leak between tests.
const sterna = useApp({ env: { TRUST_PROXY: '127.0.0.1' } })

let addresses = 0
const newIp = () => `10.0.${Math.floor(++addresses / 250)}.${(addresses % 250) + 1}`
const from = (ip = newIp()) => ({ 'x-forwarded-for': ip })
const newEmail = () => `account${++addresses}@example.com`

const signUp = (body: Record<string, unknown>, headers = from()) => sterna.call('POST', '/auth/signup', { body, headers })
const logIn = (email: string, password: string, headers: Record<string, string> = from()) =>
  sterna.call('POST', '/auth/login', { body: { email, password }, headers })
const requestReset = (email: unknown, headers: Record<string, string> = from()) =>
  sterna.call('POST', '/auth/request-password-reset', { body: { email }, headers })
const reset = (token: string, password: string, headers = from()) =>
  sterna.call('POST', '/auth/reset-password', { body: { token, password }, headers })
const verify = (token: string, headers = from()) => sterna.call('POST', '/auth/verify-email', { body: { token }, headers })
const me = (cookie: string) => sterna.call('GET', '/users/@me', { cookie })

const fields = ({ body }: Answer) => [...new Set(body.error.errors.map((issue: { field: string }) => issue.field))]
const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort()
/** An error without what differs between any two requests. */
const essence = ({ status, body }: Answer) => ({ status, error: { ...body.error, requestId: '' } })
const emailsLike = (email: string) => many(sterna.db, sql<{ email: string }>`select email from users where email = ${email}`)

/** What a request for a reset writes, without the time it takes to answer one. */
async function resetTokenFor(email: string) {
  await transact(sterna.db, (tx) => sendReset(tx, mailPort(), email))
  return sterna.tokenFor(email)
}

const mailPort = () => ({ secrets: sterna.secrets, log: createLog('silent'), publicUrl: 'http://localhost:3000', isDelivered: false })

describe('sign-up', () => {
  test('makes an account, signs in and mails a link to prove the address', async () => {
    const email = newEmail()
    const answer = await signUp({ email, password: 'correct horse' })

    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ success: true, id: expect.any(String), email })
    const { body } = await me(cookieOf(answer))
    expect(body).toEqual({
      id: answer.body.id,
      email,
      emailVerified: false,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
    })
    expect((await sterna.mailsTo(email)).map(({ subject }) => subject)).toEqual(['Confirm your email address'])
  })

  test.each([
    ['the same spelling', 'ada@bücher.example', 'ada@bücher.example'],
    ['capitals', 'grace@bücher.example', 'GRACE@BÜCHER.EXAMPLE'],
    ['the ASCII form of the domain', 'linus@bücher.example', 'Linus@xn--bcher-kva.example'],
    ['decomposed accents', 'ren\u00e9@example.com', 'rene\u0301@example.com'],
    ['spaces around it', 'joan@example.com', '  joan@example.com\t'],
    ['a full-width domain', 'barbara@example.com', 'barbara@ｅｘａｍｐｌｅ．ｃｏｍ'],
    ['a canonical equivalent (Kelvin sign)', 'kim@example.com', '\u212aim@example.com'],
  ])('of a taken address in %s is refused and changes nothing', async (_, first, second) => {
    const original = await signUp({ email: first, password: 'correct horse' })
    const before = await sterna.digest({ except: ['attempts'] })
    const again = await signUp({ email: second, password: 'another password' })

    expect([again.status, again.body.error.code]).toEqual([409, 'CONFLICT'])
    expect(again.headers['set-cookie']).toBeUndefined()
    expect(await sterna.digest({ except: ['attempts'] })).toBe(before)
    expect((await logIn(second, 'correct horse')).body.id).toBe(original.body.id)
  })

  test.each([
    ['dotless i', 'mıke@example.com'],
    ['long s', 'roſe@example.com'],
  ])('with a %s makes an account apart from the ASCII look-alike', async (_, lookAlike) => {
    const plain = await signUp({ email: lookAlike.replace('ı', 'i').replace('ſ', 's'), password: 'correct horse' })
    const other = await signUp({ email: lookAlike, password: 'correct horse' })
    expect([plain.status, other.status]).toEqual([200, 200])
    expect(plain.body.id).not.toBe(other.body.id)
  })

  test('20 times at once makes one account', async () => {
    const email = newEmail()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => signUp({ email: n % 2 ? email : email.toUpperCase(), password: `password ${n}` })),
    )

    expect(statuses(answers)).toEqual([200, ...Array(19).fill(409)])
    expect(await emailsLike(email)).toHaveLength(1)
    expect(await sterna.mailsTo(email)).toHaveLength(1)
  })

  test.each([
    ['7 characters', 'x'.repeat(7), 422],
    ['8 characters', 'x'.repeat(8), 200],
    ['256 characters', 'x'.repeat(256), 200],
    ['257 characters', 'x'.repeat(257), 422],
    ['a million characters', 'x'.repeat(1_000_000), 422],
    ['spaces only', ' '.repeat(8), 200],
  ])('with a password of %s answers as documented', async (_, password, status) => {
    const email = newEmail()
    const answer = await signUp({ email, password })

    expect(answer.status).toBe(status)
    if (status === 422) {
      expect(fields(answer)).toEqual(['password'])
      expect(JSON.stringify(answer.body)).not.toContain('xxxxxxx')
    }
    expect(await emailsLike(email)).toHaveLength(status === 200 ? 1 : 0)
    if (status === 200) expect((await logIn(email, password)).status).toBe(200)
  })

  test.each([
    ['letters', `${'x'.repeat(72)}A`, `${'x'.repeat(72)}B`],
    ['emoji', `${'🦜'.repeat(127)}🐢`, `${'🦜'.repeat(127)}🐙`],
    ['case', 'Correct Horse', 'correct horse'],
    ['a space at the end', 'correct horse ', 'correct horse'],
  ])('keeps the whole password: one that differs at the end in %s does not sign in', async (_, password, almost) => {
    const email = newEmail()
    await signUp({ email, password })
    expect((await logIn(email, almost)).status).toBe(401)
    expect((await logIn(email, password)).status).toBe(200)
  })

  test.each([
    'plain',
    '@example.com',
    'a@',
    'a@b',
    'a b@example.com',
    'a@example..com',
    'a@[127.0.0.1]',
    'a@127.0.0.1',
    '"a"@example.com',
    'Ada <a@example.com>',
    'a@example.com, b@example.com',
    'a@example.com\r\nBcc: b@example.com',
    'a\u200bb@example.com',
    'a\u202eb@example.com',
    `${'a'.repeat(65)}@example.com`,
    `a@${'b'.repeat(64)}.com`,
    ['a@example.com'],
    { email: 'a@example.com' },
    7,
    null,
  ])('refuses %j as an address', async (email) => {
    const answer = await signUp({ email, password: 'correct horse' })
    expect([answer.status, answer.body.error.code, fields(answer)]).toEqual([422, 'VALIDATION_ERROR', ['email']])
  })

  test('takes only an address, a password and an invitation: everything else in the body is ignored', async () => {
    const id = randomUUID()
    const extra = {
      id,
      role: 'OWNER',
      emailVerified: true,
      email_verified_at: '2020-01-01',
      verified: true,
      createdAt: '2020-01-01T00:00:00Z',
    }
    const answer = await signUp({ email: newEmail(), password: 'correct horse', ...extra })

    const { body } = await me(cookieOf(answer))
    expect(answer.body.id).not.toBe(id)
    expect(body).toMatchObject({ id: answer.body.id, emailVerified: false })
    expect(body.createdAt).not.toContain('2020')
  })

  test('is limited per IP and says how long to wait', async () => {
    const ip = newIp()
    const signUpThere = () => signUp({ email: newEmail(), password: 'correct horse' }, from(ip))
    expect((await signUpThere()).status).toBe(200)
    await addAttempts('signup', ip, 98)

    expect((await signUpThere()).status).toBe(200)
    expectToWait(await signUpThere(), 3600)
    expect((await signUp({ email: newEmail(), password: 'correct horse' })).status).toBe(200)
  })
})

/** As if that many more had been made: each real one costs the time of a password hash. */
const addAttempts = async (scope: string, subject: string, count: number) => {
  const hash = sterna.secrets.hash('attempt', subject)
  const { numAffectedRows } = await sql`update attempts set count = count + ${count} where scope = ${scope} and subject = ${hash}`.execute(
    sterna.db,
  )
  expect(numAffectedRows).toBe(1n)
}

function expectToWait(answer: Answer, atMost: number) {
  expect([answer.status, answer.body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
  const seconds = Number(answer.headers['retry-after'])
  expect(seconds).toBeGreaterThan(0)
  expect(seconds).toBeLessThanOrEqual(atMost)
  expect(answer.body.error.details.retryAfter).toBe(seconds)
}

describe('login', () => {
  test('answers a wrong address and a wrong password alike', async () => {
    const { email } = await sterna.newPerson()
    const [wrongPassword, nobody] = [await logIn(email, 'wrong password'), await logIn(newEmail(), 'wrong password')]

    expect([wrongPassword.status, wrongPassword.body.error.code]).toEqual([401, 'INVALID_CREDENTIALS'])
    expect(essence(nobody)).toEqual(essence(wrongPassword))
    expect(Object.keys(nobody.headers)).toEqual(Object.keys(wrongPassword.headers))
    expect(wrongPassword.headers['set-cookie']).toBeUndefined()
  })

  test('takes as long for an address nobody has as for a wrong password', async () => {
    const { email } = await sterna.newPerson()
    const known: number[] = []
    const unknown: number[] = []
    for (let round = 0; round < 5; round++) {
      known.push(await timed(() => logIn(email, 'wrong password')))
      unknown.push(await timed(() => logIn(newEmail(), 'wrong password')))
    }
    // Without the work of a hash it would take a tenth.
    expect(median(unknown)).toBeGreaterThan(median(known) / 2)
    expect(median(unknown)).toBeLessThan(median(known) * 3)
  })

  test('refuses the 11th guess at an account from one IP, even the right one, and lets other IPs and accounts be', async () => {
    const { email, password } = await sterna.newPerson()
    const other = await sterna.newPerson()
    const headers = from()
    const guesses = await Promise.all(Array.from({ length: 30 }, (_, n) => logIn(email, `guess ${n}`, headers)))

    expect(statuses(guesses)).toEqual([...Array(10).fill(401), ...Array(20).fill(429)])
    expectToWait(await logIn(email, password, headers), 900)
    expect((await logIn(email, password)).status).toBe(200)
    expect((await logIn(other.email, other.password, headers)).status).toBe(200)
  })

  test('treats an address nobody has the same when it comes to limits', async () => {
    const email = newEmail()
    const headers = from()
    const guesses = await Promise.all(Array.from({ length: 11 }, (_, n) => logIn(email, `guess ${n}`, headers)))
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429])
  })

  test('counts a spelling of the address with every other', async () => {
    const { email } = await sterna.newPerson()
    const headers = from()
    const guesses = await Promise.all(
      Array.from({ length: 11 }, (_, n) => logIn(n % 2 ? email.toUpperCase() : ` ${email} `, `guess ${n}`, headers)),
    )
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429])
  })

  test('opens again when the window has passed', async () => {
    const { email, password } = await sterna.newPerson()
    const ip = newIp()
    await logIn(email, 'wrong password', from(ip))
    await addAttempts('login-pair', `${ip} ${email}`, 9)
    expect((await logIn(email, password, from(ip))).status).toBe(429)

    await sql`update attempts set window_ends_at = now() - interval '1 second'`.execute(sterna.db)
    expect((await logIn(email, password, from(ip))).status).toBe(200)
  })

  test('does not count what succeeds', async () => {
    const { email, password } = await sterna.newPerson()
    const headers = from()
    for (let n = 0; n < 12; n++) expect((await logIn(email, password, headers)).status).toBe(200)
  })

  test('refuses the 201st guess from one IP, whichever account it is for', async () => {
    const { email, password } = await sterna.newPerson()
    const ip = newIp()
    const guess = () => logIn(newEmail(), 'wrong password', from(ip))
    expect((await guess()).status).toBe(401)
    await addAttempts('login-ip', ip, 198)

    expect(statuses(await Promise.all([guess(), guess()]))).toEqual([401, 429])
    expectToWait(await logIn(email, password, from(ip)), 900)
    expect((await logIn(email, password)).status).toBe(200)
  })

  test('refuses the 101st guess at an account from many IPs, but not its owner where they are signed in', async () => {
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

  test('counts the guesses of one IP towards the limit of the account only until that IP is refused', async () => {
    const { email } = await sterna.newPerson()
    const bully = from()
    await Promise.all(Array.from({ length: 30 }, () => logIn(email, 'wrong password', bully)))
    const { count } = await one(
      sterna.db,
      sql<{
        count: number
      }>`select count from attempts where scope = 'login-account' and subject = ${sterna.secrets.hash('attempt', email)}`,
    )
    expect(count).toBe(10)
  })

  test('gives a new session and never the token the browser brought along', async () => {
    const { email, password } = await sterna.newPerson()
    const planted = `sterna_session=${'A'.repeat(43)}`
    const answer = await sterna.call('POST', '/auth/login', { body: { email, password }, cookie: planted, headers: from() })

    expect(answer.status).toBe(200)
    expect(cookieOf(answer)).not.toBe(planted)
    expect((await me(planted)).status).toBe(401)
    expect((await me(cookieOf(answer))).status).toBe(200)
  })

  test('ends the session the browser brought along', async () => {
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

  test('sets a cookie that scripts cannot read and other sites cannot send along', async () => {
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
    const { email, password } = await direct.newPerson()
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

  test('cannot be forged through a trusted proxy, which adds the address it saw at the end', async () => {
    const { email } = await sterna.newPerson()
    const seen = newIp()
    const guesses = await Promise.all(
      Array.from({ length: 11 }, (_, n) => logIn(email, 'wrong password', { 'x-forwarded-for': `203.0.113.${n}, ${seen}` })),
    )
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429])
  })

  test('names one customer by the first 64 bits when it is IPv6', async () => {
    const { email } = await sterna.newPerson()
    const guesses = await Promise.all(
      Array.from({ length: 11 }, (_, n) => logIn(email, 'wrong password', from(`2001:db8:1:2:${n}::${n + 1}`))),
    )
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429])
    expect((await logIn(email, 'wrong password', from('2001:db8:1:3::1'))).status).toBe(401)
  })
})

describe('sessions', () => {
  test('end at logout, on the server too, and only that one', async () => {
    const { email, password, cookie } = await sterna.newPerson()
    const phone = cookieOf(await logIn(email, password))
    const answer = await sterna.call('GET', '/auth/logout', { cookie })

    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    expect(String(answer.headers['set-cookie'])).toMatch(/^sterna_session=; .*(Max-Age=0|Expires=Thu, 01 Jan 1970)/)
    expect([(await me(cookie)).status, (await me(phone)).status]).toEqual([401, 200])
  })

  test.each([undefined, 'sterna_session=unknown', 'sterna_session=', 'other=cookie', 'sterna_session=%00%ff'])(
    'logout with the cookie %j is harmless',
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

  test('/users/@me shows nobody else', async () => {
    const [ada, bob] = [await sterna.newPerson(), await sterna.newPerson()]
    expect((await me(ada.cookie)).body).toMatchObject({ id: ada.id, email: ada.email })
    expect((await me(bob.cookie)).body).toMatchObject({ id: bob.id, email: bob.email })
  })
})

describe('change-password', () => {
  const change = (cookie: string, body: Record<string, unknown>) => sterna.call('POST', '/auth/change-password', { cookie, body })

  test('ends every session and continues in a new one', async () => {
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
  ])('names what is wrong in %j', async (body, expected) => {
    const { cookie } = await sterna.newPerson()
    const answer = await change(cookie, body)
    expect([answer.status, fields(answer)]).toEqual([422, expected])
  })

  test('cannot be used to guess the password of a borrowed session', async () => {
    const { cookie, password } = await sterna.newPerson()
    const guesses = await Promise.all(
      Array.from({ length: 12 }, () => change(cookie, { currentPassword: 'wrong password', password: 'battery staple' })),
    )
    expect(statuses(guesses)).toEqual([...Array(10).fill(401), 429, 429])
    expectToWait(await change(cookie, { currentPassword: password, password: 'battery staple' }), 3600)
  })

  test('changes nobody but the caller', async () => {
    const [ada, bob] = [await sterna.newPerson(), await sterna.newPerson()]
    await change(ada.cookie, { currentPassword: ada.password, password: 'battery staple', userId: bob.id, id: bob.id, email: bob.email })
    expect((await logIn(bob.email, bob.password)).status).toBe(200)
    expect((await me(bob.cookie)).status).toBe(200)
  })

  test('makes a reset link asked for before it worthless', async () => {
    const { email, password, cookie } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    await change(cookie, { currentPassword: password, password: 'battery staple' })
    expect((await reset(token, 'thief was here')).status).toBe(400)
    expect((await logIn(email, 'battery staple')).status).toBe(200)
  })
})

describe('password reset', () => {
  test('gives a new password, proves the address and ends every session', async () => {
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

  test('answers the same in the same time whether or not the address has an account', async () => {
    const { email } = await sterna.newPerson()
    const known: number[] = []
    const unknown: number[] = []
    const time = async (times: number[], address: string) => {
      times.push(await timed(async () => expect(pick(await requestReset(address))).toEqual([200, { success: true }])))
    }
    // Side by side, so that a slow moment of this machine slows both.
    for (let round = 0; round < 5; round++) await Promise.all([time(known, email), time(unknown, newEmail())])
    expect(Math.min(...known, ...unknown)).toBeGreaterThan(145)
    expect(Math.abs(median(known) - median(unknown))).toBeLessThan(50)
  })

  const pick = ({ status, body }: Answer) => [status, body]

  test('answers the same to the sixth request for an address, but mails no more', async () => {
    const { email } = await sterna.newPerson()
    const answers = await Promise.all(Array.from({ length: 7 }, () => requestReset(email)))

    expect(new Set(answers.map((answer) => JSON.stringify(pick(answer)))).size).toBe(1)
    const resets = (await sterna.mailsTo(email)).filter(({ subject }) => subject === 'Choose a new password')
    expect(resets).toHaveLength(5)
  })

  test('is limited per IP', async () => {
    const headers = from()
    const answers = await Promise.all(Array.from({ length: 51 }, () => requestReset(newEmail(), headers)))
    expect(statuses(answers)).toEqual([...Array(50).fill(200), 429])
    expectToWait(answers.find(({ status }) => status === 429)!, 3600)
  })

  test('mails the stored spelling, never the one given', async () => {
    const { email } = await sterna.newPerson()
    await requestReset(` ${email.toUpperCase()} `)
    expect((await sterna.mailsTo(email)).map(({ subject }) => subject)).toEqual(['Choose a new password', 'Confirm your email address'])
    expect(await sterna.mailsTo(email.toUpperCase())).toEqual([])
  })

  test('mails nobody when asked for an address that is merely similar', async () => {
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

  test('links to the configured address, whatever the request calls this host', async () => {
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

    const mails = await sterna.mailsTo(email)
    expect(mails).toHaveLength(3)
    for (const { text } of mails) {
      expect(text).not.toContain('evil')
      expect(text.match(/https?:\/\/[^/]+/g)).toEqual(['http://localhost:3000'])
    }
  })

  test('takes a token once', async () => {
    const { email } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    expect((await reset(token, 'battery staple')).status).toBe(200)
    const again = await reset(token, 'thief was here')
    expect([again.status, again.body.error.code]).toEqual([400, 'INVALID_TOKEN'])
    expect((await logIn(email, 'battery staple')).status).toBe(200)
  })

  test('takes a token once of 20 at once', async () => {
    const { email } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => reset(token, `new password ${n}`)))

    expect(statuses(answers)).toEqual([200, ...Array(19).fill(400)])
    const winner = answers.findIndex(({ status }) => status === 200)
    expect((await logIn(email, `new password ${winner}`)).status).toBe(200)
    expect((await logIn(email, `new password ${(winner + 1) % 20}`)).status).toBe(401)
  })

  test('takes only the newest token', async () => {
    const { email } = await sterna.newPerson()
    const [older, newer] = [await resetTokenFor(email), await resetTokenFor(email)]
    expect(older).not.toBe(newer)
    expect((await reset(older, 'battery staple')).status).toBe(400)
    expect((await reset(newer, 'battery staple')).status).toBe(200)
  })

  test('takes a token for one hour', async () => {
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

  test('takes no token of another purpose or person', async () => {
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

  test.each(['short', 'x'.repeat(257)])('keeps the token when the new password breaks the rules', async (password) => {
    const { email } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    const refused = await reset(token, password)
    expect([refused.status, fields(refused)]).toEqual([422, ['password']])
    expect((await reset(token, 'battery staple')).status).toBe(200)
  })

  test('limits how often one IP may try tokens, over both kinds', async () => {
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

  test('leaves no session to a login with the old password that was under way', async () => {
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

  test('is not undone by a change of password with the old one that was under way', async () => {
    const { email, id, password, cookie } = await sterna.newPerson()
    const token = await resetTokenFor(email)
    const passwordHash = await hashPassword('battery staple')

    const change = await transact(sterna.db, async (tx) => {
      await sql`select 1 from users where id = ${id} for update`.execute(tx)
      const change = sterna.call('POST', '/auth/change-password', {
        cookie,
        body: { currentPassword: password, password: 'thief was here' },
      })
      await expect.poll(waiting, { interval: 5 }).toBe(1)
      await resetPassword(tx, mailPort(), { token, passwordHash })
      return { answer: change }
    })

    expect((await change.answer).status).toBe(401)
    expect((await logIn(email, 'battery staple')).status).toBe(200)
  })
})

/** How many statements in this database wait for a lock. */
async function waiting() {
  const { count } = await one(
    sterna.db,
    sql<{
      count: number
    }>`select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return count
}

/** Locks rows until released, as another request in the middle of its transaction would. */
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

describe('verification of an address', () => {
  test('takes the mailed token, once', async () => {
    const { email, cookie } = await sterna.newPerson()
    const token = await sterna.tokenFor(email)
    const answer = await verify(token)

    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect((await me(cookie)).body.emailVerified).toBe(true)
    const again = await verify(token)
    expect([again.status, again.body.error.code]).toEqual([400, 'INVALID_TOKEN'])
  })

  test('takes a token once of 20 at once', async () => {
    const { email } = await sterna.newPerson()
    const token = await sterna.tokenFor(email)
    const answers = await Promise.all(Array.from({ length: 20 }, () => verify(token)))
    expect(statuses(answers)).toEqual([200, ...Array(19).fill(400)])
  })

  test('takes only the newest token', async () => {
    const { email, cookie } = await sterna.newPerson()
    const older = await sterna.tokenFor(email)
    const answer = await sterna.call('POST', '/auth/request-verification', { cookie })
    expect([answer.status, answer.body]).toEqual([200, { success: true }])
    const newer = await sterna.tokenFor(email)

    expect((await verify(older)).status).toBe(400)
    expect((await me(cookie)).body.emailVerified).toBe(false)
    expect((await verify(newer)).status).toBe(200)
  })

  test('takes a token for one hour', async () => {
    const { email, id, cookie } = await sterna.newPerson()
    const token = await sterna.tokenFor(email)
    await sql`update user_tokens set expires_at = expires_at - interval '1 hour' where user_id = ${id}`.execute(sterna.db)
    expect((await verify(token)).status).toBe(400)
    expect((await me(cookie)).body.emailVerified).toBe(false)
  })

  test('takes no token of another purpose', async () => {
    const { email, cookie } = await sterna.newPerson()
    expect((await verify(await resetTokenFor(email))).status).toBe(400)
    expect((await me(cookie)).body.emailVerified).toBe(false)
  })

  test('is mailed again five times an hour, to the signed-in person only', async () => {
    const { email, cookie } = await sterna.newPerson()
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => sterna.call('POST', '/auth/request-verification', { cookie, body: { email: 'victim@example.com' } })),
    )
    expect(statuses(answers)).toEqual([...Array(5).fill(200), 429])
    expect(await sterna.mailsTo(email)).toHaveLength(6)
  })

  test('is not mailed again once done', async () => {
    const { email, cookie } = await sterna.newPerson({ verified: true })
    expect((await sterna.call('POST', '/auth/request-verification', { cookie })).status).toBe(200)
    expect(await sterna.mailsTo(email)).toHaveLength(1)
  })

  test('needs a session to be asked for again', async () => {
    const answer = await sterna.call('POST', '/auth/request-verification')
    expect([answer.status, answer.body.error.code]).toEqual([401, 'UNAUTHORIZED'])
  })
})

test('no OAuth provider is configured', async () => {
  const answer = await sterna.call('GET', '/auth/oauth-config')
  expect([answer.status, answer.body]).toEqual([200, { github: false, google: false, oidc: false }])
})

async function timed(work: () => Promise<unknown>) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!
