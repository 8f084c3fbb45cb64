import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fields, statuses } from '../support/answers.ts'
import { cookieOf } from '../support/app.ts'
import { expectToWait, useAccounts } from './account-client.ts'

const { sterna, newIp, from, newEmail, signUp, logIn, me, emailsLike, addAttempts } = useAccounts()

describe('sign-up', () => {
  test('creates an account, signs in and sends a link to verify the address', async () => {
    const email = newEmail()
    const answer = await signUp({ email, password: 'correct horse' })

    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ success: true, id: expect.any(String), email })
    const { body } = await me(cookieOf(answer))
    expect(body).toEqual({
      id: answer.body.id,
      email,
      emailVerified: false,
      // The first account of an installation.
      operator: true,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
    })
    expect((await sterna.accountEmailsTo(email)).map(({ subject }) => subject)).toEqual(['Confirm your email address'])
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
  ])('with a %s creates an account separate from the ASCII look-alike', async (_, lookAlike) => {
    const plain = await signUp({ email: lookAlike.replace('ı', 'i').replace('ſ', 's'), password: 'correct horse' })
    const other = await signUp({ email: lookAlike, password: 'correct horse' })
    expect([plain.status, other.status]).toEqual([200, 200])
    expect(plain.body.id).not.toBe(other.body.id)
  })

  test('20 times at once creates one account', async () => {
    const email = newEmail()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => signUp({ email: n % 2 ? email : email.toUpperCase(), password: `password ${n}` })),
    )

    expect(statuses(answers)).toEqual([200, ...Array(19).fill(409)])
    expect(await emailsLike(email)).toHaveLength(1)
    expect(await sterna.accountEmailsTo(email)).toHaveLength(1)
  })

  test.each([
    ['7 characters', 'x'.repeat(7), 422],
    ['8 characters', 'x'.repeat(8), 200],
    ['256 characters', 'x'.repeat(256), 200],
    ['257 characters', 'x'.repeat(257), 422],
    ['a million characters', 'x'.repeat(1_000_000), 422],
    ['spaces only', ' '.repeat(8), 200],
  ])('with a password of %s has the documented status', async (_, password, status) => {
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
  ])('uses the whole password: one that differs at the end in %s does not sign in', async (_, password, almost) => {
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

  test('uses only address, password and invitation, and ignores all other fields', async () => {
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

  test('is limited per IP, with the time to wait', async () => {
    const ip = newIp()
    const signUpThere = () => signUp({ email: newEmail(), password: 'correct horse' }, from(ip))
    expect((await signUpThere()).status).toBe(200)
    await addAttempts('signup', ip, 98)

    expect((await signUpThere()).status).toBe(200)
    expectToWait(await signUpThere(), 3600)
    expect((await signUp({ email: newEmail(), password: 'correct horse' })).status).toBe(200)
  })
})

test('no OAuth provider is configured', async () => {
  const answer = await sterna.call('GET', '/auth/oauth-config')
  expect([answer.status, answer.body]).toEqual([200, { github: false, google: false, oidc: false }])
})
