import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { startDnsServer } from '../support/servers/dns-server.ts'

const env: Record<string, string> = { RATE_LIMIT_PER_MINUTE: '0' }
let dns: Awaited<ReturnType<typeof startDnsServer>>
beforeAll(async () => {
  dns = await startDnsServer()
  env.DNS_SERVERS = dns.address
})
afterAll(() => dns.stop())
const sterna = useApp({ env })

let sk: string
let pk: string
beforeAll(async () => {
  ;({ sk, pk } = await sterna.newProject())
})

const post = (email: unknown, key = sk) => sterna.call('POST', '/v1/verify', { key, body: { email } })

async function verify(email: string): Promise<Answer['body']> {
  const { status, body } = await post(email)
  expect([status, body.success, Object.keys(body)]).toEqual([200, true, ['success', 'data']])
  return body.data
}

const TAKES_MAIL = { MX: [[10, 'mx.mail.example']] as [number, string][], NS: ['ns.mail.example'], A: ['192.0.2.1'] }

test('an address whose domain accepts email is valid and has no other flags', async () => {
  dns.set('fine.example', TAKES_MAIL)
  expect(await verify('Ada.Lovelace@FINE.example')).toEqual({
    email: 'ada.lovelace@fine.example',
    valid: true,
    isDisposable: false,
    isAlias: false,
    isTypo: false,
    isPlusAddressed: false,
    isPersonalEmail: false,
    domainExists: true,
    hasWebsite: true,
    hasMxRecords: true,
    reasons: [],
  })
})

describe('an address', () => {
  test.each([
    '',
    'ada',
    'ada@',
    '@fine.example',
    'ada@fine',
    'a b@fine.example',
    'ada@fine..example',
    'Ada <ada@fine.example>',
    'a@127.0.0.1',
    `${'a'.repeat(65)}@fine.example`,
  ])('of the form "%s" is invalid, which is a result and not an error', async (email) => {
    const before = dns.queries.length
    expect(await verify(email)).toMatchObject({ email, valid: false, domainExists: false, reasons: ['Not a valid email address.'] })
    expect(dns.queries).toHaveLength(before)
  })

  test.each([undefined, null, 7, true, ['a@fine.example'], { a: 1 }, 'x'.repeat(321), `a@${'x'.repeat(10_000)}`])(
    'that is not a string or too long is a 422',
    async (email) => {
      const { status, body } = await post(email)
      expect([status, body.error.errors[0].field]).toEqual([422, 'email'])
    },
  )

  test('that is internationalised is returned as we store it', async () => {
    dns.set('xn--bcher-kva.example', TAKES_MAIL)
    expect(await verify('jürgen@Bücher.example')).toMatchObject({ email: 'jürgen@xn--bcher-kva.example', valid: true })
  })

  test('with the maximum number of labels is looked up like any other', async () => {
    const domain = `${'a.'.repeat(60)}fine.example`
    dns.set(domain, TAKES_MAIL)
    expect(await verify(`a@${domain}`)).toMatchObject({ valid: true })
  })
})

describe('the domain', () => {
  test.each<[string, Parameters<typeof dns.set>[1] | undefined, object]>([
    ['is not there', undefined, { valid: false, domainExists: false, reasons: ['The domain does not exist.'] }],
    [
      'has no MX records',
      { A: ['192.0.2.1'] },
      {
        valid: false,
        domainExists: true,
        hasWebsite: true,
        hasMxRecords: false,
        reasons: ['The domain accepts no email: it has no MX records.'],
      },
    ],
    ['has an AAAA and an MX record', { AAAA: ['2001:db8::1'], MX: [[1, 'mx.example']] }, { valid: true, hasWebsite: true }],
    ['has no website', { MX: [[1, 'mx.example']] }, { valid: true, hasWebsite: false, domainExists: true }],
    [
      'has an empty MX record',
      { MX: [[0, '.']] },
      { valid: false, hasMxRecords: false, reasons: ['The domain accepts no email: it has an empty MX record.'] },
    ],
    ['loops', 'loop', { valid: false, domainExists: true, hasMxRecords: false }],
    ['has more records than fit a datagram', 'truncated', { valid: true }],
    ['resolves to this machine', { A: ['127.0.0.1'], MX: [[1, 'localhost']] }, { valid: true, hasWebsite: true }],
  ])('%s', async (name, what, expected) => {
    const domain = `${name.replace(/\W+/g, '-').toLowerCase()}.example`
    if (what) dns.set(domain, what)
    const data = await verify(`a@${domain}`)
    expect(data).toMatchObject(expected)
    expect(JSON.stringify(data)).not.toMatch(/127\.0|localhost|mx\.example/)
  })

  test.concurrent.each(['hang', 'servfail', 'refused', 'garbage'] as const)(
    'is unknown if DNS answers with %s, and the result says so within seconds',
    async (fault) => {
      dns.set(`${fault}.example`, fault)
      const start = performance.now()
      const data = await verify(`a@${fault}.example`)
      // 4 s is the limit of a lookup; the rest is for a machine that several test files share.
      expect(performance.now() - start).toBeLessThan(40_000)
      expect(data).toMatchObject({ valid: false, domainExists: false, hasMxRecords: false })
      expect(data.reasons[0]).toMatch(/^Unknown whether the domain exists: .*Try again later\.$/)
    },
  )

  test.concurrent('that does not answer delays no other verification', async () => {
    /** How many of 50 verifications for a domain that does not answer have ended when a later one has. */
    async function endedBefore(attempt: number) {
      const [stuck, quick] = [`stuck${attempt}.example`, `quick${attempt}.example`]
      dns.set(stuck, 'hang')
      dns.set(quick, TAKES_MAIL)
      let ended = 0
      const all = Promise.all(Array.from({ length: 50 }, (_, index) => verify(`a${index}@${stuck}`).finally(() => ended++)))
      await eventually(() => expect(dns.queries).toContain(`MX ${stuck}`))
      expect(await verify(`a@${quick}`)).toMatchObject({ valid: true })
      const found = ended
      await all
      return found
    }
    // These lookups end after four seconds. On a busy machine any verification may take as long; one that waits for them always does.
    let ended = await endedBefore(0)
    for (let attempt = 1; ended > 0 && attempt < 5; attempt++) ended = await endedBefore(attempt)
    expect(ended).toBe(0)
  })

  test('is queried once for many of its addresses', async () => {
    dns.set('busy.example', TAKES_MAIL)
    await Promise.all(Array.from({ length: 30 }, (_, index) => verify(`a${index}@busy.example`)))
    expect(dns.queries.filter((question) => question.endsWith(' busy.example')).sort()).toEqual([
      'A busy.example',
      'AAAA busy.example',
      'MX busy.example',
      'NS busy.example',
    ])
  })
})

describe('the flags', () => {
  beforeAll(() => {
    for (const name of [
      'gmail.com',
      'mailinator.com',
      'x.mailinator.com',
      'me.33mail.com',
      'mozmail.com',
      'yahoo.co.uk',
      'email.com',
      'takes-mail.cmo',
      'company.example',
    ])
      dns.set(name, TAKES_MAIL)
  })

  test.each([
    ['a@mailinator.com', { valid: true, isDisposable: true }],
    ['a@x.mailinator.com', { isDisposable: true }],
    ['a@mozmail.com', { valid: true, isAlias: true }],
    ['a@me.33mail.com', { isAlias: true }],
    ['a+b@gmail.com', { valid: true, isPlusAddressed: true, isPersonalEmail: true }],
    ['a@yahoo.co.uk', { isPersonalEmail: true, isTypo: false }],
    ['a@email.com', { valid: true, isTypo: false, isPersonalEmail: true }],
    ['a@takes-mail.cmo', { valid: true, isTypo: false }],
    ['a@company.example', { isPersonalEmail: false, isDisposable: false, isAlias: false, reasons: [] }],
    ['a@mailinator.com.example', { isDisposable: false }],
    ['a@yahoo.co.uk.example', { isPersonalEmail: false }],
  ])('of %s are %j', async (email, expected) => {
    expect(await verify(email)).toMatchObject(expected)
  })

  test('are each explained in reasons', async () => {
    expect((await verify('a+b@mailinator.com')).reasons).toEqual([
      'The domain is one of disposable addresses.',
      'The address is plus-addressed.',
    ])
  })

  test.each([
    ['ada@gmial.com', 'ada@gmail.com'],
    ['jürgen+x@hotmial.com', 'jürgen+x@hotmail.com'],
    ["o'neil@gmail.con", "o'neil@gmail.com"],
    ['ada@company.cmo', 'ada@company.co'],
  ])('of %s suggest %s', async (email, suggestedEmail) => {
    expect(await verify(email)).toMatchObject({ valid: false, isTypo: true, suggestedEmail })
  })
})

test('only the secret key may verify addresses', async () => {
  expect(await post('a@fine.example', pk)).toMatchObject({ status: 401, body: { error: { code: 'INVALID_API_KEY' } } })
  const person = await sterna.newPerson()
  expect((await person.call('POST', '/v1/verify', { body: { email: 'a@fine.example' } })).status).toBe(401)
})
