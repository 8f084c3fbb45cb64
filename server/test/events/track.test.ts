import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { many, one, type Tx, transact } from '../../src/db/index.ts'
import { SUBSCRIPTION_CHANGES_PER_MINUTE } from '../../src/track/limits.ts'
import { type Answer, startApp, useApp } from '../support/app.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })
type Sterna = Pick<typeof sterna, 'call'>

/** Another node on the same database. */
let second: Awaited<ReturnType<typeof startApp>>
beforeAll(async () => {
  second = await startApp(sterna.url, { env: { RATE_LIMIT_PER_MINUTE: '0' } })
})
afterAll(() => second.close())

const PROJECTS_OF_A_PERSON = 50
let owner: Awaited<ReturnType<typeof sterna.newPerson>>
let shops = 0

type Options = { key?: string; at?: Sterna; pk?: string; headers?: Record<string, string> }
type Event = { id: string; name: string; data: Record<string, unknown>; contactId: string | null }

/** A project with a web site that tracks. */
async function newShop() {
  if (shops++ % PROJECTS_OF_A_PERSON === 0) owner = await sterna.newPerson()
  const { id, pk, sk } = await sterna.newProject(owner)
  const call = (method: string, url: string, body?: unknown) =>
    sterna.call(method, url, { key: sk, ...(body === undefined ? {} : { body }) })
  return {
    id,
    pk,
    sk,
    owner,
    call,
    track: (body: unknown, { key, at = sterna, pk: given = pk, headers = {} }: Options = {}): Promise<Answer> =>
      at.call('POST', '/v1/track', { key: given, body, headers: { ...(key === undefined ? {} : { 'idempotency-key': key }), ...headers } }),
    contacts: async () => (await call('GET', '/contacts?limit=100&sort=email')).body,
    contact: async (email = ADA) =>
      (await call('GET', '/contacts?limit=100')).body.data.find((each: { email: string }) => each.email === email),
    events: async (query = ''): Promise<Event[]> => (await call('GET', `/events?limit=100${query}`)).body.data,
    names: async (): Promise<string[]> => (await call('GET', '/events?limit=100')).body.data.map(({ name }: Event) => name),
    consents: () =>
      many(
        sterna.db,
        sql<{ subscribed: boolean; source: string; details: Record<string, unknown> }>`
          select subscribed, source, details from consents where project_id = ${id} order by id
        `,
      ),
    keys: () =>
      many(sterna.db, sql<{ key: string }>`select key from idempotency_keys where project_id = ${id} order by key`).then((rows) =>
        rows.map(({ key }) => key),
      ),
  }
}
type Shop = Awaited<ReturnType<typeof newShop>>

const ADA = 'ada@example.com'
const UUID7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const times = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))
const outcome = ({ status, body }: Answer) => (status < 400 ? [status] : [status, body.error.code])
const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort()
const issues = ({ body }: Answer) => body.error.errors.map(({ field, code }: { field: string; code: string }) => [field, code])

/** Both ways to track, for rules that hold for both. */
const BOTH: [string, (shop: Shop, body: unknown) => Promise<Answer>][] = [
  ['POST /v1/track', (shop, body) => shop.track(body)],
  ['POST /events/track', (shop, body) => shop.call('POST', '/events/track', body)],
]

describe.each(BOTH)('%s', (_, track) => {
  /** For what is refused: nothing of it may be left, so that all of it can happen in one place. */
  let quiet: Shop
  beforeAll(async () => {
    quiet = await newShop()
  })
  const expectQuiet = async () => {
    expect((await quiet.contacts()).total).toBe(0)
    expect(await quiet.events()).toEqual([])
  }

  test('of an unknown address creates the contact, subscribed, and answers with both ids', async () => {
    const shop = await newShop()
    const before = Date.now()
    const answer = await track(shop, { email: ' Ada@Example.com', event: 'signed up', data: { plan: 'pro', seats: 3 } })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      success: true,
      data: { contact: expect.stringMatching(UUID7), event: expect.stringMatching(UUID7), timestamp: expect.stringMatching(TIME) },
    })
    expect(Math.abs(Date.parse(answer.body.data.timestamp) - before)).toBeLessThan(5_000)
    expect(await shop.contact()).toMatchObject({
      id: answer.body.data.contact,
      email: ADA,
      subscribed: true,
      data: { plan: 'pro', seats: 3 },
    })
    expect(await shop.events()).toEqual([
      {
        id: answer.body.data.event,
        name: 'signed up',
        data: { plan: 'pro', seats: 3 },
        contactId: answer.body.data.contact,
        emailId: null,
        projectId: shop.id,
        createdAt: answer.body.data.timestamp,
        contact: { id: answer.body.data.contact, email: ADA },
      },
    ])
    expect(await shop.consents()).toEqual([])
    expect((await shop.contacts()).total).toBe(1)
  })

  test('again makes a new record of the same contact', async () => {
    const shop = await newShop()
    const answers = [
      await track(shop, { email: ADA, event: 'opened' }),
      await track(shop, { email: 'ADA@example.com', event: 'opened' }),
      await track(shop, { email: ADA, event: 'opened' }),
    ]
    expect(new Set(answers.map(({ body }) => body.data.contact)).size).toBe(1)
    const ids = answers.map(({ body }) => body.data.event)
    expect((await shop.events()).map(({ id }) => id)).toEqual([...ids].reverse())
    expect(new Set(ids).size).toBe(3)
    expect(ids).toEqual([...ids].sort())
    expect((await shop.contacts()).total).toBe(1)
  })

  test.each<[string, boolean | undefined, boolean | undefined, boolean, string[]]>([
    ['a new one is subscribed', undefined, undefined, true, []],
    ['a new one that should be is subscribed, which is no change', undefined, true, true, []],
    ['a new one that should not be is not, which is no change', undefined, false, false, []],
    ['a subscriber stays one when nothing is said', true, undefined, true, []],
    ['one that opted out stays out when nothing is said', false, undefined, false, []],
    ['a subscriber that should be one is not told so', true, true, true, []],
    ['one that opted out and should stay out is not told so', false, false, false, []],
    ['a subscriber leaves when asked for', true, false, false, ['contact.unsubscribed']],
    ['one that opted out comes back when asked for', false, true, true, ['contact.subscribed']],
  ])('%s', async (__, before, subscribed, after, events) => {
    const shop = await newShop()
    if (before !== undefined) await shop.call('POST', '/contacts', { email: ADA, subscribed: before })
    const { status } = await track(shop, { email: ADA, event: 'e', subscribed })
    expect(status).toBe(200)
    expect((await shop.contact()).subscribed).toBe(after)
    expect((await shop.names()).filter((name) => name !== 'e')).toEqual(events)
    expect((await shop.consents()).map(({ subscribed: to }) => to)).toEqual(events.map(() => after))
    expect((await shop.names()).filter((name) => name === 'e')).toHaveLength(1)
  })

  test('there and back again tells each change once', async () => {
    const shop = await newShop()
    for (const subscribed of [undefined, false, false, undefined, true, true, false])
      await track(shop, { email: ADA, event: 'e', subscribed })
    expect((await shop.names()).filter((name) => name !== 'e').reverse()).toEqual([
      'contact.unsubscribed',
      'contact.subscribed',
      'contact.unsubscribed',
    ])
    expect((await shop.consents()).map(({ subscribed }) => subscribed)).toEqual([false, true, false])
    expect(await countOf(shop)).toEqual({ total: 1, subscribed: 0 })
  })

  test('leaves a contact alone that brings nothing new, and writes what only looks the same', async () => {
    const shop = await newShop()
    await shop.track({ email: ADA, event: 'a', data: { plan: 'pro', address: { city: 'London', zip: 'W1' } } })
    const before = await shop.contact()
    await shop.track({ email: ADA, event: 'b', data: { plan: 'pro' } })
    await shop.track({ email: ADA, event: 'c' })
    expect(await shop.contact()).toEqual(before)
    // Part of what is known, but an object is stored as sent.
    await shop.track({ email: ADA, event: 'd', data: { address: { city: 'London' } } })
    const after = await shop.contact()
    expect(after.data).toEqual({ plan: 'pro', address: { city: 'London' } })
    expect(after.updatedAt > before.updatedAt).toBe(true)
    expect(await shop.names()).toEqual(['d', 'c', 'b', 'a'])
  })

  test('merges data, deletes by null, ignores "", and keeps what is not persistent to the event', async () => {
    const shop = await newShop()
    await track(shop, { email: ADA, event: 'one', data: { a: 1, b: 'x', c: true, d: { e: [1, { f: null }] }, list: [1, 'two', null] } })
    expect((await shop.contact()).data).toEqual({ a: 1, b: 'x', c: true, d: { e: [1, { f: null }] }, list: [1, 'two', null] })

    await track(shop, {
      email: ADA,
      event: 'two',
      data: {
        a: 2,
        b: null,
        c: '',
        d: { g: 1 },
        code: { value: 'secret', persistent: false },
        kept: { value: [1], persistent: true },
        odd: { value: 1 },
        none: { value: null, persistent: false },
        empty: { value: '', persistent: false },
      },
    })
    expect((await shop.contact()).data).toEqual({ a: 2, c: true, d: { g: 1 }, list: [1, 'two', null], kept: [1], odd: { value: 1 } })
    const [event] = await shop.events()
    expect(event!.data).toEqual({ a: 2, d: { g: 1 }, code: 'secret', kept: [1], odd: { value: 1 }, none: null })
    expect((await shop.call('GET', '/contacts/fields')).body.fields.map(({ field }: { field: string }) => field)).not.toContain('data.code')
  })

  test('drops reserved keys, persistent or not, from the contact and from the event', async () => {
    const shop = await newShop()
    const reserved = [
      'id',
      'email',
      'service_id',
      'service_email',
      'sterna_id',
      'sterna_email',
      'unsubscribeUrl',
      'subscribeUrl',
      'manageUrl',
    ]
    const forms = [
      (key: string) => `${key}@y.zz`,
      () => ({ value: 'x', persistent: false }),
      () => ({ value: 'x', persistent: true }),
      () => null,
    ]
    for (const form of forms) {
      const data = { ...Object.fromEntries(reserved.map((key) => [key, form(key)])), ok: 1 }
      expect((await track(shop, { email: ADA, event: 'e', data })).status).toBe(200)
      expect((await shop.events())[0]!.data).toEqual({ ok: 1 })
    }
    expect(await shop.contact()).toMatchObject({ email: ADA, data: { ok: 1 } })
    expect(Object.keys((await shop.contact()).data)).toEqual(['ok'])
  })

  test('keeps keys as they are called, and text that looks like code', async () => {
    const shop = await newShop()
    const data = {
      constructor: 1,
      toString: 'x',
      hasOwnProperty: false,
      'a b': ' ',
      'a.b': [],
      "'; drop table events; --": '{{7*7}}<script>',
      émoji: '😀\u2028\n',
      locale: 'de',
      subscribed: 'custom',
      price: -1.5,
    }
    await track(shop, { email: ADA, event: 'e', data })
    expect((await shop.contact()).data).toEqual(data)
    expect((await shop.events())[0]!.data).toEqual(data)
  })

  test('with data that is nothing changes nothing of what is stored', async () => {
    const shop = await newShop()
    await track(shop, { email: ADA, event: 'e', data: { a: 1 } })
    for (const data of [undefined, null, {}]) expect((await track(shop, { email: ADA, event: 'e', data })).status).toBe(200)
    expect((await shop.contact()).data).toEqual({ a: 1 })
    expect((await shop.events())[0]!.data).toEqual({})
  })

  test('ignores what only the service may set', async () => {
    const [shop, other] = [await newShop(), await newShop()]
    const mine = {
      id: randomUUID(),
      projectId: other.id,
      project_id: other.id,
      createdAt: '2001-01-01T00:00:00Z',
      key: 'k',
      eventId: randomUUID(),
    }
    const { body } = await track(shop, { email: ADA, event: 'e', ...mine })
    expect([mine.id, mine.eventId]).not.toContain(body.data.event)
    expect((await other.contacts()).total).toBe(0)
    expect(await shop.events()).toMatchObject([{ projectId: shop.id }])
    expect(await shop.keys()).toEqual([])
  })

  test.each([
    'email.opened',
    'email.',
    'EMAIL.Sent',
    'contact.subscribed',
    'contact.unsubscribed',
    'Contact.Subscribed',
    'segment.vip.entry',
    'segment.a.b.exit',
    'SEGMENT.x.EXIT',
    ' email.sent',
    'email.sent ',
    'e mail.sent',
    'contact . subscribed',
    'email\u00a0.sent',
    'ｅｍａｉｌ.sent',
    'email．sent',
    'email․sent',
    'contact.ſubscribed',
    'em\u200bail.sent',
    '\ufeffemail.sent',
    'em\u00adail.sent',
    'email\u2060.sent',
    'email\u180e.sent',
    'em\u034fail.sent',
    'contact.sub\u202escribed',
    'ema\u{e0001}il.x',
    'segment.\u3000x.entry',
  ])('refuses %j as a name of its own', async (event) => {
    const answer = await track(quiet, { email: ADA, event, data: { a: 1 } })
    expect([...outcome(answer), ...issues(answer)]).toEqual([422, 'VALIDATION_ERROR', ['event', 'reserved_event']])
    await expectQuiet()
  })

  test.each([
    'email',
    'emails.sent',
    'my email.sent',
    'contact.created',
    'contact.subscribed.twice',
    'contactXsubscribed',
    'segment.entry',
    'segment.x.entered',
    'segment.x.entry.late',
    'x',
    '🛒 bought 👨‍👩‍👧',
    'événement',
    '__proto__',
    "'; drop table events; --",
    '%2f/..?#&',
    'x'.repeat(255),
    '字'.repeat(255),
  ])('takes %j as a name', async (event) => {
    lively ??= await newShop()
    expect((await track(lively, { email: ADA, event })).status).toBe(200)
    expect((await lively.names())[0]).toBe(event)
    expect((await lively.call('GET', '/events/names')).body.eventNames).toContain(event)
    const usage = await lively.call('GET', `/events/${encodeURIComponent(event)}/usage`)
    expect(usage.body).toMatchObject({ totalCount: 1, uniqueContacts: 1, canDelete: true })
  })
  let lively: Shop | undefined

  test.each<[string, unknown, string]>([
    ['nothing', undefined, 'required'],
    ['null', null, 'invalid_type'],
    ['a number', 5, 'invalid_type'],
    ['a list', ['e'], 'invalid_type'],
    ['an empty text', '', 'too_small'],
    ['256 characters', 'x'.repeat(256), 'too_big'],
    ['10 kB', 'x'.repeat(10_000), 'too_big'],
    ['spaces', '  \u00a0', 'invalid_string'],
    ['U+0000', 'a\0b', 'invalid_string'],
    ['two lines', 'a\nb', 'invalid_string'],
    ['two lines of another kind', 'a\u2028b', 'invalid_string'],
    ['a carriage return', 'a\r', 'invalid_string'],
    ['an escape', '\u001b[31m', 'invalid_string'],
    ['nothing that can be seen', '\u200b\u00ad', 'invalid_string'],
    ['half a surrogate pair', '\ud800', 'invalid_string'],
  ])('refuses %s as a name', async (__, event, code) => {
    const answer = await track(quiet, { email: ADA, event })
    expect([...outcome(answer), issues(answer)[0]]).toEqual([422, 'VALIDATION_ERROR', ['event', code]])
    await expectQuiet()
  })

  test.each<[string, string, string[][]]>([
    ['a number that JSON cannot hold', `{"n":1e400}`, [['data.n', 'too_big']]],
    ['a number beyond 2^53', `{"n":9007199254740993}`, [['data.n', 'too_big']]],
    ['half a surrogate pair', `{"a":"\\ud800"}`, [['data.a', 'invalid_string']]],
    ['U+0000', `{"a":"\\u0000"}`, [['data.a', 'invalid_string']]],
    ['U+0000 deep inside', `{"a":[{"b":"x\\u0000"}]}`, [['data.a.0.b', 'invalid_string']]],
    ['a key with U+0000', `{"a\\u0000":1}`, [['data', 'invalid_string']]],
    ['a key of 10 kB', `{"${'k'.repeat(10_000)}":1}`, [[`data.${'k'.repeat(50)}`, 'too_big']]],
    ['5,000 keys', `{${times(5_000, (n) => `"k${n}":${n}`).join()}}`, [['data', 'too_big']]],
    ['a value of 900 kB', `{"a":"${'x'.repeat(900_000)}"}`, [['data', 'too_big']]],
    ['a large value that is not persistent', `{"a":{"value":"${'x'.repeat(70_000)}","persistent":false}}`, [['data', 'too_big']]],
    ['a locale that is no text', `{"locale":7}`, [['data.locale', 'invalid_type']]],
    ['a list', '[]', [['data', 'invalid_type']]],
    ['a text', '"x"', [['data', 'invalid_type']]],
  ])('refuses data with %s', async (__, data, expected) => {
    const answer = await track(quiet, `{"email":"${ADA}","event":"e","data":${data}}`)
    expect([answer.status, issues(answer)]).toEqual([422, expected])
    await expectQuiet()
  })

  test('refused for one thing changes nothing else', async () => {
    const shop = await newShop()
    await track(shop, { email: ADA, event: 'before', data: { n: 1, a: 2 } })
    const answer = await track(shop, `{"email":"${ADA}","event":"e","subscribed":false,"data":{"a":3,"n":1e400}}`)
    expect(answer.status).toBe(422)
    expect(await shop.contact()).toMatchObject({ subscribed: true, data: { n: 1, a: 2 } })
    expect(await shop.names()).toEqual(['before'])
  })

  test.each<[string, string, unknown]>([
    ['minus zero', '{"a":-0}', { a: 0 }],
    ['a prototype', '{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}},"b":1}', { constructor: { prototype: { x: 1 } }, b: 1 }],
    ['30 levels', `{"a":${'['.repeat(29)}${']'.repeat(29)}}`, { a: JSON.parse(`${'['.repeat(29)}${']'.repeat(29)}`) }],
    ['a function-like object', '{"f":{"$eval":"1+1","toJSON":"x"}}', { f: { $eval: '1+1', toJSON: 'x' } }],
    ['a small exponent', '{"a":1e-300}', { a: 1e-300 }],
  ])('takes data with %s', async (__, data, stored) => {
    const shop = await newShop()
    expect((await track(shop, `{"email":"${ADA}","event":"e","data":${data}}`)).status).toBe(200)
    expect((await shop.contact()).data).toEqual(stored)
    expect((await shop.events())[0]!.data).toEqual(stored)
  })

  test.each<[string, unknown, string]>([
    ['no email', undefined, 'required'],
    ['a number', 1, 'invalid_type'],
    ['no address', 'ada', 'invalid_string'],
    ['a header', `${ADA}\r\nBcc: x@y.zz`, 'invalid_string'],
  ])('refuses %s as address', async (__, email, code) => {
    const answer = await track(quiet, { email, event: 'e' })
    expect([...outcome(answer), ...issues(answer)]).toEqual([422, 'VALIDATION_ERROR', ['email', code]])
    await expectQuiet()
  })

  test.each([null, 'true', 1, []])('refuses %j as subscribed', async (subscribed) => {
    const answer = await track(quiet, { email: ADA, event: 'e', subscribed })
    expect([...outcome(answer), ...issues(answer)]).toEqual([422, 'VALIDATION_ERROR', ['subscribed', 'invalid_type']])
    await expectQuiet()
  })
})

const countOf = (shop: Shop) =>
  one(
    sterna.db,
    sql`select coalesce(sum(total), 0)::int as total, coalesce(sum(subscribed), 0)::int as subscribed from contact_counts where project_id = ${shop.id}`,
  )

describe('who tracked', () => {
  test('is noted with every change of a subscription', async () => {
    const shop = await newShop()
    await shop.call('POST', '/contacts', { email: ADA })
    await shop.track({ email: ADA, event: 'e', subscribed: false }, { headers: { 'x-request-id': 'from-the-shop' } })
    await shop.call('POST', '/events/track', { email: ADA, event: 'e', subscribed: true })
    const bySession = await shop.owner.call('POST', '/events/track', {
      body: { email: ADA, event: 'e', subscribed: false },
      headers: { 'x-project-id': shop.id },
    })
    expect(bySession.status).toBe(200)
    expect(await shop.consents()).toEqual([
      { subscribed: false, source: 'public-key', details: { requestId: 'from-the-shop', network: '127.0.0.1' } },
      { subscribed: true, source: 'secret-key', details: { requestId: expect.any(String) } },
      { subscribed: false, source: 'dashboard', details: { requestId: expect.any(String), userId: shop.owner.id } },
    ])
  })

  test('must be the public key on /v1/track, and must not be on /events/track', async () => {
    const shop = await newShop()
    const body = { email: ADA, event: 'e' }
    const session = { body, cookie: shop.owner.cookie, headers: { 'x-project-id': shop.id } }
    const answers = [
      await sterna.call('POST', '/v1/track', { body, key: shop.sk }),
      await sterna.call('POST', '/v1/track', { body, key: `pk_${'0'.repeat(64)}` }),
      await sterna.call('POST', '/v1/track', { body, key: shop.pk.toUpperCase() }),
      await sterna.call('POST', '/v1/track', { body, key: shop.pk.replace('pk_', 'sk_') }),
      await sterna.call('POST', '/v1/track', { body }),
      await sterna.call('POST', '/v1/track', session),
      await sterna.call('POST', '/events/track', { body, key: shop.pk }),
      await sterna.call('POST', '/events/track', { body }),
    ]
    const wrong = [401, 'INVALID_API_KEY']
    const missing = [401, 'MISSING_AUTH']
    expect(answers.map(outcome)).toEqual([wrong, wrong, wrong, wrong, missing, missing, wrong, missing])
    // A key that has been used, and is known, opens no other door.
    expect((await shop.track(body)).status).toBe(200)
    expect(outcome(await sterna.call('POST', '/events/track', { body, key: shop.pk }))).toEqual(wrong)
    expect(outcome(await sterna.call('POST', '/v1/track', { body, key: shop.sk }))).toEqual(wrong)
    expect((await sterna.call('POST', '/events/track', session)).status).toBe(200)
    expect(await shop.names()).toEqual(['e', 'e'])
  })

  test('from another origin is answered so that a page can read it', async () => {
    const shop = await newShop()
    const origin = { origin: 'https://shop.example' }
    const preflight = await sterna.call('OPTIONS', '/v1/track', {
      headers: { ...origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,idempotency-key' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key',
    })
    const answers = [
      await shop.track({ email: ADA, event: 'e' }, { headers: origin }),
      await shop.track({ email: ADA, event: 'email.x' }, { headers: origin }),
      await shop.track({ email: ADA, event: 'e' }, { headers: origin, pk: shop.sk }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 422, 401])
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe('*')
      expect(headers['access-control-allow-credentials']).toBeUndefined()
      expect(headers['access-control-expose-headers']).toContain('Retry-After')
    }
    const elsewhere = await sterna.call('POST', '/events/track', { key: shop.sk, body: { email: ADA, event: 'e' }, headers: origin })
    expect(elsewhere.headers['access-control-allow-origin']).toBeUndefined()
  })

  test('learns nothing from the answer: known and unknown look alike, and the id opens nothing', async () => {
    const shop = await newShop()
    await shop.call('POST', '/contacts', { email: 'known@example.com', subscribed: false, data: { secret: 1 } })
    const [known, unknown] = [
      await shop.track({ email: 'known@example.com', event: 'e' }),
      await shop.track({ email: 'unknown@example.com', event: 'e' }),
    ]
    expect(Object.keys(known.body.data)).toEqual(Object.keys(unknown.body.data))
    expect([known.status, Object.keys(known.headers).sort()]).toEqual([unknown.status, Object.keys(unknown.headers).sort()])
    const { contact } = known.body.data
    for (const key of [shop.pk, undefined]) {
      for (const [method, url] of [
        ['GET', `/contacts/${contact}`],
        ['PATCH', `/contacts/${contact}`],
        ['DELETE', `/contacts/${contact}`],
        ['GET', `/contacts/${contact}/consent`],
        ['GET', `/events/contact/${contact}`],
        ['GET', '/events'],
      ] as const) {
        expect((await sterna.call(method, url, { key, ...(method === 'PATCH' ? { body: {} } : {}) })).status).toBe(401)
      }
    }
  })
})

describe('a record of an event and nothing else', () => {
  test('is answered with 201, and changes no contact', async () => {
    const shop = await newShop()
    await shop.call('POST', '/contacts', { email: ADA, data: { a: 1 } })
    const before = await shop.contact()
    const data = { a: 2, b: null, c: '', d: { value: 1, persistent: false }, id: 'x' }
    const answer = await shop.call('POST', '/events/track', { name: 'call', contactId: before.id, data, subscribed: false })
    expect(answer).toMatchObject({
      status: 201,
      body: {
        id: expect.stringMatching(UUID7),
        name: 'call',
        contactId: before.id,
        emailId: null,
        projectId: shop.id,
        data: { a: 2, d: 1 },
      },
    })
    expect(Object.keys(answer.body).sort()).toEqual(['contactId', 'createdAt', 'data', 'emailId', 'id', 'name', 'projectId'])
    expect(Object.keys(answer.body.data).sort()).toEqual(['a', 'd'])
    expect(await shop.contact()).toEqual(before)
    const alone = await shop.call('POST', '/events/track', { name: 'alone' })
    expect(alone).toMatchObject({ status: 201, body: { contactId: null, data: {} } })
    expect((await shop.events()).map(({ id }) => id)).toEqual([alone.body.id, answer.body.id])
    expect((await shop.contacts()).total).toBe(1)
  })

  test('of a contact or a mail that this project does not have is a 404', async () => {
    const [shop, other] = [await newShop(), await newShop()]
    const { id: theirs } = (await other.call('POST', '/contacts', { email: ADA })).body
    for (const contactId of [theirs, randomUUID()]) {
      const answer = await shop.call('POST', '/events/track', { name: 'e', contactId })
      expect([...outcome(answer), answer.body.error.details]).toEqual([404, 'CONTACT_NOT_FOUND', { resource: 'contact', id: contactId }])
    }
    const emailId = randomUUID()
    const answer = await shop.call('POST', '/events/track', { name: 'e', emailId })
    expect([...outcome(answer), answer.body.error.details]).toEqual([404, 'RESOURCE_NOT_FOUND', { resource: 'email', id: emailId }])
    expect(await shop.events()).toEqual([])
    expect(await other.events()).toEqual([])
  })

  test.each<[string, object, string[][]]>([
    [
      'nothing',
      {},
      [
        ['email', 'required'],
        ['event', 'required'],
      ],
    ],
    ['an address only', { email: ADA }, [['event', 'required']]],
    ['an event only', { event: 'e' }, [['email', 'required']]],
    ['an event and a name, but no address', { event: 'e', name: 'n' }, [['email', 'required']]],
    ['a reserved name', { name: 'email.sent' }, [['name', 'reserved_event']]],
    ['a reserved name in disguise', { name: 'Ｃontact.unsub\u200bscribed' }, [['name', 'reserved_event']]],
    ['a name of 256', { name: 'x'.repeat(256) }, [['name', 'too_big']]],
    ['a bad id', { name: 'e', contactId: 'x' }, [['contactId', 'invalid_string']]],
    ['another bad id', { name: 'e', emailId: 7 }, [['emailId', 'invalid_type']]],
    ['a list as data', { name: 'e', data: [] }, [['data', 'invalid_type']]],
  ])('with %s is a 422', async (_, body, expected) => {
    const shop = await newShop()
    const answer = await shop.call('POST', '/events/track', body)
    expect([...outcome(answer), issues(answer)]).toEqual([422, 'VALIDATION_ERROR', expected])
    expect(await shop.events()).toEqual([])
  })

  test('an event with an address is tracked, whatever else there is', async () => {
    const shop = await newShop()
    const { status, body } = await shop.call('POST', '/events/track', { email: ADA, event: 'e', name: 'n' })
    expect([status, body.success]).toEqual([200, true])
    expect(await shop.names()).toEqual(['e'])
  })
})

describe('an Idempotency-Key', () => {
  const body = { email: ADA, event: 'bought', data: { n: 1 } }

  test('makes a repeat a 409 that tells of the first, and does nothing', async () => {
    const shop = await newShop()
    const first = await shop.track(body, { key: 'order 1' })
    const repeat = await shop.track({ email: 'other@example.com', event: 'other', subscribed: false }, { key: 'order 1' })
    expect(first.status).toBe(200)
    expect(repeat.status).toBe(409)
    expect(repeat.body.error).toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED', statusCode: 409 })
    expect(repeat.body.error.details).toEqual({
      key: 'order 1',
      originalRequest: 'POST /v1/track',
      originalRequestAt: first.body.data.timestamp,
      originalStatusCode: 200,
      event: first.body.data.event,
    })
    expect(await shop.names()).toEqual(['bought'])
    expect((await shop.contacts()).total).toBe(1)
    expect((await shop.track(body, { key: 'order 2' })).status).toBe(200)
    expect((await shop.track(body)).status).toBe(200)
    expect(await shop.keys()).toEqual(['order 1', 'order 2'])
  })

  test.each([1, 2])('of 50 twins at once, on %i nodes, lets one through and tells the others its id', async (nodes) => {
    const shop = await newShop()
    const at = (n: number) => (n % nodes ? second.sterna : sterna)
    const answers = await Promise.all(times(50, (n) => shop.track({ ...body, data: { n } }, { key: 'twin', at: at(n) })))
    expect(statuses(answers)).toEqual([200, ...Array(49).fill(409)])
    const winner = answers.find(({ status }) => status === 200)!.body.data.event
    for (const { status, body: refusal } of answers) {
      if (status === 409) expect(refusal.error.details).toMatchObject({ key: 'twin', originalStatusCode: 200, event: winner })
    }
    expect((await shop.events()).map(({ id }) => id)).toEqual([winner])
    const won = answers.findIndex(({ status }) => status === 200)
    expect((await shop.contact()).data).toEqual({ n: won })
  })

  test('among many, each once, whoever else is in their batches', async () => {
    const shop = await newShop()
    const answers = await Promise.all(
      times(200, (n) =>
        shop.track(
          { email: `c${n % 7}@example.com`, event: `e${n % 3}` },
          { ...(n % 5 ? { key: `k${n % 20}` } : {}), at: n % 2 ? second.sterna : sterna },
        ),
      ),
    )
    const keyed = answers.filter((_, n) => n % 5)
    expect(keyed.filter(({ status }) => status === 200)).toHaveLength(16)
    expect(keyed.filter(({ status }) => status === 409)).toHaveLength(160 - 16)
    expect(statuses(answers.filter((_, n) => n % 5 === 0))).toEqual(Array(40).fill(200))
    expect((await shop.call('GET', '/events')).body.total).toBe(56)
  })

  test.each<[string, string]>([
    ['nothing', ''],
    ['256 characters', 'k'.repeat(256)],
    ['a tab', 'a\tb'],
    ['DEL', 'a\x7f'],
    ['an umlaut', 'ä'],
  ])('of %s is a 400, and nothing is stored', async (_, key) => {
    const shop = await newShop()
    expect(outcome(await shop.track(body, { key }))).toEqual([400, 'BAD_REQUEST'])
    expect((await shop.contacts()).total).toBe(0)
    expect(await shop.keys()).toEqual([])
  })

  test.each(['k'.repeat(255), '~', `a b"'\\;{}$1`])('%j is one', async (key) => {
    const shop = await newShop()
    expect((await shop.track(body, { key })).status).toBe(200)
    const repeat = await shop.track(body, { key })
    expect([repeat.status, repeat.body.error.details.key]).toEqual([409, key])
  })

  test('is not used up by a request that was refused', async () => {
    const shop = await newShop()
    const large = Object.fromEntries(times(5, (n) => [`k${n}`, 'x'.repeat(65_000)]))
    const refused = [
      await shop.track({ ...body, event: 'email.x' }, { key: 'k' }),
      await shop.track({ ...body, data: { a: '\0' } }, { key: 'k' }),
      await shop.track('{', { key: 'k' }),
      await shop.track({ ...body, data: large }, { key: 'k' }),
      await shop.track(body, { key: 'k', pk: shop.sk }),
      await shop.track(body, { key: 'k', headers: { 'content-type': 'text/plain' } }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([422, 422, 400, 422, 401, 415])
    expect(await shop.keys()).toEqual([])
    expect((await shop.track(body, { key: 'k' })).status).toBe(200)
    expect((await shop.track(body, { key: 'k' })).status).toBe(409)
  })

  test('belongs to its project', async () => {
    const [shop, other] = [await newShop(), await newShop()]
    const answers = await Promise.all([shop, other, shop, other].map((each) => each.track(body, { key: 'same' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 409, 409])
    expect([await shop.names(), await other.names()]).toEqual([['bought'], ['bought']])
    for (const { status, body: refusal } of answers.filter((__, n) => n % 2)) {
      if (status === 409) expect(refusal.error.details.event).toBe((await other.events())[0]!.id)
    }
  })

  test('can be used again after a day, and holds for a day then', async () => {
    const shop = await newShop()
    const age = (hours: number) =>
      sql`update idempotency_keys set created_at = created_at - make_interval(hours => ${hours}) where project_id = ${shop.id}`.execute(
        sterna.db,
      )
    const first = await shop.track(body, { key: 'k' })
    await age(23)
    expect((await shop.track(body, { key: 'k' })).status).toBe(409)
    await age(1)
    const answers = await Promise.all(times(10, (n) => shop.track(body, { key: 'k', at: n % 2 ? second.sterna : sterna })))
    expect(statuses(answers)).toEqual([200, ...Array(9).fill(409)])
    const again = answers.find(({ status }) => status === 200)!.body.data
    expect(again.event).not.toBe(first.body.data.event)
    const { details } = (await shop.track(body, { key: 'k' })).body.error
    expect(details).toMatchObject({ event: again.event, originalRequestAt: again.timestamp })
    expect(await shop.names()).toEqual(['bought', 'bought'])
  })

  test('is no header of /events/track', async () => {
    const shop = await newShop()
    const send = () => sterna.call('POST', '/events/track', { key: shop.sk, body, headers: { 'idempotency-key': 'k' } })
    expect([(await send()).status, (await send()).status]).toEqual([200, 200])
    expect(await shop.keys()).toEqual([])
  })

  /** As a node does that has not committed yet. */
  const holding = (shop: Shop, key: string, work: (tx: Tx) => Promise<void>) =>
    transact(sterna.db, async (tx) => {
      await sql`insert into idempotency_keys (project_id, key, request, status_code) values (${shop.id}, ${key}, 'POST /v1/track', 200)`.execute(
        tx,
      )
      await work(tx)
      throw new Error('rolled back')
    }).catch((err: Error) => expect(err.message).toBe('rolled back'))

  test('that another node is busy with is waited for, and free when that one fails', async () => {
    const shop = await newShop()
    let waiting: Promise<Answer>
    await holding(shop, 'k', async (tx) => {
      waiting = shop.track(body, { key: 'k' })
      await lockWaiter()
      await sql`select pg_sleep(0.5)`.execute(tx)
    })
    expect((await waiting!).status).toBe(200)
  })

  test('that another node is busy with concerns nobody else in the batch', async () => {
    const [shop, other] = [await newShop(), await newShop()]
    let waiting: Promise<Answer>
    await holding(shop, 'k', async () => {
      const others = times(6, (n) => (n % 2 ? shop : other).track({ email: `c${n}@example.com`, event: 'e' }))
      waiting = shop.track(body, { key: 'k' })
      expect((await Promise.all(others)).map(outcome)).toEqual(Array(6).fill([200]))
    })
    expect((await waiting!).status).toBe(200)
  })

  test('that another node is busy with for too long is answered so', async () => {
    const shop = await newShop()
    await holding(shop, 'k', async () => {
      const answer = await shop.track(body, { key: 'k' })
      expect(outcome(answer)).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
      expect(answer.body.error.details).toMatchObject({
        key: 'k',
        originalRequest: 'POST /v1/track',
        originalRequestAt: null,
        originalStatusCode: null,
      })
      expect(answer.headers['retry-after']).toBe('1')
    })
  })
})

/** Until someone in this database waits for a lock. */
const lockWaiter = () =>
  expect
    .poll(() => many(sterna.db, sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`), {
      timeout: 3_000,
      interval: 5,
    })
    .not.toEqual([])

describe('on a node that knows the key', () => {
  const body = { email: ADA, event: 'e' }
  const track = (shop: Shop, pk = shop.pk) => shop.track(body, { at: second.sterna, pk })
  const verdicts = async (shop: Shop, pk?: string) =>
    new Set((await Promise.all(times(100, () => track(shop, pk)))).map((answer) => outcome(answer).join(' ')))
  const rotate = async (shop: Shop) =>
    (await shop.owner.call('POST', `/users/@me/projects/${shop.id}/regenerate-keys`)).body as { public: string; secret: string }
  const recorded = async (shop: Shop) =>
    (await one(sterna.db, sql<{ n: number }>`select count(*)::int as n from events where project_id = ${shop.id}`)).n

  test('a rotation elsewhere holds from the moment it is answered', async () => {
    const shop = await newShop()
    let { pk } = shop
    for (let round = 0; round < 3; round++) {
      expect((await track(shop, pk)).status).toBe(200)
      const fresh = await rotate(shop)
      expect(await verdicts(shop, pk)).toEqual(new Set(['401 INVALID_API_KEY']))
      expect((await track(shop, fresh.public)).status).toBe(200)
      pk = fresh.public
    }
    expect(await recorded(shop)).toBe(6)
  })

  test('a rotation under way lets each request pass with one of the pairs, and none with the old one later', async () => {
    const shop = await newShop()
    expect((await track(shop)).status).toBe(200)
    const before = times(50, () => track(shop))
    const fresh = await rotate(shop)
    const after = times(50, () => track(shop))
    expect(new Set(statuses(await Promise.all(after)))).toEqual(new Set([401]))
    const passed = (await Promise.all(before)).filter(({ status }) => status === 200).length
    expect(await recorded(shop)).toBe(1 + passed)
    expect((await track(shop, fresh.public)).status).toBe(200)
  })

  test('a revoked key no longer spends the limit of its project, whatever it sends', async () => {
    const shop = await newShop()
    const node = await startApp(sterna.url, { env: { RATE_LIMIT_PER_MINUTE: '100' } })
    try {
      const bad = () => shop.track({ email: ADA, event: '' }, { at: node.sterna })
      expect((await bad()).status).toBe(422)
      const { secret } = await rotate(shop)
      await bad()
      const answers = [await bad(), await bad()]
      expect(answers.map(outcome)).toEqual(times(2, () => [401, 'INVALID_API_KEY']))
      for (const { headers } of answers) expect(headers['ratelimit-limit']).toBeUndefined()
      const { headers } = await node.sterna.call('GET', '/events', { key: secret })
      expect(Number(headers['ratelimit-remaining'])).toBeGreaterThanOrEqual(97)
    } finally {
      await node.close()
    }
  })

  test('disabling holds at once, and so does enabling', async () => {
    const shop = await newShop()
    const disable = (disabled: boolean) => sql`update projects set disabled = ${disabled} where id = ${shop.id}`.execute(sterna.db)
    expect((await track(shop)).status).toBe(200)
    await disable(true)
    expect(await verdicts(shop)).toEqual(new Set(['403 PROJECT_DISABLED']))
    expect(outcome(await shop.call('POST', '/events/track', body))).toEqual([403, 'PROJECT_DISABLED'])
    expect(outcome(await shop.track(body, { key: 'k' }))).toEqual([403, 'PROJECT_DISABLED'])
    await disable(false)
    expect(await verdicts(shop)).toEqual(new Set(['200']))
    expect((await shop.track(body, { key: 'k' })).status).toBe(200)
    expect(await recorded(shop)).toBe(102)
  })

  test('a disabled project is not enabled by a node that never saw it', async () => {
    const shop = await newShop()
    await sql`update projects set disabled = true where id = ${shop.id}`.execute(sterna.db)
    expect(await verdicts(shop)).toEqual(new Set(['403 PROJECT_DISABLED']))
    expect(await recorded(shop)).toBe(0)
  })

  test('deletion holds at once and for good, also under a limit', async () => {
    const shop = await newShop()
    const neighbour = await newShop()
    const node = await startApp(sterna.url, { env: { RATE_LIMIT_PER_MINUTE: '20' } })
    try {
      const atNode = () => shop.track(body, { at: node.sterna })
      expect([(await track(shop)).status, (await atNode()).status]).toEqual([200, 200])
      await shop.owner.call('DELETE', `/users/@me/projects/${shop.id}`)
      expect(await verdicts(shop)).toEqual(new Set(['401 INVALID_API_KEY']))
      await expect.poll(() => many(sterna.db, sql`select 1 from projects where id = ${shop.id}`), { timeout: 10_000 }).toEqual([])
      // This node has not noticed yet.
      expect(new Set((await Promise.all(times(10, atNode))).map((answer) => outcome(answer).join(' ')))).toEqual(
        new Set(['401 INVALID_API_KEY']),
      )
      expect(await recorded(shop)).toBe(0)
      expect((await neighbour.track(body, { at: node.sterna })).status).toBe(200)
    } finally {
      await node.close()
    }
  })

  test('the keys of several projects in one batch are looked at each for itself', async () => {
    const [shop, rotated, disabled, deleted] = [await newShop(), await newShop(), await newShop(), await newShop()]
    const each = [shop, rotated, disabled, deleted]
    for (const one of each) expect((await track(one)).status).toBe(200)
    await rotate(rotated)
    await sql`update projects set disabled = true where id = ${disabled.id}`.execute(sterna.db)
    await deleted.owner.call('DELETE', `/users/@me/projects/${deleted.id}`)
    const answers = await Promise.all(times(40, (n) => track(each[n % 4]!)))
    expect(answers.map((answer) => outcome(answer).join(' '))).toEqual(
      times(40, (n) => ['200', '401 INVALID_API_KEY', '403 PROJECT_DISABLED', '401 INVALID_API_KEY'][n % 4]),
    )
    expect((await shop.events()).length).toBe(11)
  })
})

describe('the data of an event', () => {
  /** So many bytes as JSON, not all of them characters of one byte. */
  const dataOf = (bytes: number) => {
    const around = JSON.stringify({ a: { value: '', persistent: false } }).length
    return { a: { value: 'é'.repeat(1_000).padEnd(bytes - around - 1_000, 'x'), persistent: false } }
  }

  test.each(['/v1/track', '/events/track'])('has at most 32 KB as JSON on %s', async (url) => {
    const shop = await newShop()
    const send = (data: unknown) =>
      sterna.call('POST', url, {
        key: url === '/v1/track' ? shop.pk : shop.sk,
        body: JSON.stringify({ email: ADA, event: 'e', data }, null, 2),
      })
    const fits = dataOf(32 * 1024)
    expect(Buffer.byteLength(JSON.stringify(fits))).toBe(32 * 1024)
    expect((await send(fits)).status).toBe(200)
    for (const data of [dataOf(32 * 1024 + 1), { many: times(90_000, () => 0) }, times(40_000, () => 1), 'x'.repeat(40_000)]) {
      const answer = await send(data)
      expect([answer.status, issues(answer)]).toEqual([422, [['data', 'too_big']]])
    }
    expect(await shop.names()).toEqual(['e'])
  })

  test('may stand in a larger body: what is ignored does not count', async () => {
    const shop = await newShop()
    expect((await shop.track({ email: ADA, event: 'e', data: { a: 1 }, ignored: 'x'.repeat(900_000) })).status).toBe(200)
  })
})

describe('in one batch', () => {
  const large = Object.fromEntries(times(4, (n) => [`k${n}`, 'x'.repeat(65_000)]))

  test('who asks for more data than a contact holds is refused, and nobody else notices', async () => {
    const shop = await newShop()
    expect((await shop.call('POST', '/contacts', { email: 'full@example.com', data: large })).status).toBe(201)
    const bad = (n: number) => n % 17 === 3
    const answers = await Promise.all(
      times(150, (n) =>
        shop.track(
          bad(n)
            ? { email: 'full@example.com', event: 'bad', subscribed: false, data: { [`more${n}`]: 'x'.repeat(5_000) } }
            : { email: `c${n % 20}@example.com`, event: 'good', data: { n } },
          { key: `k${n}` },
        ),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(times(150, (n) => (bad(n) ? 422 : 200)))
    for (const answer of answers.filter((_, n) => bad(n))) expect(issues(answer)).toEqual([['data', 'too_big']])
    const { body } = await shop.call('GET', '/events/stats')
    expect(body).toEqual([{ name: 'good', count: answers.filter(({ status }) => status === 200).length }])
    const full = await shop.contact('full@example.com')
    expect([full.subscribed, Object.keys(full.data).sort()]).toEqual([true, Object.keys(large)])
    expect(await shop.keys()).toEqual(
      times(150, (n) => n)
        .filter((n) => !bad(n))
        .map((n) => `k${n}`)
        .sort(),
    )
    expect(await countOf(shop)).toEqual({ total: 21, subscribed: 21 })
  })

  test('also when nearly all of them are refused', async () => {
    const shop = await newShop()
    await shop.call('POST', '/contacts', { email: 'full@example.com', data: large })
    const good = (n: number) => n % 20 === 7
    const answers = await Promise.all(
      times(60, (n) =>
        shop.track(
          good(n)
            ? { email: `c${n}@example.com`, event: 'good' }
            : { email: 'full@example.com', event: 'bad', data: { [`more${n}`]: 'x'.repeat(5_000) } },
        ),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(times(60, (n) => (good(n) ? 200 : 422)))
    expect((await shop.call('GET', '/events/stats')).body).toEqual([{ name: 'good', count: 3 }])
  })

  test('two that fit alone but not together are one success and one refusal', async () => {
    const shop = await newShop()
    const most = Object.fromEntries(times(4, (n) => [`k${n}`, 'x'.repeat(55_000)]))
    await shop.call('POST', '/contacts', { email: ADA, data: most })
    const half = (name: string) => ({ [name]: 'x'.repeat(25_000) })
    const answers = await Promise.all(['a', 'b'].map((name) => shop.track({ email: ADA, event: name, data: half(name) })))
    expect(statuses(answers)).toEqual([200, 422])
    const kept = answers[0]!.status === 200 ? 'a' : 'b'
    expect(Object.keys((await shop.contact()).data).sort()).toEqual([kept, ...Object.keys(most)])
    expect(await shop.names()).toEqual([kept])
  })

  test('somebody who is being changed elsewhere keeps only those waiting who need them', async () => {
    const shop = await newShop()
    const { contact } = (await shop.track({ email: ADA, event: 'e' })).body.data
    let held: Promise<Answer>
    await transact(sterna.db, async (tx) => {
      await sql`select 1 from contacts where project_id = ${shop.id} and id = ${contact} for update`.execute(tx)
      const others = times(20, (n) => shop.track({ email: `c${n}@example.com`, event: 'e' }))
      held = shop.track({ email: ADA, event: 'held' })
      expect(new Set(statuses(await Promise.all(others)))).toEqual(new Set([200]))
      expect(await shop.names()).not.toContain('held')
    })
    expect((await held!).status).toBe(200)
  })
})

describe('too much waiting', () => {
  /** 16 MB, and some more. */
  const SENT = 560

  test('sends large bodies away with a time to come back, also those in chunks, and the others are written', async () => {
    const shop = await newShop()
    const data = { k: { value: 'x'.repeat(32_000), persistent: false } }
    const text = JSON.stringify({ email: ADA, event: 'large', data })
    const send = () =>
      sterna.app.inject({
        method: 'POST',
        url: '/v1/track',
        payload: Readable.from([text.slice(0, 9), text.slice(9)]),
        headers: { authorization: `Bearer ${shop.pk}`, 'content-type': 'application/json' },
      })
    await shop.track({ email: ADA, event: 'first' })
    let sent: ReturnType<typeof send>[] = []
    await transact(sterna.db, async (tx) => {
      await sql`select 1 from contacts where project_id = ${shop.id} for update`.execute(tx)
      sent = times(SENT, send)
      // Someone has been sent away while nothing could be written.
      await Promise.race(sent)
    })
    const answers = (await Promise.all(sent)).map((answer) => ({ status: answer.statusCode, headers: answer.headers, body: answer.json() }))
    const away = answers.filter(({ status }) => status === 503)
    expect(away.length).toBeGreaterThanOrEqual(3)
    for (const { body, headers } of away) {
      expect(body.error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: expect.stringContaining('Too much is waiting') })
      expect(headers['retry-after']).toBe('1')
    }
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(SENT - away.length)
    expect((await shop.call('GET', '/events/large/usage')).body.totalCount).toBe(SENT - away.length)
  })
})

describe('limits', () => {
  const LIMIT = 40
  const limited = useApp({ env: { RATE_LIMIT_PER_MINUTE: String(LIMIT), TRUST_PROXY: '127.0.0.1' } })
  let addresses = 0
  const newIp = () => `5.9.${Math.floor(++addresses / 250)}.${addresses % 250}`
  const track = (
    pk: string,
    { email = `c${addresses}@example.com`, ip = newIp(), ...more }: { email?: string; ip?: string; subscribed?: boolean } = {},
  ) => limited.call('POST', '/v1/track', { key: pk, body: { email, event: 'e', ...more }, headers: { 'x-forwarded-for': ip } })
  const inTurn = async (count: number, send: (n: number) => Promise<Answer>) => {
    const answers: Answer[] = []
    for (let n = 0; n < count; n++) answers.push(await send(n))
    return answers
  }
  const expectRefusal = ({ status, headers, body }: Answer) => {
    expect([status, body.error.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
    expect(Number(headers['retry-after'])).toBeGreaterThan(50)
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
    expect(body.error.details.retryAfter).toBe(Number(headers['retry-after']))
    expect(headers['access-control-allow-origin']).toBe('*')
  }
  const countEvents = async (projectId: string) =>
    (await one(limited.db, sql<{ n: number }>`select count(*)::int as n from events where project_id = ${projectId}`)).n

  test('of the project hold for tracking', async () => {
    const { id, pk, sk } = await limited.newProject()
    const answers = await inTurn(LIMIT + 1, () => track(pk))
    expect(answers.map(({ status }) => status)).toEqual([...Array(LIMIT).fill(200), 429])
    expect(answers[0]!.headers).toMatchObject({ 'ratelimit-limit': String(LIMIT), 'ratelimit-remaining': String(LIMIT - 1) })
    expectRefusal(answers.at(-1)!)
    expect((await limited.call('GET', '/events', { key: sk })).status).toBe(429)
    expect(await countEvents(id)).toBe(LIMIT)
  })

  test('of the project alone hold for one contact and for one network', async () => {
    const projects = await Promise.all(times(3, () => limited.newProject()))
    const ip = newIp()
    for (const { id, pk } of projects) {
      const answers = await inTurn(LIMIT + 1, (n) => track(pk, { email: n % 2 ? ADA : 'ADA@example.com', ip }))
      expect(answers.map(({ status }) => status)).toEqual([...Array(LIMIT).fill(200), 429])
      expect(await countEvents(id)).toBe(LIMIT)
    }
  })

  test('of changing one subscription hold while the rest can still be tracked, and do not count for the project', async () => {
    const [{ id, pk }, other] = [await limited.newProject(), await limited.newProject()]
    const change = (n: number) => track(pk, { email: n % 2 ? ADA : 'ADA@example.com', subscribed: n % 2 === 1 })
    const answers = await inTurn(SUBSCRIPTION_CHANGES_PER_MINUTE + 20, change)
    expect(answers.map(({ status }) => status)).toEqual([...Array(SUBSCRIPTION_CHANGES_PER_MINUTE).fill(200), ...Array(20).fill(429)])
    expectRefusal(answers.at(-1)!)
    const left = LIMIT - SUBSCRIPTION_CHANGES_PER_MINUTE
    expect(answers.at(-1)!.headers['ratelimit-remaining']).toBe(String(left))
    expect((await track(pk, { subscribed: false })).status).toBe(200)
    expect((await track(other.pk, { email: ADA, subscribed: false })).status).toBe(200)
    const rest = await inTurn(left, () => track(pk, { email: ADA }))
    expect(rest.map(({ status }) => status)).toEqual([...Array(left - 1).fill(200), 429])
    const [contact] = await many(
      limited.db,
      sql<{ subscribed: boolean }>`select subscribed from contacts where project_id = ${id} and email = ${ADA}`,
    )
    expect(contact!.subscribed).toBe(true)
  })

  test('of a visitor do not hold for a server with the secret key', async () => {
    const { sk } = await limited.newProject()
    const body = { email: ADA, event: 'e' }
    const answers = await inTurn(SUBSCRIPTION_CHANGES_PER_MINUTE + 2, (n) =>
      limited.call('POST', '/events/track', { key: sk, body: { ...body, subscribed: n % 2 === 0 } }),
    )
    expect(new Set(statuses(answers))).toEqual(new Set([200]))
  })
})

describe('whatever is tracked at once', () => {
  type Sent = { email: string; key?: string; subscribed?: boolean; data: Record<string, unknown>; event: string; node: number; n: number }
  const value = fc.oneof(
    fc.constant(null),
    fc.constantFrom<unknown>(1, 'x', false, [1], { y: null }),
    fc.constantFrom<unknown>('', { value: 'v', persistent: false }, { value: 2, persistent: true }, { value: null, persistent: true }),
  )
  const sent = fc.record(
    {
      email: fc.constantFrom('a@example.com', 'b@example.com', 'c@example.com'),
      key: fc.constantFrom('k1', 'k2', 'k3'),
      subscribed: fc.boolean(),
      data: fc.dictionary(fc.constantFrom('x', 'y', 'constructor'), value, { minKeys: 1 }),
      event: fc.constantFrom('one', 'two', 'three'),
      node: fc.nat(1),
    },
    { requiredKeys: ['email', 'data', 'event', 'node'] },
  )

  /** Who is there already, and whether subscribed. */
  const known = fc.dictionary(fc.constantFrom('a@example.com', 'b@example.com'), fc.boolean())
  const BEFORE = { x: 0, y: 0 }

  /** Every state a contact went through, in the order of the locks on its row. */
  beforeAll(async () => {
    await sql`
      create table passed_states (seq bigserial primary key, project_id uuid, email text, data jsonb);
      create function note_state() returns trigger language plpgsql as $$
        begin insert into passed_states (project_id, email, data) values (new.project_id, new.email, new.data); return null; end $$;
      create trigger note_state after insert or update on contacts for each row execute function note_state()
    `.execute(sterna.db)
  })
  afterAll(() => sql`drop trigger note_state on contacts; drop function note_state; drop table passed_states`.execute(sterna.db))

  const merge = (before: Record<string, unknown>, patch: Record<string, unknown>) => {
    const after = new Map(Object.entries(before))
    for (const [key, given] of Object.entries(patch)) {
      const wrapped = given as { value?: unknown; persistent?: boolean } | null
      if (wrapped?.persistent === false) continue
      const to = wrapped?.persistent === true ? wrapped.value : given
      if (to === null) after.delete(key)
      else if (to !== '') after.set(key, to)
    }
    return Object.fromEntries(after)
  }

  /** The order in which they took effect: batches as they locked the contact, in a batch as they came, as their ids tell. */
  async function orderOf(shop: Shop, email: string, accepted: (Sent & { eventId: string })[]) {
    const states = await many(
      sterna.db,
      sql<{
        data: Record<string, unknown>
      }>`select data from passed_states where project_id = ${shop.id} and email = ${email} order by seq`,
    )
    const steps = states.map(({ data }) => new Set(Object.keys(data).filter((key) => key.startsWith('request '))))
    const stepOf = ({ n }: Sent) => steps.findIndex((markers) => markers.has(`request ${n}`))
    const ordered = [...accepted].sort((a, b) => stepOf(a) - stepOf(b) || (a.eventId < b.eventId ? -1 : 1))
    expect(ordered.map(stepOf).every((step) => step >= 0)).toBe(true)
    return { ordered, states, stepOf }
  }

  test('ends as if one came after the other', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(known, fc.array(sent, { minLength: 10, maxLength: 60 }), async (before, given) => {
        const shop = await newShop()
        for (const [email, subscribed] of Object.entries(before)) await shop.call('POST', '/contacts', { email, subscribed, data: BEFORE })
        const all: Sent[] = given.map((each, n) => ({ ...each, n, data: { ...each.data, [`request ${n}`]: n } }) as Sent)
        const send = ({ key, node, n: _, ...body }: Sent) =>
          shop.track(body, { ...(key ? { key } : {}), at: node ? second.sterna : sterna })
        // Who knows the key has larger batches.
        const first = [await send(all[0]!), await send(all[1]!)]
        const answers = [...first, ...(await Promise.all(all.slice(2).map(send)))]

        // One event for each that was accepted, and of each key the first only.
        const accepted = all.flatMap((each, n) =>
          answers[n]!.status === 200 ? [{ ...each, eventId: answers[n]!.body.data.event as string }] : [],
        )
        for (const [n, { status, body }] of answers.entries()) {
          if (status === 200) continue
          expect(status).toBe(409)
          const winner = accepted.filter(({ key }) => key === all[n]!.key)
          expect(winner.map(({ eventId }) => eventId)).toEqual([body.error.details.event])
        }
        for (const key of ['k1', 'k2', 'k3']) {
          expect(accepted.filter((each) => each.key === key)).toHaveLength(all.some((each) => each.key === key) ? 1 : 0)
        }
        const events = await many(
          sterna.db,
          sql<{ id: string; name: string; email: string; n: number | null }>`
            select e.id, e.name, c.email from events e join contacts c on c.project_id = e.project_id and c.id = e.contact_id
            where e.project_id = ${shop.id} order by e.id
          `,
        )
        const tracked = events.filter(({ name }) => !name.startsWith('contact.'))
        expect(tracked.map(({ id, name, email }) => [id, name, email])).toEqual(
          accepted.map(({ eventId, event, email }) => [eventId, event, email]).sort(([a], [b]) => (a! < b! ? -1 : 1)),
        )

        const { data: contacts, total } = await shop.contacts()
        expect(contacts.map(({ email }: { email: string }) => email).sort()).toEqual(
          [...new Set([...Object.keys(before), ...accepted.map(({ email }) => email)])].sort(),
        )
        for (const contact of contacts) {
          const { ordered, states, stepOf } = await orderOf(
            shop,
            contact.email,
            accepted.filter(({ email }) => email === contact.email),
          )
          let subscribed = before[contact.email]
          let data: Record<string, unknown> = subscribed === undefined ? {} : BEFORE
          const flips: boolean[] = []
          for (const [n, each] of ordered.entries()) {
            data = merge(data, each.data)
            const isLastOfStep = n + 1 === ordered.length || stepOf(ordered[n + 1]!) !== stepOf(each)
            if (isLastOfStep) expect(states[stepOf(each)]!.data).toEqual(data)
            const wanted = each.subscribed ?? subscribed ?? true
            if (subscribed !== undefined && wanted !== subscribed) flips.push(wanted)
            subscribed = wanted
          }
          expect(contact).toMatchObject({ data, subscribed })
          expect(Object.keys(contact.data).sort()).toEqual(Object.keys(data).sort())
          const told = events.filter(({ name, email }) => name.startsWith('contact.') && email === contact.email)
          expect(told.map(({ name }) => name === 'contact.subscribed')).toEqual(flips)
          const consents = await many(
            sterna.db,
            sql<{ subscribed: boolean; source: string }>`
              select subscribed, source from consents where project_id = ${shop.id} and contact_id = ${contact.id} order by id
            `,
          )
          expect(consents).toEqual(flips.map((to) => ({ subscribed: to, source: 'public-key' })))
        }

        expect(total).toBe(contacts.length)
        expect(await countOf(shop)).toEqual({
          total: contacts.length,
          subscribed: contacts.filter(({ subscribed }: { subscribed: boolean }) => subscribed).length,
        })
        expect((await shop.call('GET', '/events')).body.total).toBe(events.length)
        const stats = (await shop.call('GET', '/events/stats')).body as { name: string; count: number }[]
        expect(Object.fromEntries(stats.map(({ name, count }) => [name, count]))).toEqual(countBy(events.map(({ name }) => name)))
      }),
      { numRuns: 18, endOnFailure: true },
    )
  })

  const countBy = (names: string[]) =>
    Object.fromEntries([...new Set(names)].map((name) => [name, names.filter((each) => each === name).length]))
})
