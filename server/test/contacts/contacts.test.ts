import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { compactCounts, recountContacts } from '../../src/contacts/counts.ts'
import { SOURCES } from '../../src/contacts/subscription.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { type Answer, useApp } from '../support/app.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })

type Contact = {
  id: string
  email: string
  subscribed: boolean
  data: Record<string, unknown> | null
  createdAt: string
  updatedAt: string
}

const PROJECTS_OF_A_PERSON = 50
let owner: Awaited<ReturnType<typeof sterna.newPerson>>
let books = 0

/** A project with what a customer does with its contacts. */
async function newBook() {
  if (books++ % PROJECTS_OF_A_PERSON === 0) owner = await sterna.newPerson()
  const { id, sk } = await sterna.newProject(owner)
  const call = (method: string, url: string, body?: unknown) =>
    sterna.call(method, url, { key: sk, ...(body === undefined ? {} : { body }) })
  return {
    id,
    sk,
    call,
    add: async (email: string, more: object = {}): Promise<Contact> => (await call('POST', '/contacts', { email, ...more })).body,
    get: async (contactId: string): Promise<Contact> => (await call('GET', `/contacts/${contactId}`)).body,
    patch: (contactId: string, body: object) => call('PATCH', `/contacts/${contactId}`, body),
    list: async (query = '') => (await call('GET', `/contacts${query}`)).body,
    emails: async (query = ''): Promise<string[]> => (await call('GET', `/contacts${query}`)).body.data.map(({ email }: Contact) => email),
    async import(csv: string) {
      const answer = await sterna.call('POST', '/contacts/import', {
        key: sk,
        headers: { 'content-type': 'multipart/form-data; boundary=cut' },
        body: `--cut\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\n${csv}\r\n--cut--\r\n`,
      })
      return finished(() => call('GET', `/contacts/import/${answer.body.jobId}`))
    },
    async bulk(operation: string, contactIds: string[]) {
      const { body } = await call('POST', `/contacts/bulk-${operation}`, { contactIds })
      return finished(() => call('GET', `/contacts/bulk/${body.jobId}`))
    },
    events: (contactId: string) =>
      many(
        sterna.db,
        sql<{ name: string }>`select name from events where project_id = ${id} and contact_id = ${contactId} order by id`,
      ).then((rows) => rows.map(({ name }) => name)),
    rows: () =>
      many(sterna.db, sql<{ email: string; subscribed: boolean }>`select email, subscribed from contacts where project_id = ${id}`),
  }
}
type Book = Awaited<ReturnType<typeof newBook>>

async function finished(status: () => Promise<Answer>) {
  await expect.poll(async () => (await status()).body.state, { timeout: 15_000, interval: 10 }).toBe('completed')
  return (await status()).body.result
}

const statuses = (answers: Answer[]) => answers.map(({ status }) => status).sort()
const count = <T>(items: T[], wanted: T) => items.filter((item) => item === wanted).length
const times = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))
const plainError = { error: expect.stringMatching(/./) }

describe('creating and updating a contact', () => {
  test('a new one is answered with 201, whole, and found again', async () => {
    const book = await newBook()
    const { status, body } = await book.call('POST', '/contacts', { email: 'Ada@Example.com', data: { plan: 'pro', age: 36 } })
    expect(status).toBe(201)
    const { _meta, ...contact } = body
    expect(contact).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      email: 'ada@example.com',
      subscribed: true,
      data: { plan: 'pro', age: 36 },
      projectId: book.id,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: contact.createdAt,
    })
    expect(_meta).toEqual({ isNew: true, isUpdate: false })
    expect(await book.get(contact.id)).toEqual(contact)
    expect((await book.list()).data).toEqual([contact])
  })

  test('a known one is answered with 200 and keeps what was not sent', async () => {
    const book = await newBook()
    const first = await book.add('ada@example.com', { data: { plan: 'pro', city: 'Bonn', tags: ['a'] } })
    const { status, body } = await book.call('POST', '/contacts', {
      email: 'ada@example.com',
      data: { plan: 'max', city: null, tags: { b: 1 } },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ id: first.id, createdAt: first.createdAt, data: { plan: 'max', tags: { b: 1 } } })
    expect(body._meta).toEqual({ isNew: false, isUpdate: true })
    expect(Object.keys(body.data).sort()).toEqual(['plan', 'tags'])
    expect(Date.parse(body.updatedAt)).toBeGreaterThanOrEqual(Date.parse(first.updatedAt))
  })

  test.each<[string, object | undefined, object, boolean]>([
    ['a new one is subscribed', undefined, {}, true],
    ['a new one that should not be is not', undefined, { subscribed: false }, false],
    ['one that opted out stays out when nothing is said', { subscribed: false }, {}, false],
    ['one that opted out comes back when asked for', { subscribed: false }, { subscribed: true }, true],
    ['a subscriber stays one when nothing is said', {}, {}, true],
    ['a subscriber leaves when asked for', {}, { subscribed: false }, false],
  ])('%s', async (_, before, sent, after) => {
    const book = await newBook()
    if (before) await book.add('ada@example.com', before)
    expect((await book.add('ada@example.com', sent)).subscribed).toBe(after)
    expect((await book.rows())[0]!.subscribed).toBe(after)
  })

  test.each<[string, unknown]>([
    ['no email', {}],
    ['no email but data', { data: { a: 1 }, subscribed: true }],
    ['an email under another name', { Email: 'ada@example.com' }],
    ['null as email', { email: null }],
  ])('a body with %s is a plain 400', async (_, body) => {
    const book = await newBook()
    const answer = await book.call('POST', '/contacts', body)
    expect(answer).toMatchObject({ status: 400, body: plainError })
    expect(Object.keys(answer.body)).toEqual(['error'])
    expect(await book.rows()).toEqual([])
  })

  test.each<[string, object, string, string]>([
    ['a number as email', { email: 123 }, 'email', 'invalid_type'],
    ['a list as email', { email: ['ada@example.com'] }, 'email', 'invalid_type'],
    ['no at sign', { email: 'ada' }, 'email', 'invalid_string'],
    ['an empty email', { email: '' }, 'email', 'invalid_string'],
    ['two addresses', { email: 'a@example.com, b@example.com' }, 'email', 'invalid_string'],
    ['an address with a name', { email: 'Ada <ada@example.com>' }, 'email', 'invalid_string'],
    ['a header in the address', { email: 'ada@example.com\r\nBcc: x@y.z' }, 'email', 'invalid_string'],
    ['U+0000 in the address', { email: 'a\0@example.com' }, 'email', 'invalid_string'],
    ['an address that is too long', { email: `${'a'.repeat(310)}@example.com` }, 'email', 'too_big'],
    ['a text as subscribed', { email: 'ada@example.com', subscribed: 'true' }, 'subscribed', 'invalid_type'],
    ['a number as subscribed', { email: 'ada@example.com', subscribed: 1 }, 'subscribed', 'invalid_type'],
    ['null as subscribed', { email: 'ada@example.com', subscribed: null }, 'subscribed', 'invalid_type'],
    ['a list as data', { email: 'ada@example.com', data: [] }, 'data', 'invalid_type'],
    ['a text as data', { email: 'ada@example.com', data: 'x' }, 'data', 'invalid_type'],
    ['a number as data', { email: 'ada@example.com', data: 1 }, 'data', 'invalid_type'],
    ['a locale that is no text', { email: 'ada@example.com', data: { locale: 1 } }, 'data.locale', 'invalid_type'],
    ['U+0000 in a value', { email: 'ada@example.com', data: { a: '\0' } }, 'data.a', 'invalid_string'],
    ['half a surrogate pair', { email: 'ada@example.com', data: { a: '\ud800' } }, 'data.a', 'invalid_string'],
    ['a key of 256 bytes', { email: 'ada@example.com', data: { ['k'.repeat(256)]: 1 } }, `data.${'k'.repeat(50)}`, 'too_big'],
    ['a value that is too long', { email: 'ada@example.com', data: { a: 'x'.repeat(65_537) } }, 'data.a', 'too_big'],
  ])('a body with %s is a 422 that names the field', async (_, body, field, code) => {
    const book = await newBook()
    const answer = await book.call('POST', '/contacts', body)
    expect(answer).toMatchObject({ status: 422, body: { success: false, error: { code: 'VALIDATION_ERROR', errors: [{ field, code }] } } })
    expect(await book.rows()).toEqual([])
  })

  test('what only the service may set is ignored', async () => {
    const book = await newBook()
    const other = await newBook()
    const theirs = {
      id: randomUUID(),
      projectId: other.id,
      project_id: other.id,
      createdAt: '2001-01-01T00:00:00.000Z',
      _meta: { isNew: false },
    }
    const created = await book.call('POST', '/contacts', { email: 'ada@example.com', ...theirs })
    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({ projectId: book.id, _meta: { isNew: true } })
    expect(created.body.id).not.toBe(theirs.id)
    expect(created.body.createdAt).not.toBe(theirs.createdAt)
    const { body } = await book.patch(created.body.id, { ...theirs, updatedAt: theirs.createdAt })
    expect(body).toMatchObject({ id: created.body.id, projectId: book.id, createdAt: created.body.createdAt })
    expect(body.updatedAt).not.toBe(theirs.createdAt)
    expect(await other.rows()).toEqual([])
  })

  test.each([
    ['ada@example.com', 'ADA@EXAMPLE.COM', ' Ada@Example.com\t'],
    ['ada@bücher.example', 'ADA@BÜCHER.example', 'ada@xn--bcher-kva.example', 'ada@XN--BCHER-KVA.EXAMPLE', 'ada@bu\u0308cher.example'],
    ['caf\u00e9@example.com', 'cafe\u0301@example.com', 'CAFe\u0301@EXAMPLE.com', 'CAF\u00c9@example.com'],
    ['i\u0307stanbul@example.com', '\u0130stanbul@example.com', 'I\u0307STANBUL@example.com'],
  ])('%s in any spelling is one contact', async (...spellings) => {
    const book = await newBook()
    const { id } = await book.add(spellings[0]!)
    for (const email of spellings) expect(await book.add(email)).toMatchObject({ id, _meta: { isNew: false, isUpdate: true } })
    expect(await book.rows()).toHaveLength(1)
    expect((await book.list()).total).toBe(1)
  })

  test('data is kept as it was sent, whatever it is called', async () => {
    const book = await newBook()
    const data = {
      constructor: 1,
      toString: 'x',
      'a b': ' ',
      'a.b': { 'c"d': [1, { e: null }, ''] },
      "'; drop table contacts; --": true,
      'x\\y': '\\',
      émoji: '😀\u2028\t\n',
      subscribed: 'custom',
      createdAt: 'custom',
      zero: 0,
      price: 1.1,
      html: '<img src=x onerror=alert(1)>{{7*7}}',
    }
    const { id } = await book.add('ada@example.com', { data })
    expect((await book.get(id)).data).toEqual(data)
    expect((await book.list()).data[0].data).toEqual(data)
  })

  test('reserved keys, "" and what is not persistent are stored nowhere, null deletes', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com', { data: { a: 1, b: 1 } })
    const dropped = Object.fromEntries(
      ['id', 'email', 'service_id', 'service_email', 'sterna_id', 'sterna_email', 'unsubscribeUrl', 'subscribeUrl', 'manageUrl'].map(
        (key) => [key, 'x@y.zz'],
      ),
    )
    const data = { ...dropped, a: '', b: null, c: { value: 1, persistent: false }, d: { value: 2, persistent: true } }
    for (const send of [() => book.add('ada@example.com', { data }), () => book.patch(id, { data })]) await send()
    expect(await book.get(id)).toMatchObject({ email: 'ada@example.com', data: { a: 1, d: 2 } })
    expect(Object.keys((await book.get(id)).data!).sort()).toEqual(['a', 'd'])
  })

  test('data is null when nothing is left of it', async () => {
    const book = await newBook()
    const { id, data } = await book.add('ada@example.com', { data: null })
    expect(data).toBeNull()
    await book.patch(id, { data: { a: 1 } })
    expect((await book.patch(id, { data: { a: null } })).body.data).toBeNull()
  })

  test('many clients that create the same address create it once', async () => {
    const book = await newBook()
    const answers = await Promise.all(
      times(60, (n) => book.call('POST', '/contacts', { email: n % 2 ? 'ada@example.com' : 'ADA@example.com', data: { [`k${n}`]: n } })),
    )
    expect(statuses(answers)).toEqual([...times(59, () => 200), 201])
    expect(answers.filter(({ body }) => body._meta.isNew).map(({ status }) => status)).toEqual([201])
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    const { data, total } = await book.list()
    expect(total).toBe(1)
    expect(data[0].data).toEqual(Object.fromEntries(times(60, (n) => [`k${n}`, n])))
    expect(await book.events(data[0].id)).toEqual([])
  })

  test('more data than a contact can hold is refused with 422 and changes nothing', async () => {
    const book = await newBook()
    const large = Object.fromEntries(times(4, (n) => [`k${n}`, 'x'.repeat(65_000)]))
    const { id } = await book.add('ada@example.com', { data: large })
    expect(Object.keys((await book.get(id)).data!)).toHaveLength(4)

    const tooMuch = { data: { k5: 'x'.repeat(10_000) }, subscribed: false }
    const answers = [
      await book.call('POST', '/contacts', { email: 'new@example.com', data: { ...large, ...tooMuch.data } }),
      await book.call('POST', '/contacts', { email: 'ada@example.com', ...tooMuch }),
      await book.patch(id, tooMuch),
    ]
    expect(answers.map(({ status, body }) => [status, body.error.code])).toEqual(times(3, () => [422, 'VALIDATION_ERROR']))
    expect(answers[0]!.body.error.errors).toMatchObject([{ field: 'data', code: 'too_big' }])
    expect(await book.get(id)).toMatchObject({ subscribed: true, data: large })
    expect((await book.list()).total).toBe(1)
  })
})

describe('patching a contact', () => {
  test.each<[string, object, object]>([
    ['the address', { email: ' Grace@Example.com' }, { email: 'grace@example.com', subscribed: true, data: { a: 1, b: 2 } }],
    ['the subscription', { subscribed: false }, { email: 'ada@example.com', subscribed: false, data: { a: 1, b: 2 } }],
    ['some data', { data: { a: null, b: 3, c: 4 } }, { email: 'ada@example.com', subscribed: true, data: { b: 3, c: 4 } }],
    [
      'all of it',
      { email: 'g@example.com', subscribed: false, data: { a: 'x' } },
      { email: 'g@example.com', subscribed: false, data: { a: 'x', b: 2 } },
    ],
    ['all data at once', { data: null }, { email: 'ada@example.com', subscribed: true, data: null }],
    ['nothing', {}, { email: 'ada@example.com', subscribed: true, data: { a: 1, b: 2 } }],
    ['nothing of its data', { data: {} }, { email: 'ada@example.com', subscribed: true, data: { a: 1, b: 2 } }],
    ['nothing that it knows', { nonsense: 1 }, { email: 'ada@example.com', subscribed: true, data: { a: 1, b: 2 } }],
  ])('changes %s and nothing else', async (_, patch, after) => {
    const book = await newBook()
    const { _meta, ...before } = (await book.add('ada@example.com', { data: { a: 1, b: 2 } })) as Contact & { _meta: unknown }
    const { status, body } = await book.patch(before.id, patch)
    expect(status).toBe(200)
    expect(body).toEqual({ ...before, ...after, updatedAt: expect.any(String) })
    expect(Date.parse(body.updatedAt)).toBeGreaterThanOrEqual(Date.parse(before.updatedAt))
    expect(await book.get(before.id)).toEqual(body)
  })

  test.each<[string, object]>([
    ['a list as data', { data: [] }],
    ['a text as data', { data: 'x' }],
    ['a bad address', { email: 'nobody' }],
    ['null as address', { email: null }],
    ['null as subscribed', { subscribed: null }],
    ['a locale that is no text', { data: { locale: {} } }],
    ['U+0000', { data: { a: 'x\0' } }],
  ])('with %s is a 422 and changes nothing', async (_, patch) => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com')
    const before = await book.get(id)
    expect(await book.patch(id, { subscribed: false, ...patch })).toMatchObject({
      status: 422,
      body: { error: { code: 'VALIDATION_ERROR' } },
    })
    expect(await book.get(id)).toEqual(before)
  })

  test.each([
    ['ada@example.com', 'ADA@example.COM', '\tada@example.com '],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example', 'ADA@BU\u0308CHER.example'],
    ['caf\u00e9@example.com', 'cafe\u0301@EXAMPLE.com'],
  ])('to the address of another, %s in any spelling, is a plain 409', async (...spellings) => {
    const book = await newBook()
    const elsewhere = await newBook()
    await book.add(spellings[0]!)
    const { id } = await book.add('other@example.com')
    for (const email of spellings) {
      const answer = await book.patch(id, { email, subscribed: false, data: { a: 1 } })
      expect(answer).toMatchObject({ status: 409, body: plainError })
      expect(Object.keys(answer.body)).toEqual(['error'])
    }
    expect(await book.get(id)).toMatchObject({ email: 'other@example.com', subscribed: true, data: null })
    expect(await book.events(id)).toEqual([])
    // The same address in another project is nobody's business here.
    const { id: theirs } = await elsewhere.add('theirs@example.com')
    expect((await elsewhere.patch(theirs, { email: spellings[1] })).status).toBe(200)
  })

  test('to its own address in another spelling is fine', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@bücher.example')
    for (const email of ['ADA@bücher.example', 'ada@xn--bcher-kva.example']) expect((await book.patch(id, { email })).status).toBe(200)
  })

  test('of 50 that race for one address one wins and the others are told', async () => {
    const book = await newBook()
    const contacts = await Promise.all(times(50, (n) => book.add(`racer${n}@example.com`)))
    const spellings = ['prize@bücher.example', 'PRIZE@BÜCHER.example', 'prize@xn--bcher-kva.example', 'prize@bu\u0308cher.example']
    const answers = await Promise.all(contacts.map(({ id }, n) => book.patch(id, { email: spellings[n % 4], data: { racer: n } })))
    expect(count(statuses(answers), 200)).toBe(1)
    expect(count(statuses(answers), 409)).toBe(49)
    for (const { status, body } of answers) if (status === 409) expect(body).toEqual(plainError)
    const winner = answers.findIndex(({ status }) => status === 200)
    const after = await Promise.all(contacts.map(({ id }) => book.get(id)))
    expect(after.map(({ email, data }) => [email, data])).toEqual(
      times(50, (n) => (n === winner ? ['prize@xn--bcher-kva.example', { racer: n }] : [`racer${n}@example.com`, null])),
    )
  })

  test('to an address that is being created has one winner too', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com')
    for (let round = 0; round < 10; round++) {
      const email = `wanted${round}@example.com`
      const [created, patched] = await Promise.all([
        book.call('POST', '/contacts', { email: email.toUpperCase() }),
        book.patch(id, { email }),
      ])
      expect([
        [201, 409],
        [200, 200],
      ]).toContainEqual([created.status, patched.status])
      expect(created.body.id === id).toBe(patched.status === 200)
    }
  })

  test('two that swap addresses are both refused or both told so, never a 500', async () => {
    const book = await newBook()
    const [a, b] = [await book.add('a@example.com'), await book.add('b@example.com')]
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all([book.patch(a.id, { email: 'b@example.com' }), book.patch(b.id, { email: 'a@example.com' })])
      expect(statuses(answers)).toEqual([409, 409])
    }
    expect((await book.emails('?sort=email&dir=asc')).sort()).toEqual(['a@example.com', 'b@example.com'])
  })

  test('100 patches of different keys at once all survive, also beside upserts and flips', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com', { data: { old: 1 } })
    const answers = await Promise.all(
      times(100, (n) =>
        n % 3
          ? book.patch(id, { data: { [`k${n}`]: n }, ...(n % 5 ? {} : { subscribed: n % 2 === 0 }) })
          : book.call('POST', '/contacts', { email: 'ada@example.com', data: { [`k${n}`]: n } }),
      ),
    )
    expect(new Set(statuses(answers))).toEqual(new Set([200]))
    expect((await book.get(id)).data).toEqual({ old: 1, ...Object.fromEntries(times(100, (n) => [`k${n}`, n])) })
  })

  test('PostgreSQL merges data as the rules say, for any two patches', async () => {
    const book = await newBook()
    const key = fc.constantFrom('a', 'b', 'c d', 'constructor', 'e.f', '"g', 'ħ')
    const value = fc.oneof(
      fc.constantFrom<unknown>('', null, 'x', 0, 1.5, true, false, [], {}, [null], { a: null }),
      fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
      fc.integer(),
    )
    const data = fc.dictionary(key, fc.oneof(value, fc.record({ value, persistent: fc.boolean() })), { maxKeys: 5 })
    const isWrapped = (given: unknown): given is { value: unknown; persistent: boolean } =>
      typeof given === 'object' && given !== null && 'persistent' in given
    const model = (before: Map<string, unknown>, patch: Record<string, unknown>) => {
      const after = new Map(before)
      for (const [name, given] of Object.entries(patch)) {
        if (isWrapped(given) && !given.persistent) continue
        const sent = isWrapped(given) ? given.value : given
        if (sent === null) after.delete(name)
        else if (sent !== '') after.set(name, sent)
      }
      return after
    }
    let contacts = 0
    await fc.assert(
      fc.asyncProperty(data, data, fc.boolean(), async (first, second, byId) => {
        const email = `p${++contacts}@example.com`
        const { id } = await book.add(email, { data: first })
        const { body } = byId ? await book.patch(id, { data: second }) : await book.call('POST', '/contacts', { email, data: second })
        const expected = Object.fromEntries(model(model(new Map(), first), second))
        expect(body.data ?? {}).toEqual(expected)
        expect((await book.get(id)).data ?? {}).toEqual(expected)
      }),
      { numRuns: 50 },
    )
  })
})

describe('a contact that is not there', () => {
  test.each([
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['GET', '/consent'],
  ])('%s /contacts/:id%s gives the same 404 for an unknown, a malformed, a deleted and a foreign id', async (method, path) => {
    const book = await newBook()
    const foreign = await (await newBook()).add('ada@example.com')
    const deleted = await book.add('gone@example.com')
    await book.call('DELETE', `/contacts/${deleted.id}`)
    const ids = [
      randomUUID(),
      'x',
      '1',
      "'",
      '%25',
      'f'.repeat(36),
      `${randomUUID()}0`,
      `{${randomUUID()}}`,
      deleted.id,
      foreign.id,
      'z'.repeat(1_500),
    ]
    const before = await sterna.digest({ except: ['attempts', 'job_workers'] })
    for (const id of ids) {
      const { status, body } = await book.call(method, `/contacts/${id}${path}`, method === 'PATCH' ? { subscribed: false } : undefined)
      expect(status).toBe(404)
      expect(body).toEqual({
        success: false,
        error: {
          code: 'CONTACT_NOT_FOUND',
          message: 'No such contact.',
          statusCode: 404,
          requestId: expect.any(String),
          details: { resource: 'contact', id: decodeURIComponent(id).slice(0, 100) },
        },
        timestamp: expect.any(String),
      })
    }
    expect(await sterna.digest({ except: ['attempts', 'job_workers'] })).toBe(before)
    expect((await book.call(method, `/contacts/%00${path}`, method === 'PATCH' ? {} : undefined)).status).toBe(404)
  })
})

describe('deleting a contact', () => {
  test('takes everything known of it along and of nobody else', async () => {
    const book = await newBook()
    const [ada, grace] = [await book.add('ada@example.com', { data: { plan: 'pro' } }), await book.add('grace@example.com')]
    for (const { id } of [ada, grace]) await book.patch(id, { subscribed: false })

    const { status, body } = await book.call('DELETE', `/contacts/${ada.id}`)
    expect([status, body]).toEqual([204, ''])
    expect((await book.call('GET', `/contacts/${ada.id}`)).status).toBe(404)
    expect(await Promise.all(['', '?subscribed=true', '?subscribed=false'].map(async (query) => (await book.list(query)).total))).toEqual([
      1, 0, 1,
    ])
    expect(await one(sterna.db, sql`select count(*)::int as n from consents where project_id = ${book.id}`)).toEqual({ n: 1 })
    await expect.poll(() => book.events(ada.id)).toEqual([])
    expect(await book.events(grace.id)).toEqual(['contact.unsubscribed'])

    const again = await book.call('POST', '/contacts', { email: 'ada@example.com' })
    expect(again).toMatchObject({ status: 201, body: { subscribed: true, data: null } })
    expect(again.body.id).not.toBe(ada.id)
    expect((await book.call('GET', `/contacts/${again.body.id}/consent`)).body.data).toEqual([])
  })

  test('happens once when many ask for it, and the total knows', async () => {
    const book = await newBook()
    const [{ id }] = [await book.add('ada@example.com'), await book.add('grace@example.com', { subscribed: false })]
    const answers = await Promise.all(
      times(20, (n) => (n % 4 ? book.call('DELETE', `/contacts/${id}`) : book.patch(id, { subscribed: n % 8 > 0 }))),
    )
    expect(count(statuses(answers), 204)).toBe(1)
    expect(statuses(answers).every((status) => [200, 204, 404].includes(status))).toBe(true)
    expect([(await book.list()).total, (await book.list('?subscribed=true')).total, (await book.list('?subscribed=false')).total]).toEqual([
      1, 0, 1,
    ])
  })
})

describe('looking addresses up', () => {
  const lookup = (book: Book, emails: unknown) => book.call('POST', '/contacts/lookup', { emails })

  test('says which are contacts, each as it was given, however often', async () => {
    const book = await newBook()
    await (await newBook()).add('theirs@example.com')
    await Promise.all(['ada@example.com', 'caf\u00e9@bücher.example'].map((email) => book.add(email)))
    const found = ['ADA@Example.com', ' ada@example.com', 'ada@example.com', 'cafe\u0301@BÜCHER.example', 'ada@example.com']
    const notFound = ['theirs@example.com', 'nobody', '', 'nobody', '%', '_da@example.com', 'ada@example.co', '=cmd()@example.com']
    const { status, body } = await lookup(book, [...found, ...notFound])
    expect(status).toBe(200)
    expect(body).toEqual({ found, notFound })
  })

  test.each<[string, unknown, number]>([
    ['no addresses', [], 400],
    ['one', ['a@example.com'], 200],
    ['500', times(500, (n) => `a${n}@example.com`), 200],
    ['501', times(501, (n) => `a${n}@example.com`), 400],
    ['501 times the same', times(501, () => 'a@example.com'), 400],
  ])('with %s', async (_, emails, status) => {
    const answer = await lookup(await newBook(), emails)
    expect(answer.status).toBe(status)
    expect(answer.body).toEqual(status === 400 ? plainError : { found: [], notFound: emails })
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a text', 'a@example.com'],
    ['numbers', [1]],
    ['null', [null]],
    ['an address of 64 kB', ['x'.repeat(65_536)]],
  ])('%s in place of addresses is a 422', async (_, emails) => {
    expect((await lookup(await newBook(), emails)).status).toBe(422)
  })
})

describe('a change of subscription', () => {
  test('is told once, and only when something changed', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com', { subscribed: false })
    const steps: [() => Promise<unknown>, string[]][] = [
      [() => book.patch(id, { subscribed: false }), []],
      [() => book.patch(id, { subscribed: true }), ['contact.subscribed']],
      [() => book.patch(id, { subscribed: true, data: { a: 1 } }), ['contact.subscribed']],
      [() => book.add('ada@example.com'), ['contact.subscribed']],
      [() => book.add('ada@example.com', { subscribed: false }), ['contact.subscribed', 'contact.unsubscribed']],
      [() => book.patch(id, { subscribed: true, email: 'taken' }), ['contact.subscribed', 'contact.unsubscribed']],
    ]
    for (const [step, expected] of steps) {
      await step()
      expect(await book.events(id)).toEqual(expected)
    }
  })

  test('shows in the usage of its event, in this project only', async () => {
    const [book, other] = [await newBook(), await newBook()]
    const [ada, grace] = [await book.add('ada@example.com'), await book.add('grace@example.com')]
    for (const subscribed of [false, true, false]) await book.patch(ada.id, { subscribed })
    await book.patch(grace.id, { subscribed: false })
    const usage = async (of: Book, name: string) => (await of.call('GET', `/events/${name}/usage`)).body
    const nowhere = { usedInSegments: [], usedInCampaigns: [], usedInWorkflows: [], canDelete: expect.any(Boolean) }
    expect(await usage(book, 'contact.unsubscribed')).toEqual({ ...nowhere, totalCount: 3, uniqueContacts: 2 })
    expect(await usage(book, 'contact.subscribed')).toEqual({ ...nowhere, totalCount: 1, uniqueContacts: 1 })
    expect(await usage(book, 'contact.%25')).toEqual({ ...nowhere, totalCount: 0, uniqueContacts: 0 })
    expect(await usage(other, 'contact.unsubscribed')).toEqual({ ...nowhere, totalCount: 0, uniqueContacts: 0 })
  })

  test('of an import and of a bulk job is told once each', async () => {
    const book = await newBook()
    const [on, off] = [await book.add('on@example.com'), await book.add('off@example.com', { subscribed: false })]
    await book.import('email,subscribed\non@example.com,no\noff@example.com,yes\nnew@example.com,no\non@example.com,no')
    expect([await book.events(on.id), await book.events(off.id)]).toEqual([['contact.unsubscribed'], ['contact.subscribed']])
    await book.bulk('subscribe', [on.id, off.id])
    expect([await book.events(on.id), await book.events(off.id)]).toEqual([
      ['contact.unsubscribed', 'contact.subscribed'],
      ['contact.subscribed'],
    ])
  })

  test('is told exactly once per real change when 50 clients flip at once', async () => {
    const book = await newBook()
    const { id, email } = await book.add('ada@example.com')
    const wanted = (n: number) => n % 2 === 0
    const answers = await Promise.all(
      times(50, (n) =>
        n % 3 ? book.patch(id, { subscribed: wanted(n) }) : book.call('POST', '/contacts', { email, subscribed: wanted(n), data: { n } }),
      ),
    )
    expect(new Set(statuses(answers))).toEqual(new Set([200]))
    const { subscribed } = await book.get(id)
    const events = await book.events(id)
    const consents = await many(
      sterna.db,
      sql<{ subscribed: boolean }>`select subscribed from consents where project_id = ${book.id} and contact_id = ${id}`,
    )
    // It began subscribed and changes alternate, so it left as often as it came back, or once more.
    expect(events.length).toBeGreaterThan(0)
    expect(count(events, 'contact.unsubscribed') - count(events, 'contact.subscribed')).toBe(subscribed ? 0 : 1)
    expect(consents.filter((consent) => consent.subscribed).length).toBe(count(events, 'contact.subscribed'))
    expect(consents.length).toBe(events.length)
    expect((await book.list('?subscribed=true')).total).toBe(subscribed ? 1 : 0)
  })
})

describe('the consent record', () => {
  test.each(SOURCES)('has the source %s, which the documentation explains', (source) => {
    const docs = readFileSync(new URL('../../../docs/contacts.md', import.meta.url), 'utf8')
    expect(docs.split('\n').some((line) => line.startsWith('| `') && line.split(' | ')[0]!.includes(`\`${source}\``))).toBe(true)
  })

  const consents = async (book: Book, id: string, query = '') => (await book.call('GET', `/contacts/${id}/consent${query}`)).body

  test('says who changed it, newest first', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com')
    const dashboard = (body: object) => owner.call('PATCH', `/contacts/${id}`, { body, headers: { 'x-project-id': book.id } })
    await sterna.call('PATCH', `/contacts/${id}`, { key: book.sk, body: { subscribed: false }, headers: { 'x-request-id': 'order-42' } })
    await dashboard({ subscribed: true })
    await book.bulk('unsubscribe', [id])
    await book.import('email,subscribed\nada@example.com,true')
    await book.patch(id, { subscribed: true })

    const { data, ...page } = await consents(book, id)
    expect(data.map(({ source, subscribed, details }: Record<string, unknown>) => [source, subscribed, details])).toEqual([
      ['import', true, { jobId: expect.any(String), startedBy: 'secret-key', requestId: expect.any(String) }],
      ['bulk', false, { jobId: expect.any(String), startedBy: 'secret-key', requestId: expect.any(String) }],
      ['dashboard', true, { userId: owner.id, requestId: expect.any(String) }],
      ['secret-key', false, { requestId: 'order-42' }],
    ])
    expect(Object.keys(data[0]).sort()).toEqual(['createdAt', 'details', 'id', 'source', 'subscribed'])
    expect(page).toEqual({ cursor: null, hasMore: false, total: 4 })
  })

  test('is paged, and the first page tells how many there are', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com')
    for (let n = 0; n < 23; n++) await book.patch(id, { subscribed: n % 2 === 1 })
    const pages = [await consents(book, id, '?limit=10')]
    while (pages.at(-1).cursor) pages.push(await consents(book, id, `?limit=10&cursor=${pages.at(-1).cursor}`))
    expect(pages.map(({ data, hasMore }) => [data.length, hasMore])).toEqual([
      [10, true],
      [10, true],
      [3, false],
    ])
    expect(pages.flatMap(({ data }) => data.map((consent: { subscribed: boolean }) => consent.subscribed))).toEqual(
      times(23, (n) => n % 2 === 1),
    )
    expect(new Set(pages.flatMap(({ data }) => data.map((consent: { id: string }) => consent.id))).size).toBe(23)
    expect(pages.map(({ total }) => total)).toEqual([23, 0, 0])
  })

  test('keeps the order of changes within one millisecond', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    for (let n = 0; n < 12; n++) await book.patch(id, { subscribed: n % 2 === 1 })
    vi.useRealTimers()
    const { data } = await consents(book, id)
    expect(data.map(({ subscribed }: { subscribed: boolean }) => subscribed)).toEqual(times(12, (n) => n % 2 === 0))
    expect(await book.events(id)).toEqual(times(12, (n) => (n % 2 ? 'contact.subscribed' : 'contact.unsubscribed')))
  })

  test('has a cursor that fits no other contact', async () => {
    const book = await newBook()
    const [ada, grace] = [await book.add('ada@example.com'), await book.add('grace@example.com')]
    for (const { id } of [ada, grace]) for (const subscribed of [false, true]) await book.patch(id, { subscribed })
    const { cursor } = await consents(book, ada.id, '?limit=1')
    expect((await book.call('GET', `/contacts/${ada.id}/consent?cursor=${cursor}`)).status).toBe(200)
    for (const url of [
      `/contacts/${grace.id}/consent?cursor=${cursor}`,
      `/contacts?cursor=${cursor}`,
      `/contacts/${ada.id}/consent?cursor=x`,
    ])
      expect((await book.call('GET', url)).status).toBe(400)
  })
})

describe('the list', () => {
  let book: Book
  let contacts: { email: string; subscribed: boolean }[]
  const byCode = (a: string, b: string) => (a < b ? -1 : 1)

  beforeAll(async () => {
    book = await newBook()
    // Numbers without leading zeros, so that the order by address is not that of the file.
    contacts = times(130, (n) => ({ email: `c${n * 7}@example.com`, subscribed: n % 4 > 0 }))
    for (const { email, subscribed } of contacts) await book.add(email, { subscribed })
  })

  test.each<[string, number]>([
    ['', 20],
    ['?limit=1', 1],
    ['?limit=100', 100],
    ['?limit=101', 100],
    ['?limit=1000000000', 100],
    ['?limit=0', 20],
    ['?limit=-1', 20],
    ['?limit=1.5', 20],
    ['?limit=abc', 20],
    ['?limit=', 20],
    ['?limit=1e3', 20],
    ['?limit[]=5', 20],
    ['?limit=5&limit=6', 20],
  ])('%j shows a page of %i', async (query, length) => {
    const { data, hasMore, cursor, total } = await book.list(query)
    expect(data).toHaveLength(length)
    expect([hasMore, typeof cursor, total]).toEqual([true, 'string', 130])
    expect(data[0]._meta).toBeUndefined()
  })

  const newest = () => contacts.map(({ email }) => email).toReversed()
  const alphabet = () => contacts.map(({ email }) => email).sort(byCode)

  test.each<[string, () => string[]]>([
    ['', newest],
    ['sort=createdAt', newest],
    ['dir=desc', newest],
    ['sort=createdAt&dir=asc', () => newest().toReversed()],
    ['sort=email', () => alphabet().toReversed()],
    ['sort=email&dir=desc', () => alphabet().toReversed()],
    ['sort=email&dir=asc', alphabet],
    ['sort=password', newest],
    ['sort=email;--', newest],
    ['sort=EMAIL', newest],
    ['sort=', newest],
    ['sort=email&sort=email', newest],
    ['dir=x', newest],
    ['dir=ASC', newest],
    ['sort=email&dir=up', () => alphabet().toReversed()],
    ['sort=updatedAt&dir=asc', () => newest().toReversed()],
  ])('%j is in the right order', async (query, expected) => {
    expect(await book.emails(`?limit=100&${query}`)).toEqual(expected().slice(0, 100))
  })

  test.each(['true', 'false'])('subscribed=%s shows those and counts them', async (subscribed) => {
    const wanted = contacts.filter((contact) => String(contact.subscribed) === subscribed)
    const { data, total } = await book.list(`?limit=100&subscribed=${subscribed}&sort=createdAt&dir=asc`)
    expect(data.map(({ email }: Contact) => email)).toEqual(wanted.map(({ email }) => email))
    expect(total).toBe(wanted.length)
  })

  test.each(['maybe', '1', 'TRUE'])('subscribed=%s is refused rather than guessed', async (subscribed) => {
    expect(await book.call('GET', `/contacts?subscribed=${subscribed}`)).toMatchObject({
      status: 422,
      body: { error: { errors: [{ field: 'subscribed', code: 'invalid_enum_value' }] } },
    })
  })

  test.each([
    'limit=7&sort=createdAt&dir=desc',
    'limit=7&sort=createdAt&dir=asc',
    'limit=7&sort=email&dir=desc',
    'limit=13&sort=email&dir=asc',
    'limit=7&subscribed=true&sort=email&dir=asc',
    'limit=7&subscribed=false',
    'limit=7&search=c1&sort=email',
    'limit=65', // 130 is two full pages: the second must know that it is the last
  ])('pages of %s make up the whole, and only the first has a total', async (query) => {
    const whole = await Promise.all(['', 'x'].map(() => book.list(`?${query}`))).then(([first]) => first)
    const pages = await walk(book, query)
    const { subscribed, search } = Object.fromEntries(new URLSearchParams(query))
    const wanted = contacts.filter(
      (contact) => (!subscribed || String(contact.subscribed) === subscribed) && contact.email.includes(search ?? ''),
    )
    expect(pages.flatMap(({ data }) => data.map(({ email }: Contact) => email)).sort(byCode)).toEqual(
      wanted.map(({ email }) => email).sort(byCode),
    )
    expect(pages.map(({ total }) => total)).toEqual([wanted.length, ...times(pages.length - 1, () => 0)])
    expect(pages.map(({ hasMore }) => hasMore)).toEqual([...times(pages.length - 1, () => true), false])
    expect(pages.at(-1).cursor).toBeNull()
    expect(whole.total).toBe(wanted.length)
  })

  test('is empty in an empty project', async () => {
    expect(await (await newBook()).list()).toEqual({ data: [], cursor: null, hasMore: false, total: 0 })
  })

  test('walked while others insert, change and delete it misses and repeats nobody who stays', async () => {
    const busy = await newBook()
    const [staying, leaving] = [times(500, (n) => `stay${n * 13}@example.com`), times(250, (n) => `leave${n}@example.com`)]
    const file = [...staying, ...leaving].map((email, n) => [(n * 389) % 750, email] as const).sort(([a], [b]) => a - b)
    await busy.import(`email\n${file.map(([, email]) => email).join('\n')}`)
    const ids = new Map(
      (await many(sterna.db, sql<Contact>`select id, email from contacts where project_id = ${busy.id}`)).map(({ id, email }) => [
        email,
        id,
      ]),
    )

    let walking = true
    let churned = 0
    const churn = async () => {
      for (let n = 0; walking && n < leaving.length; n++) {
        const answers = await Promise.all([
          busy.call('DELETE', `/contacts/${ids.get(leaving[n]!)}`),
          busy.call('POST', '/contacts', { email: `new${n * 31}@example.com` }),
          busy.patch(ids.get(staying[(n * 7) % 500]!)!, { subscribed: n % 2 === 0, data: { n } }),
        ])
        churned += count(statuses(answers), 204)
      }
    }
    const churning = churn()
    const orders = ['sort=createdAt&dir=desc', 'sort=createdAt&dir=asc', 'sort=email&dir=desc', 'sort=email&dir=asc']
    const walks = await Promise.all(orders.map((order) => walk(busy, `limit=7&${order}`)))
    walking = false
    await churning

    expect(churned).toBeGreaterThan(20)
    for (const pages of walks) {
      const seen = pages.flatMap(({ data }) => data.map(({ email }: Contact) => email))
      expect(new Set(seen).size).toBe(seen.length)
      expect(staying.filter((email) => !seen.includes(email))).toEqual([])
    }
    for (const pages of walks.slice(2)) {
      const seen = pages.flatMap(({ data }) => data.map(({ email }: Contact) => email))
      expect([seen, seen.toReversed()]).toContainEqual([...seen].sort(byCode))
    }
  })

  async function walk(of: Book, query: string) {
    const pages = [await of.list(`?${query}`)]
    for (let page = 0; pages.at(-1).cursor && page < 300; page++) pages.push(await of.list(`?${query}&cursor=${pages.at(-1).cursor}`))
    return pages
  }
})

describe('a cursor', () => {
  let book: Book
  let cursor: string
  const get = (of: Book, query: string) => of.call('GET', `/contacts?limit=2&${query}`)

  beforeAll(async () => {
    book = await newBook()
    for (let n = 0; n < 5; n++) await book.add(`c${n}@example.com`)
    cursor = (await get(book, '')).body.cursor
  })

  test.each<[string, () => string]>([
    ['a word', () => 'x'],
    ['SQL', () => Buffer.from("' or 1=1 --").toString('base64url')],
    ['a bare position', () => Buffer.from(`["${randomUUID()}"]`).toString('base64url')],
    [
      'sixteen zero bytes and a position',
      () => Buffer.concat([Buffer.alloc(16), Buffer.from(`["${randomUUID()}"]`)]).toString('base64url'),
    ],
    ['half of one', () => cursor.slice(0, cursor.length / 2)],
    ['one with more behind it', () => `${cursor}AAAA`],
    ['two', () => `${cursor}${cursor}`],
    ['5 kB', () => 'A'.repeat(5_000)],
    ['emoji', () => encodeURIComponent('😀'.repeat(20))],
  ])('that is %s is a 400 without data', async (_, forged) => {
    const answer = await get(book, `cursor=${forged()}`)
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'BAD_REQUEST' } } })
    expect(answer.body.data).toBeUndefined()
  })

  test('with any character changed is a 400', async () => {
    const forged = times(cursor.length - 1, (at) => `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`)
    const answers = await Promise.all(forged.map((each) => get(book, `cursor=${each}`)))
    expect(new Set(statuses(answers))).toEqual(new Set([400]))
  })

  test.each(['sort=email', 'dir=asc', 'search=c', 'subscribed=true', 'search=c&subscribed=true', 'sort=email&dir=asc'])(
    'of the plain list does not fit %s',
    async (query) => {
      expect((await get(book, `${query}&cursor=${cursor}`)).status).toBe(400)
      const theirs = (await get(book, query)).body.cursor
      expect((await get(book, `${query}&cursor=${theirs}`)).status).toBe(200)
      expect((await get(book, `cursor=${theirs}`)).status).toBe(400)
    },
  )

  test('says the same list, in whatever words, so it fits', async () => {
    for (const query of ['', 'sort=createdAt', 'sort=nonsense&dir=desc', 'search=']) {
      expect((await get(book, `${query}&cursor=${cursor}`)).body.data.map(({ email }: Contact) => email)).toEqual([
        'c2@example.com',
        'c1@example.com',
      ])
    }
  })

  test('of another project is a 400', async () => {
    const other = await newBook()
    for (let n = 0; n < 5; n++) await other.add(`c${n}@example.com`)
    expect((await get(other, `cursor=${cursor}`)).status).toBe(400)
  })

  test('of a contact deleted since still leads on', async () => {
    const mine = await newBook()
    const [, second] = [await mine.add('a@example.com'), await mine.add('b@example.com'), await mine.add('c@example.com')]
    const page = (await get(mine, 'sort=email&dir=asc')).body
    await mine.call('DELETE', `/contacts/${second!.id}`)
    expect((await get(mine, `sort=email&dir=asc&cursor=${page.cursor}`)).body.data.map(({ email }: Contact) => email)).toEqual([
      'c@example.com',
    ])
  })
})

describe('a search', () => {
  let book: Book
  const emails = [
    'ada.lovelace@example.com',
    'a%b@example.com',
    'a_b@example.com',
    "o'hara@example.com",
    'axb@other.example',
    'émile@example.com',
  ]

  beforeAll(async () => {
    book = await newBook()
    await (await newBook()).add('ada.lovelace@example.com')
    for (const email of emails) await book.add(email)
  })
  const search = async (text: string) => (await book.emails(`?search=${encodeURIComponent(text)}&sort=createdAt&dir=asc`)) as string[]

  test.each<[string, string[]]>([
    ['ada', ['ada.lovelace@example.com']],
    ['LOVE', ['ada.lovelace@example.com']],
    ['a.l', ['ada.lovelace@example.com']],
    ['@other', ['axb@other.example']],
    ['%', ['a%b@example.com']],
    ['_', ['a_b@example.com']],
    ['a_b', ['a_b@example.com']],
    ['a%b', ['a%b@example.com']],
    ['a%', ['a%b@example.com']],
    ["'", ["o'hara@example.com"]],
    ["O'H", ["o'hara@example.com"]],
    ["';drop table contacts", []],
    ['\\', []],
    ['\\%', []],
    ['a\\_b', []],
    ['(a+)+$', []],
    ['.*', []],
    ['nobody', []],
    [
      'a',
      ['ada.lovelace@example.com', 'a%b@example.com', 'a_b@example.com', "o'hara@example.com", 'axb@other.example', 'émile@example.com'],
    ],
    [' ada ', ['ada.lovelace@example.com']],
    ['', emails],
    ['x'.repeat(255), []],
  ])('for %j finds what contains it', async (text, found) => {
    expect(await search(text)).toEqual(found)
    expect((await book.list(`?search=${encodeURIComponent(text)}`)).total).toBe(found.length)
  })

  test.each(['Émile', 'ÉMILE', 'émile', 'Émile@example.com', 'E\u0301mile'])('for %j finds émile, whatever the case', async (text) => {
    expect(await search(text)).toEqual(['émile@example.com'])
  })

  test.each([
    ['256 characters', 'x'.repeat(256)],
    ['10 kB', 'x'.repeat(10_000)],
    ['U+0000', '\0'],
  ])('for %s is a 422', async (_, text) => {
    const answer = await book.call('GET', `/contacts?search=${encodeURIComponent(text)}`)
    expect(answer).toMatchObject({ status: 422, body: { error: { errors: [{ field: 'search' }] } } })
  })

  test('goes with subscribed and a page', async () => {
    const mine = await newBook()
    for (let n = 0; n < 9; n++) await mine.add(`find${n}@example.com`, { subscribed: n % 3 > 0 })
    await mine.add('other@example.com')
    const first = await mine.list('?search=FIND&subscribed=true&limit=4&dir=asc')
    expect([first.total, first.data.length]).toEqual([6, 4])
    const second = await mine.list(`?search=FIND&subscribed=true&limit=4&dir=asc&cursor=${first.cursor}`)
    expect([...first.data, ...second.data].map(({ email }: Contact) => email)).toEqual(
      [1, 2, 4, 5, 7, 8].map((n) => `find${n}@example.com`),
    )
  })
})

describe('the total', () => {
  const totals = async (book: Book) => {
    const [all, yes, no] = await Promise.all(
      ['', '?subscribed=true', '?subscribed=false'].map((query) => book.list(`${query}${query ? '&' : '?'}limit=1`)),
    )
    return { all: all.total, subscribed: yes.total, unsubscribed: no.total }
  }
  const counted = async (book: Book) => {
    const rows = await book.rows()
    const subscribed = rows.filter((row) => row.subscribed).length
    return { all: rows.length, subscribed, unsubscribed: rows.length - subscribed }
  }

  type Step = { kind: string; who: number[]; subscribed: boolean }
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom(
      'post',
      'post',
      'patch',
      'patch',
      'delete',
      'rename',
      'bulk-subscribe',
      'bulk-unsubscribe',
      'bulk-delete',
      'import',
      'compact',
      'recount',
    ),
    who: fc.array(fc.nat(11), { minLength: 1, maxLength: 4 }),
    subscribed: fc.boolean(),
  })

  async function act(book: Book, { kind, who, subscribed }: Step) {
    const addresses = who.map((n) => `p${n}@example.com`)
    const rows = await many(
      sterna.db,
      sql<{ id: string }>`select id from contacts where project_id = ${book.id} and email = any(${addresses})`,
    )
    const ids = [...rows.map(({ id }) => id), randomUUID()]
    if (kind === 'post') await Promise.all(addresses.map((email) => book.add(email, { subscribed })))
    if (kind === 'patch') await Promise.all(ids.map((id) => book.patch(id, { subscribed })))
    if (kind === 'rename') await Promise.all(ids.map((id) => book.patch(id, { email: addresses[0], subscribed })))
    if (kind === 'delete') await Promise.all(ids.map((id) => book.call('DELETE', `/contacts/${id}`)))
    if (kind.startsWith('bulk-')) await book.bulk(kind.slice('bulk-'.length), ids)
    if (kind === 'import')
      await book.import(`email,subscribed\n${addresses.map((email) => `${email},${subscribed ? 'yes' : 'no'}`).join('\n')}\nbad`)
    if (kind === 'compact') await transact(sterna.db, (tx) => compactCounts(tx))
    if (kind === 'recount') await transact(sterna.db, (tx) => recountContacts(tx, book.id))
  }

  test('is the number of contacts after any mix of operations, some at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), { minLength: 3, maxLength: 8 }), async (rounds) => {
        const book = await newBook()
        for (const steps of rounds) {
          await Promise.all(steps.map((each) => act(book, each)))
          expect(await totals(book)).toEqual(await counted(book))
        }
        await transact(sterna.db, (tx) => compactCounts(tx))
        expect(await totals(book)).toEqual(await counted(book))
        await transact(sterna.db, (tx) => recountContacts(tx, book.id))
        expect(await totals(book)).toEqual(await counted(book))
      }),
      { numRuns: 12, interruptAfterTimeLimit: 8_000, markInterruptAsFailure: false },
    )
  })

  test('is mended by a recount, and compacting leaves one row', async () => {
    const book = await newBook()
    for (let n = 0; n < 6; n++) await book.add(`p${n}@example.com`, { subscribed: n > 0 })
    await sql`insert into contact_counts (project_id, total, subscribed) values (${book.id}, 1000, -50)`.execute(sterna.db)
    expect((await book.list()).total).toBe(1006)
    await transact(sterna.db, (tx) => recountContacts(tx, book.id))
    expect(await totals(book)).toEqual({ all: 6, subscribed: 5, unsubscribed: 1 })
    await book.add('one.more@example.com')
    await transact(sterna.db, (tx) => compactCounts(tx))
    expect(await totals(book)).toEqual({ all: 7, subscribed: 6, unsubscribed: 1 })
    expect(await one(sterna.db, sql`select count(*)::int as n from contact_counts where project_id = ${book.id}`)).toEqual({ n: 1 })
  })

  test('stays right when a recount begins while counts are being compacted', async () => {
    const book = await newBook()
    for (let n = 0; n < 4; n++) await book.add(`p${n}@example.com`)
    const waiting = sql<{ n: number }>`
      select count(*)::int as n from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%advisory%'
    `
    let release = () => {}
    const compacted = new Promise<void>((done) => {
      release = done
    })
    const compacting = transact(sterna.db, async (tx) => {
      await compactCounts(tx)
      await compacted
    })
    await expect
      .poll(
        async () =>
          (
            await one(
              sterna.db,
              sql<{
                n: number
              }>`select count(*)::int as n from pg_stat_activity where datname = current_database() and state = 'idle in transaction' and query like '%crowded%'`,
            )
          ).n,
      )
      .toBe(1)
    const recounting = transact(sterna.db, (tx) => recountContacts(tx, book.id))
    // Either it waits for the compaction, or it is done without.
    await Promise.race([recounting, expect.poll(async () => (await one(sterna.db, waiting)).n).toBe(1)])
    release()
    await Promise.all([compacting, recounting])
    expect((await book.list()).total).toBe(4)
  })
})

describe('callers', () => {
  test('a person at the dashboard may do what the key may, in their project only', async () => {
    const book = await newBook()
    const stranger = await sterna.newPerson()
    const headers = { 'x-project-id': book.id }
    const created = await owner.call('POST', '/contacts', { body: { email: 'ada@example.com' }, headers })
    expect(created.status).toBe(201)
    const id = created.body.id as string
    expect((await owner.call('GET', `/contacts/${id}`, { headers })).body).toEqual(await book.get(id))
    expect((await owner.call('GET', '/contacts', { headers })).body.total).toBe(1)
    expect((await owner.call('PATCH', `/contacts/${id}`, { headers, body: { subscribed: false } })).body.subscribed).toBe(false)
    expect((await owner.call('GET', `/contacts/${id}`)).status).toBe(400)
    expect(await stranger.call('GET', `/contacts/${id}`, { headers })).toMatchObject({
      status: 403,
      body: { error: { code: 'PROJECT_ACCESS_DENIED' } },
    })
    expect((await stranger.call('DELETE', `/contacts/${id}`, { headers })).status).toBe(403)
    expect((await owner.call('DELETE', `/contacts/${id}`, { headers })).status).toBe(204)
  })

  test('a disabled project can be read, not changed', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com', { data: { plan: 'pro' } })
    const { body: job } = await book.call('POST', '/contacts/bulk-unsubscribe', { contactIds: [randomUUID()] })
    await finished(() => book.call('GET', `/contacts/bulk/${job.jobId}`))
    await sql`update projects set disabled = true where id = ${book.id}`.execute(sterna.db)
    const before = await sterna.digest({ except: ['attempts', 'job_workers'] })

    const writes: [string, string, unknown?][] = [
      ['POST', '/contacts', { email: 'new@example.com' }],
      ['PATCH', `/contacts/${id}`, { subscribed: false }],
      ['DELETE', `/contacts/${id}`],
      ['DELETE', '/contacts/fields/plan'],
      ['POST', '/contacts/bulk-subscribe', { contactIds: [id] }],
      ['POST', '/contacts/bulk-unsubscribe', { contactIds: [id] }],
      ['POST', '/contacts/bulk-delete', { contactIds: [id] }],
    ]
    for (const [method, url, body] of writes)
      expect(await book.call(method, url, body)).toMatchObject({ status: 403, body: { error: { code: 'PROJECT_DISABLED' } } })
    const upload = await sterna.call('POST', '/contacts/import', {
      key: book.sk,
      headers: { 'content-type': 'multipart/form-data; boundary=cut' },
      body: '--cut\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\nemail\nnew@example.com\r\n--cut--\r\n',
    })
    expect(upload).toMatchObject({ status: 403, body: { error: { code: 'PROJECT_DISABLED' } } })
    expect(await sterna.digest({ except: ['attempts', 'job_workers'] })).toBe(before)

    const reads = ['', `/${id}`, `/${id}/consent`, '/fields', '/fields/plan/values', '/fields/plan/usage', `/bulk/${job.jobId}`]
    for (const path of reads) expect((await book.call('GET', `/contacts${path}`)).status).toBe(200)
  })
})

test('the set-up state of a project counts its contacts', async () => {
  const project = await sterna.newProject()
  const state = async () => (await project.owner.call('GET', `/projects/${project.id}/setup-state`)).body.contactCount
  expect(await state()).toBe(0)
  await sterna.call('POST', '/contacts', { key: project.sk, body: { email: 'ada@example.com' } })
  expect(await state()).toBe(1)
})
