import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { recountContacts } from '../../src/contacts/counts.ts'
import { readData } from '../../src/contacts/data.ts'
import { upsertContacts } from '../../src/contacts/upsert.ts'
import { many, one, transact } from '../../src/db/index.ts'
import { useApp } from '../support/app.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })

type Field = { field: string; type: string; isCustom: boolean; coverage: number }

const PROJECTS_OF_A_PERSON = 50
let owner: Awaited<ReturnType<typeof sterna.newPerson>>
let books = 0

/** A project with what a customer does with its fields. */
async function newBook() {
  if (books++ % PROJECTS_OF_A_PERSON === 0) owner = await sterna.newPerson()
  const { id, sk } = await sterna.newProject(owner)
  const call = (method: string, url: string, body?: unknown) =>
    sterna.call(method, url, { key: sk, ...(body === undefined ? {} : { body }) })
  const field = (name: string) => `/contacts/fields/${encodeURIComponent(name)}`
  return {
    id,
    call,
    add: async (email: string, data?: object): Promise<{ id: string }> => (await call('POST', '/contacts', { email, data })).body,
    data: async (contactId: string): Promise<Record<string, unknown>> => (await call('GET', `/contacts/${contactId}`)).body.data ?? {},
    patch: (contactId: string, data: object | null) => call('PATCH', `/contacts/${contactId}`, { data }),
    fields: async (): Promise<Field[]> => (await call('GET', '/contacts/fields')).body.fields,
    custom: async () => {
      const { fields }: { fields: Field[] } = (await call('GET', '/contacts/fields')).body
      return Object.fromEntries(fields.filter(({ isCustom }) => isCustom).map(({ field, type, coverage }) => [field, [type, coverage]]))
    },
    values: async (name: string, query = '') => (await call('GET', `${field(name)}/values${query}`)).body,
    usage: (name: string) => call('GET', `${field(name)}/usage`),
    drop: (name: string) => call('DELETE', field(name)),
  }
}
type Book = Awaited<ReturnType<typeof newBook>>

const times = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))
const plainError = { error: expect.stringMatching(/./) }

const STANDARD: Field[] = [
  { field: 'createdAt', type: 'date', isCustom: false, coverage: 1 },
  { field: 'email', type: 'string', isCustom: false, coverage: 1 },
  { field: 'subscribed', type: 'boolean', isCustom: false, coverage: 1 },
  { field: 'updatedAt', type: 'date', isCustom: false, coverage: 1 },
]

describe('the list of fields', () => {
  test('has the standard ones in an empty project', async () => {
    const { status, body } = await (await newBook()).call('GET', '/contacts/fields')
    expect(status).toBe(200)
    expect(body).toEqual({ fields: STANDARD, count: 4 })
  })

  test('has every key ever stored, sorted by name among the standard ones', async () => {
    const book = await newBook()
    await book.add('ada@example.com', { zip: '1', alpha: 1, 'Ünit x': 1, subscribed: 'custom', locale: 'de' })
    const { body } = await book.call('GET', '/contacts/fields')
    expect(body.fields.map(({ field }: Field) => field)).toEqual(
      ['createdAt', 'data.alpha', 'data.locale', 'data.subscribed', 'data.zip', 'data.Ünit x', 'email', 'subscribed', 'updatedAt'].sort(),
    )
    expect(body.count).toBe(9)
    expect(body.fields.filter(({ isCustom }: Field) => !isCustom)).toEqual(STANDARD)
  })

  test('has no key that was not stored', async () => {
    const book = await newBook()
    await book.add('ada@example.com', { id: 1, email: 'x', sterna_id: 1, a: null, b: '', c: { value: 1, persistent: false } })
    expect(await book.fields()).toEqual(STANDARD)
  })

  test.each<[string, unknown, string]>([
    ['a number', 1.5, 'number'],
    ['a boolean', false, 'boolean'],
    ['a day', '2026-01-31', 'date'],
    ['a moment', '2026-01-31T10:00:00.000Z', 'date'],
    ['a moment without a zone', '2026-01-31T10:00:00', 'string'],
    ['a text', 'pro', 'string'],
    ['a number in a text', '1', 'string'],
    ['an object', { a: 1 }, 'string'],
    ['a list', [1], 'string'],
  ])('knows the type of %s from its first value, and keeps it', async (_, value, type) => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com', { key: null })
    await book.patch(id, { key: '' })
    await book.patch(id, { key: value })
    expect(await book.custom()).toEqual({ 'data.key': [type, 1] })
    for (const other of ['text', 5, true, '2026-02-01', [], {}]) {
      await book.patch(id, { key: other })
      expect((await book.data(id)).key).toEqual(other)
    }
    await book.patch(id, { key: null })
    expect(await book.custom()).toEqual({ 'data.key': [type, 0] })
    await book.add('grace@example.com', { key: true })
    expect(await book.custom()).toEqual({ 'data.key': [type, 0.5] })
  })

  test('agrees on one type when many come first at once', async () => {
    const book = await newBook()
    const values = ['text', 1, true, '2026-01-01']
    await Promise.all(times(40, (n) => book.add(`c${n}@example.com`, { key: values[n % 4], [`own${n}`]: n })))
    const custom = await book.custom()
    expect(Object.keys(custom)).toHaveLength(41)
    expect(custom['data.key']![1]).toBe(1)
    expect(['string', 'number', 'boolean', 'date']).toContain(custom['data.key']![0])
  })

  test('tells the share of contacts that have each', async () => {
    const book = await newBook()
    const other = await newBook()
    await other.add('ada@example.com', { plan: 'theirs', theirs: 1 })
    const contacts = await Promise.all(times(4, (n) => book.add(`c${n}@example.com`, n ? { plan: n } : {})))
    expect(await book.custom()).toEqual({ 'data.plan': ['number', 0.75] })
    await book.patch(contacts[1]!.id, { plan: null, city: 'Bonn' })
    expect(await book.custom()).toEqual({ 'data.plan': ['number', 0.5], 'data.city': ['string', 0.25] })
    await book.call('DELETE', `/contacts/${contacts[0]!.id}`)
    expect(await book.custom()).toEqual({ 'data.plan': ['number', 0.6667], 'data.city': ['string', 0.3333] })
    for (const { id } of contacts.slice(2)) await book.patch(id, null)
    expect(await book.custom()).toEqual({ 'data.plan': ['number', 0], 'data.city': ['string', 0.3333] })
    await book.call('DELETE', `/contacts/${contacts[1]!.id}`)
    expect(await book.custom()).toEqual({ 'data.plan': ['number', 0], 'data.city': ['string', 0] })
  })
})

describe('a field of any name', () => {
  const NAMES = [
    'plan',
    'first name',
    ' padded ',
    'a.b',
    'a/b',
    'a%b',
    '%2F',
    'a?b#c',
    'a"b',
    "a'b",
    "'; drop table contacts; --",
    'a\\b',
    '$.a',
    '{a,b}',
    'data.plan',
    'data.',
    'values',
    'fields',
    'constructor',
    'toString',
    'ключ',
    '😀',
    '<b>',
    'x'.repeat(255),
    'é'.repeat(127),
  ]

  test.each(NAMES.map((name) => [name]))('%j is listed, read, counted and deleted', async (name) => {
    const book = await newBook()
    const ada = await book.add('ada@example.com', { [name]: 'x', other: 1 })
    const grace = await book.add('grace@example.com', { [name]: 'y' })
    // A name that itself begins with "data." has one spelling only.
    const spellings = [`data.${name}`, ...(name.startsWith('data.') ? [] : [name])]

    expect(await book.custom()).toEqual({ [`data.${name}`]: ['string', 1], 'data.other': ['number', 0.5] })
    for (const spelling of spellings) {
      expect(await book.values(spelling)).toEqual({ field: spelling, values: ['x', 'y'], count: 2, limit: 100, sampled: true })
      expect((await book.usage(spelling)).body.contactCount).toBe(2)
    }
    expect(await book.drop(spellings.at(-1)!)).toMatchObject({ status: 200, body: { deletedFrom: 2 } })
    expect([await book.data(ada.id), await book.data(grace.id)]).toEqual([{ other: 1 }, {}])
    expect(await book.custom()).toEqual({ 'data.other': ['number', 0.5] })
    expect(await book.values(spellings[0]!)).toMatchObject({ values: [], count: 0 })
  })

  test.each(['data.', 'nobody', 'data.__proto__', '__proto__', 'data.constructor', "data.a'b", 'data.\u2028', 'a\nb'])(
    '%j is empty when nobody has it',
    async (name) => {
      const book = await newBook()
      await book.add('ada@example.com', { plan: 'pro' })
      expect(await book.values(name)).toEqual({ field: name, values: [], count: 0, limit: 100, sampled: true })
      expect((await book.usage(name)).body.contactCount).toBe(0)
      expect(await book.drop(name)).toMatchObject({ status: 200, body: { deletedFrom: 0 } })
      expect(await book.custom()).toEqual({ 'data.plan': ['string', 1] })
    },
  )

  test('of 10 kB, or with U+0000, is one that does not exist', async () => {
    const book = await newBook()
    for (const name of ['x'.repeat(10_000), 'a\0b']) {
      for (const answer of [
        await book.call('GET', `/contacts/fields/${encodeURIComponent(name)}/values`),
        await book.usage(name),
        await book.drop(name),
      ])
        expect(answer.status).toBe(404)
    }
  })

  test('that is called like a standard one is told apart by its prefix', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com', { subscribed: 'custom', createdAt: 'x', updatedAt: 'y', data: 'z' })
    expect((await book.values('data.subscribed')).values).toEqual(['custom'])
    expect((await book.values('subscribed')).values).toEqual([true])
    expect((await book.drop('subscribed')).status).toBe(400)
    expect(await book.drop('data.subscribed')).toMatchObject({ status: 200, body: { deletedFrom: 1 } })
    expect(await book.data(id)).toEqual({ createdAt: 'x', updatedAt: 'y', data: 'z' })
    expect((await book.values('data')).values).toEqual(['z'])
  })

  test('that came with a file may be __proto__ and hurts nobody', async () => {
    const book = await newBook()
    const csv = 'email,__proto__,constructor\nada@example.com,polluted,1'
    const { body } = await sterna.call('POST', '/contacts/import', {
      cookie: owner.cookie,
      headers: { 'x-project-id': book.id, 'content-type': 'multipart/form-data; boundary=cut' },
      body: `--cut\r\ncontent-disposition: form-data; name="file"; filename="a.csv"\r\n\r\n${csv}\r\n--cut--\r\n`,
    })
    await expect.poll(async () => (await book.call('GET', `/contacts/import/${body.jobId}`)).body.state).toBe('completed')
    expect((await book.call('GET', '/contacts/fields')).status).toBe(200)
    expect((await book.call('GET', '/contacts')).body.data[0].data).toMatchObject({ constructor: 1 })
    for (const name of ['__proto__', 'constructor']) expect((await book.drop(name)).status).toBe(200)
    expect(await book.fields()).toEqual(STANDARD)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})

describe('the values of a field', () => {
  let book: Book
  beforeAll(async () => {
    book = await newBook()
    await (await newBook()).add('ada@example.com', { many: 'theirs' })
    await Promise.all(times(230, (n) => book.add(`c${n}@example.com`, { many: n % 210, few: ['a', 'b'][n % 2] })))
  })

  test.each<[string, number]>([
    ['', 100],
    ['?limit=1', 1],
    ['?limit=200', 200],
    ['?limit=201', 200],
    ['?limit=99999', 200],
    ['?limit=0', 100],
    ['?limit=-5', 100],
    ['?limit=x', 100],
    ['?limit=', 100],
  ])('with %j are at most %i', async (query, limit) => {
    const { values, ...rest } = await book.values('many', query)
    expect(rest).toEqual({ field: 'many', count: limit, limit, sampled: true })
    expect(values).toHaveLength(limit)
    expect(new Set(values).size).toBe(limit)
    expect(values.every((value: unknown) => Number.isInteger(value) && (value as number) < 210)).toBe(true)
  })

  test('are each shown once', async () => {
    expect((await book.values('few')).values).toEqual(['a', 'b'])
  })

  test('are told apart by type', async () => {
    const mine = await newBook()
    const kinds = [1, '1', true, 'true', false, 0, '0', 1.5, '2026-01-01', ' ', 'é']
    await Promise.all([...kinds, ...kinds].map((key, n) => mine.add(`c${n}@example.com`, { key })))
    const { values, count } = await mine.values('key')
    expect(count).toBe(kinds.length)
    expect([...values].map((value) => JSON.stringify(value)).sort()).toEqual(kinds.map((value) => JSON.stringify(value)).sort())
  })

  test('are left out when they are too long to be shown, or no longer there', async () => {
    const mine = await newBook()
    const values = ['short', 'x'.repeat(1_024), 'y'.repeat(1_025), 'z'.repeat(60_000)]
    const contacts = await Promise.all(values.map((key, n) => mine.add(`c${n}@example.com`, { key })))
    expect((await mine.values('key')).values).toEqual(['short', 'x'.repeat(1_024)])
    await mine.patch(contacts[0]!.id, { key: null })
    expect((await mine.values('key')).values).toEqual(['x'.repeat(1_024)])
  })

  test('of the standard ones are those of the contacts', async () => {
    const mine = await newBook()
    await (await newBook()).add('theirs@example.com')
    const ada = await mine.call('POST', '/contacts', { email: 'ada@example.com' })
    expect((await mine.values('subscribed')).values).toEqual([true])
    await mine.call('POST', '/contacts', { email: 'grace@example.com', subscribed: false })
    expect((await mine.values('subscribed')).values).toEqual([false, true])
    expect((await mine.values('email')).values).toEqual(['ada@example.com', 'grace@example.com'])
    expect((await mine.values('email', '?limit=1')).values).toEqual(['ada@example.com'])
    for (const field of ['createdAt', 'updatedAt']) expect((await mine.values(field)).values[0]).toBe(ada.body.createdAt)
  })
})

test('the usage of a standard field says that all contacts have it and that it cannot be deleted', async () => {
  const book = await newBook()
  await book.add('ada@example.com')
  const usage = { usedInSegments: [], usedInCampaigns: [], usedInWorkflows: [], contactCount: 1, canDelete: false }
  for (const name of ['email', 'subscribed', 'createdAt', 'updatedAt'])
    expect(await book.usage(name)).toMatchObject({ status: 200, body: usage })
})

test('the usage of a field says where it is used and by how many', async () => {
  const book = await newBook()
  await (await newBook()).add('ada@example.com', { plan: 1 })
  for (let n = 0; n < 3; n++) await book.add(`c${n}@example.com`, n ? { plan: n } : {})
  const nowhere = { usedInSegments: [], usedInCampaigns: [], usedInWorkflows: [], canDelete: true }
  expect((await book.usage('plan')).body).toEqual({ ...nowhere, contactCount: 2 })
  expect((await book.usage('data.plan')).body).toEqual({ ...nowhere, contactCount: 2 })
  expect((await book.usage('nobody')).body).toEqual({ ...nowhere, contactCount: 0 })
})

describe('deleting a field', () => {
  test.each(['email', 'subscribed', 'createdAt', 'updatedAt'])('%s is a plain 400 and deletes nothing', async (name) => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com', { [name === 'email' ? 'plan' : name]: 'kept' })
    const answer = await book.drop(name)
    expect(answer).toMatchObject({ status: 400, body: plainError })
    expect(Object.keys(answer.body)).toEqual(['error'])
    expect(Object.values(await book.data(id))).toEqual(['kept'])
  })

  test('takes it from every contact of this project and of no other', async () => {
    const [book, other] = [await newBook(), await newBook()]
    const theirs = await other.add('ada@example.com', { plan: 'theirs', other: 1 })
    const contacts = await Promise.all(times(30, (n) => book.add(`c${n}@example.com`, { ...(n % 3 ? { plan: n } : {}), other: n })))
    const { updatedAt } = (await book.call('GET', `/contacts/${contacts[0]!.id}`)).body

    expect(await book.drop('data.plan')).toMatchObject({ status: 200, body: { deletedFrom: 20 } })
    expect(await Promise.all(contacts.map(({ id }) => book.data(id)))).toEqual(times(30, (other) => ({ other })))
    expect(await book.custom()).toEqual({ 'data.other': ['number', 1] })
    expect((await book.usage('plan')).body.contactCount).toBe(0)
    expect(await book.drop('data.plan')).toMatchObject({ status: 200, body: { deletedFrom: 0 } })
    // Who did not have it was not touched.
    expect((await book.call('GET', `/contacts/${contacts[0]!.id}`)).body.updatedAt).toBe(updatedAt)
    expect(await other.data(theirs.id)).toEqual({ plan: 'theirs', other: 1 })
    expect(await other.custom()).toEqual({ 'data.plan': ['string', 1], 'data.other': ['number', 1] })
  })

  test('leaves a name that may come back with another type', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com', { plan: 'pro' })
    await book.drop('plan')
    await book.patch(id, { plan: null })
    expect(await book.custom()).toEqual({})
    await book.patch(id, { plan: 5 })
    expect(await book.custom()).toEqual({ 'data.plan': ['number', 1] })
  })

  test('knows a field that was written while it went', async () => {
    const book = await newBook()
    await book.add('ada@example.com', { plan: 'pro' })
    let commit = () => {}
    const mayCommit = new Promise<void>((done) => {
      commit = done
    })
    let wrote = () => {}
    const hasWritten = new Promise<void>((done) => {
      wrote = done
    })
    const writing = transact(sterna.db, async (tx) => {
      const contact = {
        projectId: book.id,
        email: 'grace@example.com',
        subscribedIfNew: true,
        choices: [],
        fill: {},
        patch: readData({ plan: 'max' }),
      }
      await upsertContacts(tx, [contact])
      wrote()
      await mayCommit
    })
    await hasWritten
    const deleting = book.drop('plan')
    // It asks again and again whether the writer is done; give it time to ask once and to be done without, if it dared.
    await Promise.race([deleting, sleep(200)])
    commit()
    await writing
    expect((await deleting).status).toBe(200)

    const having = await one(
      sterna.db,
      sql<{ n: number }>`select count(*)::int as n from contacts where project_id = ${book.id} and data ? 'plan'`,
    )
    expect(Object.keys(await book.custom())).toEqual(having.n ? ['data.plan'] : [])
  })

  test('waits for whoever writes at length, without keeping others waiting for itself', async () => {
    const book = await newBook()
    const { id } = await book.add('ada@example.com', { plan: 'pro' })
    let wrote = () => {}
    const hasWritten = new Promise<void>((done) => {
      wrote = done
    })
    // As a large import on a busy day.
    const writing = transact(sterna.db, async (tx) => {
      const contact = {
        projectId: book.id,
        email: 'grace@example.com',
        subscribedIfNew: true,
        choices: [],
        fill: {},
        patch: readData({ other: 1 }),
      }
      await upsertContacts(tx, [contact])
      wrote()
      await sql`select pg_sleep(1.2)`.execute(tx)
    })
    await hasWritten
    let written = false
    void writing.then(() => {
      written = true
    })
    const deleting = book.drop('plan')
    const waited: number[] = []
    for (let n = 0; !written && n < 500; n++) {
      const before = performance.now()
      expect((await book.patch(id, { note: n })).status).toBe(200)
      waited.push(Math.round(performance.now() - before))
    }
    expect(Math.max(...waited)).toBeLessThan(500)
    await writing
    expect(await deleting).toMatchObject({ status: 200, body: { deletedFrom: 1 } })
    expect(await book.data(id)).toEqual({ note: waited.length - 1 })
  })

  test('many times at once, while others write it, ends with a list that tells the truth', async () => {
    const book = await newBook()
    const contacts = await Promise.all(times(20, (n) => book.add(`c${n}@example.com`, { plan: n, other: n })))
    const answers = await Promise.all([
      ...times(6, () => book.drop('plan')),
      ...contacts.map(({ id }, n) => book.patch(id, { plan: `again${n}`, mine: n })),
    ])
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const after = await Promise.all(contacts.map(({ id }) => book.data(id)))
    expect(after.map(({ other, mine }) => [other, mine])).toEqual(times(20, (n) => [n, n]))
    const having = after.filter((data) => 'plan' in data).length
    expect((await book.custom())['data.plan']?.[1] ?? 0).toBe(having / 20)
  })
})

describe('with more contacts than can be counted at once', () => {
  const CONTACTS = 50_500
  let book: Book
  let ids: string[]

  beforeAll(async () => {
    book = await newBook()
    await book.add('first@example.com', { plan: 'pro', half: true, rare: 1 })
    await sql`
      insert into contacts (project_id, id, email, subscribed, data)
      select ${book.id}, gen_random_uuid(), 'c' || n || '@example.com', true,
        jsonb_build_object('plan', n % 5) || case when n % 2 = 0 then '{"half": true}' else '{}'::jsonb end
      from generate_series(2, ${CONTACTS}) n
    `.execute(sterna.db)
    await transact(sterna.db, (tx) => recountContacts(tx, book.id))
    ids = (await many(sterna.db, sql<{ id: string }>`select id from contacts where project_id = ${book.id}`)).map(({ id }) => id)
  })

  test('the list shows what a job counted, and has it counted again when that is old', async () => {
    expect(Object.keys(await book.custom())).toEqual(['data.half', 'data.plan', 'data.rare'])
    const counted = { 'data.half': ['boolean', 0.5], 'data.plan': ['string', 1], 'data.rare': ['number', 0] }
    await expect.poll(() => book.custom(), { timeout: 15_000 }).toEqual(counted)
    // Who asked while it was being counted has ordered another count.
    const orders = sql<{
      n: number
    }>`select count(*)::int as n from graphile_worker._private_jobs where payload ->> 'projectId' = ${book.id}`
    await expect.poll(async () => (await one(sterna.db, orders)).n, { timeout: 15_000 }).toBe(0)
    expect(await one(sterna.db, sql`select contacts from contact_fields where project_id = ${book.id} and key = 'rare'`)).toEqual({
      contacts: 1,
    })

    await sql`update contacts set data = data - 'half' where project_id = ${book.id} and email < 'c2'`.execute(sterna.db)
    const { n } = await one(
      sterna.db,
      sql<{ n: number }>`select count(*)::int as n from contacts where project_id = ${book.id} and data ? 'half'`,
    )
    expect(await book.custom()).toEqual(counted)
    await sql`update contact_fields set counted_at = now() - interval '1 hour' where project_id = ${book.id}`.execute(sterna.db)
    expect(await book.custom()).toEqual(counted)
    await expect.poll(async () => (await book.custom())['data.half']![1], { timeout: 15_000 }).toBeCloseTo(n / CONTACTS, 3)
  })

  test('a field goes while others write: nobody waits 500 ms and nothing else is lost', { timeout: 60_000 }, async () => {
    const deleting = book.drop('plan')
    let deleted = false
    void deleting.then(() => {
      deleted = true
    })
    const written = new Map<string, number>()
    let slowest = 0
    let next = 0
    const write = async () => {
      for (let n = 0; !deleted && n < 3_000; n++) {
        const turn = next++
        const id = ids[(turn * 7_919) % ids.length]!
        const before = performance.now()
        const { status } = await book.patch(id, { note: turn })
        slowest = Math.max(slowest, performance.now() - before)
        expect(status).toBe(200)
        written.set(id, turn)
        // A client elsewhere would not starve the node that also runs the job here.
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
    }
    await Promise.all([write(), write()])

    const { status, body } = await deleting
    expect([status, body]).toEqual([200, { deletedFrom: CONTACTS }])
    expect(await one(sterna.db, sql`select count(*)::int as n from contacts where project_id = ${book.id} and data ? 'plan'`)).toEqual({
      n: 0,
    })
    const notes = await many(
      sterna.db,
      sql<{
        id: string
        note: number
      }>`select id, (data ->> 'note')::int as note from contacts where project_id = ${book.id} and data ? 'note'`,
    )
    expect(written.size).toBeGreaterThan(50)
    expect(new Map(notes.map(({ id, note }) => [id, note]))).toEqual(written)
    expect(Math.round(slowest)).toBeLessThan(500)
    expect(Object.keys(await book.custom())).not.toContain('data.plan')
  })

  test('deleting 1,000 contacts keeps nobody waiting for 500 ms', async () => {
    const { body } = await book.call('POST', '/contacts/bulk-delete', { contactIds: ids.slice(0, 1_000) })
    let slowest = 0
    const state = async () => (await book.call('GET', `/contacts/bulk/${body.jobId}`)).body.state
    for (let n = 0; n < 500 && (await state()) !== 'completed'; n++) {
      const before = performance.now()
      await Promise.all([
        book.patch(ids[n % 1_000]!, { late: n }),
        book.patch(ids[1_000 + n]!, { late: n }),
        book.add(`late${n}@example.com`),
      ])
      slowest = Math.max(slowest, performance.now() - before)
    }
    expect((await book.call('GET', `/contacts/bulk/${body.jobId}`)).body.result).toMatchObject({ successCount: 1_000, failureCount: 0 })
    expect(Math.round(slowest)).toBeLessThan(500)
    expect((await book.patch(randomUUID(), {})).status).toBe(404)
  })
})
