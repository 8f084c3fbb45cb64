import { randomUUID } from 'node:crypto'
import { parse } from 'csv-parse/sync'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { type Answer, useApp } from '../support/app.ts'
import { MULTIPART, multipart, type Part } from '../support/multipart.ts'

const sterna = useApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } })

const MB = 1024 * 1024
const PROJECTS_OF_A_PERSON = 50
let owner: Awaited<ReturnType<typeof sterna.newPerson>>
let books = 0

type Contact = { id: string; email: string; subscribed: boolean; data: Record<string, unknown> | null }

/** A project with what a customer does with its jobs. */
async function newBook() {
  if (books++ % PROJECTS_OF_A_PERSON === 0) owner = await sterna.newPerson()
  const { id, sk } = await sterna.newProject(owner)
  const call = (method: string, url: string, body?: unknown) =>
    sterna.call(method, url, { key: sk, ...(body === undefined ? {} : { body }) })
  /** A request body as it is, in any form. */
  async function post(url: string, payload: Buffer | string, headers: Record<string, string>): Promise<Answer> {
    const answer = await sterna.app.inject({ method: 'POST', url, payload, headers: { authorization: `Bearer ${sk}`, ...headers } })
    return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
  }
  const upload = (csv: string | Buffer, as?: Part) => post('/contacts/import', multipart([{ content: csv, ...as }]), MULTIPART)
  return {
    id,
    call,
    post,
    upload,
    add: async (email: string, more: object = {}): Promise<Contact> => (await call('POST', '/contacts', { email, ...more })).body,
    async addMany(count: number, { subscribed = true } = {}): Promise<string[]> {
      const file = Array.from({ length: count }, (_, n) => `c${n}@example.com,${subscribed}`)
      await finished(this, 'import', (await upload(`email,subscribed\n${file.join('\n')}`)).body.jobId)
      const rows = await many(sterna.db, sql<{ id: string }>`select id from contacts where project_id = ${id} order by email`)
      return rows.map((row) => row.id)
    },
    async import(csv: string | Buffer) {
      const { status, body } = await upload(csv)
      expect([status, body]).toEqual([202, { message: expect.any(String), jobId: expect.any(String) }])
      return { jobId: body.jobId as string, ...(await finished(this, 'import', body.jobId)) }
    },
    async bulk(operation: string, selection: object) {
      const { status, body } = await call('POST', `/contacts/bulk-${operation}`, selection)
      expect([status, body]).toEqual([202, { message: expect.any(String), jobId: expect.any(String) }])
      return finished(this, 'bulk', body.jobId)
    },
    contacts: async (): Promise<Contact[]> =>
      many(sterna.db, sql<Contact>`select id, email, subscribed, data from contacts where project_id = ${id} order by email`),
    events: () =>
      many(
        sterna.db,
        sql<{ event: string }>`
          select c.email || ' ' || e.name as event from events e join contacts c on c.project_id = e.project_id and c.id = e.contact_id
          where e.project_id = ${id} order by e.id
        `,
      ).then((rows) => rows.map(({ event }) => event).sort()),
  }
}
type Caller = { call(method: string, url: string): Promise<Answer> }

async function finished(book: Caller, kind: 'import' | 'bulk', jobId: string): Promise<Answer['body']> {
  const status = async () => (await book.call('GET', `/contacts/${kind}/${jobId}`)).body
  await expect.poll(async () => (await status()).finishedAt, { timeout: 15_000, interval: 15 }).not.toBeNull()
  return await status()
}

const times = <T>(length: number, make: (index: number) => T) => Array.from({ length }, (_, index) => make(index))
const plainError = { error: expect.stringMatching(/./) }
const counts = (totalRows: number, createdCount: number, updatedCount: number) => ({
  totalRows,
  createdCount,
  updatedCount,
  successCount: createdCount + updatedCount,
  failureCount: totalRows - createdCount - updatedCount,
})

describe('a bulk job', () => {
  test.each<[string, (ids: string[]) => object]>([
    ['contactIds', (contactIds) => ({ contactIds })],
    ['ids', (ids) => ({ ids })],
    ['mode ids', (contactIds) => ({ mode: 'ids', contactIds })],
    ['mode ids and ids', (ids) => ({ mode: 'ids', ids })],
    ['ids in upper case', (ids) => ({ contactIds: ids.map((id) => id.toUpperCase()) })],
  ])('takes %s, and does to those what it should', async (_, selection) => {
    const book = await newBook()
    const [on, off, kept] = [
      await book.add('a@example.com'),
      await book.add('b@example.com', { subscribed: false }),
      await book.add('c@example.com'),
    ]
    const ids = [on.id, off.id]
    const states = async () => (await book.contacts()).map(({ email, subscribed }) => `${email[0]} ${subscribed ? 'on' : 'off'}`)
    const result = { totalRequested: 2, successCount: 2, failureCount: 0, errors: [] }

    expect((await book.bulk('unsubscribe', selection(ids))).result).toEqual({ ...result, operation: 'unsubscribe', unchangedCount: 1 })
    expect(await states()).toEqual(['a off', 'b off', 'c on'])
    expect((await book.bulk('subscribe', selection(ids))).result).toEqual({ ...result, operation: 'subscribe', unchangedCount: 0 })
    expect(await states()).toEqual(['a on', 'b on', 'c on'])
    expect(await book.events()).toEqual([
      'a@example.com contact.subscribed',
      'a@example.com contact.unsubscribed',
      'b@example.com contact.subscribed',
    ])
    expect((await book.bulk('delete', selection(ids))).result).toEqual({ ...result, operation: 'delete', unchangedCount: 0 })
    expect(await book.contacts()).toMatchObject([{ id: kept.id }])
    expect((await book.call('GET', '/contacts')).body.total).toBe(1)
  })

  test.each<[string, unknown]>([
    ['no ids', { contactIds: [] }],
    ['no ids under the other name', { ids: [] }],
    ['nothing', {}],
    ['mode ids without ids', { mode: 'ids' }],
    ['a filter without a mode', { filter: { subscribed: true } }],
    ['1,001 ids', { contactIds: times(1_001, () => randomUUID()) }],
    ['1,001 times the same', { contactIds: times(1_001, () => '018f0000-0000-7000-8000-000000000000') }],
    ['1,001 ids under the other name', { ids: times(1_001, () => randomUUID()) }],
  ])('with %s is a plain 400', async (_, body) => {
    const book = await newBook()
    await book.add('a@example.com')
    for (const operation of ['subscribe', 'unsubscribe', 'delete']) {
      const answer = await book.call('POST', `/contacts/bulk-${operation}`, body)
      expect(answer).toMatchObject({ status: 400, body: plainError })
      expect(Object.keys(answer.body)).toEqual(['error'])
    }
    expect(await book.contacts()).toHaveLength(1)
  })

  test.each<[string, unknown]>([
    ['a text as ids', { contactIds: 'x' }],
    ['numbers as ids', { contactIds: [1] }],
    ['null as ids', { contactIds: null }],
    ['an unknown mode', { mode: 'all', contactIds: [randomUUID()] }],
    ['a filter that is no object', { mode: 'query', filter: 'x' }],
    ['no filter', { mode: 'query' }],
    ['an empty filter', { mode: 'query', filter: {} }],
    ['a blank search', { mode: 'query', filter: { search: ' ' } }],
    ['all that is no boolean', { mode: 'query', all: 'true' }],
    ['a field without a value', { mode: 'query', filter: { field: 'plan' } }],
    ['a value without a field', { mode: 'query', filter: { value: 'pro' } }],
    ['a day that does not exist', { mode: 'query', filter: { createdFrom: '2026-02-30' } }],
    ['a segment that is no id', { mode: 'query', filter: { segmentId: 'x' } }],
    ['a subscribed that is no boolean', { mode: 'query', filter: { subscribed: 'true' } }],
    ['a search that is too long', { mode: 'query', filter: { search: 'x'.repeat(256) } }],
    ['excludeIds that are no list', { mode: 'query', excludeIds: 'x' }],
  ])('with %s is a 422 and does nothing', async (_, body) => {
    const book = await newBook()
    await book.add('a@example.com')
    expect(await book.call('POST', '/contacts/bulk-delete', body)).toMatchObject({
      status: 422,
      body: { error: { code: 'VALIDATION_ERROR' } },
    })
    expect(await book.contacts()).toHaveLength(1)
  })

  test.each(['subscribd', 'status', 'email', 'where', 'constructor'])(
    'with the unknown key %j in its filter is a 422 that names it',
    async (key) => {
      const book = await newBook()
      await book.add('a@example.com')
      const answer = await book.call('POST', '/contacts/bulk-delete', { mode: 'query', filter: { subscribed: true, [key]: false } })
      expect(answer).toMatchObject({ status: 422, body: { error: { code: 'VALIDATION_ERROR', errors: [{ field: `filter.${key}` }] } } })
      expect(await book.contacts()).toHaveLength(1)
    },
  )

  test('with an empty filter says how to act on everybody', async () => {
    const { call } = await newBook()
    expect((await call('POST', '/contacts/bulk-delete', { mode: 'query', filter: {} })).body.error.errors).toEqual([
      { field: 'filter', message: 'Give a filter, or "all": true to act on every contact.', code: 'required' },
    ])
  })

  test('with a segment that does not exist is a 404', async () => {
    const book = await newBook()
    await book.add('a@example.com')
    const filter = { segmentId: randomUUID() }
    expect(await book.call('POST', '/contacts/bulk-delete', { mode: 'query', filter })).toMatchObject({
      status: 404,
      body: { error: { code: 'RESOURCE_NOT_FOUND', details: { resource: 'segment', id: filter.segmentId } } },
    })
    expect(await book.contacts()).toHaveLength(1)
  })

  test('counts what is malformed, unknown or of another project as not found, and touches it not', async () => {
    const [book, other] = [await newBook(), await newBook()]
    const mine = await book.add('a@example.com')
    const theirs = await other.add('theirs@example.com')
    const missing = ['x', '', randomUUID(), theirs.id, "'; drop table contacts; --", 'é'.repeat(50)]
    for (const operation of ['unsubscribe', 'subscribe', 'delete']) {
      const { result } = await book.bulk(operation, { contactIds: [missing[0], mine.id, ...missing.slice(1)] })
      expect(result).toMatchObject({ totalRequested: 7, successCount: 1, unchangedCount: 0, failureCount: 6 })
      expect(result.errors).toEqual(missing.map((contactId) => ({ contactId, error: expect.stringMatching(/not found/i) })))
    }
    expect(await other.contacts()).toMatchObject([{ id: theirs.id, subscribed: true }])
    expect(await other.events()).toEqual([])
  })

  test.each(['subscribe', 'unsubscribe', 'delete'])('%s given one id 1,000 times succeeds as if it were given once', async (operation) => {
    const book = await newBook()
    const { id } = await book.add('a@example.com', { subscribed: operation !== 'subscribe' })
    const { result } = await book.bulk(operation, { contactIds: times(1_000, (n) => (n % 2 ? id : id.toUpperCase())) })
    expect(result).toMatchObject({ totalRequested: 1_000, successCount: 1_000, unchangedCount: 999, failureCount: 0, errors: [] })
    expect(await book.events()).toEqual(operation === 'delete' ? [] : [`a@example.com contact.${operation}d`])
    expect((await book.call('GET', '/contacts?subscribed=true')).body.total).toBe(operation === 'subscribe' ? 1 : 0)
  })

  test('takes 1,000 ids, of which some are missing', async () => {
    const book = await newBook()
    const ids = await book.addMany(990)
    const missing = times(10, () => randomUUID())
    const contactIds = [...ids.slice(0, 495), ...missing, ...ids.slice(495)]
    const { result } = await book.bulk('unsubscribe', { contactIds })
    expect(result).toMatchObject({ totalRequested: 1_000, successCount: 990, unchangedCount: 0, failureCount: 10 })
    expect(result.errors.map(({ contactId }: { contactId: string }) => contactId)).toEqual(missing)
    expect(await book.events()).toHaveLength(990)
    expect((await book.bulk('delete', { contactIds })).result).toMatchObject({ successCount: 990, failureCount: 10 })
    expect(await book.contacts()).toEqual([])
  })

  test.each<[string, object, (contact: { n: number; on: boolean }) => boolean]>([
    ['everyone', { all: true }, () => true],
    ['everyone by an empty filter', { filter: {}, all: true }, () => true],
    ['only matches, although it says all', { filter: { subscribed: true }, all: true }, ({ on }) => on],
    ['a search', { filter: { search: 'C1' } }, ({ n }) => String(n).startsWith('1')],
    ['a search for a wildcard', { filter: { search: '%' } }, () => false],
    ['subscribers', { filter: { subscribed: true } }, ({ on }) => on],
    ['others', { filter: { subscribed: false } }, ({ on }) => !on],
    ['both', { filter: { search: '@example', subscribed: true } }, ({ on }) => on],
  ])('by query takes %s, on however many pages', async (_, query, isMeant) => {
    const book = await newBook()
    await (await newBook()).add('c1@example.com')
    const people = times(1_101, (n) => ({ n, on: n % 3 > 0 }))
    await book.import(`email,subscribed\n${people.map(({ n, on }) => `c${n}@example.com,${on}`).join('\n')}`)
    const meant = people.filter(isMeant)
    const changing = meant.filter(({ on }) => on).length
    const { result } = await book.bulk('unsubscribe', { mode: 'query', ...query })
    expect(result).toEqual({
      operation: 'unsubscribe',
      totalRequested: meant.length,
      successCount: meant.length,
      unchangedCount: meant.length - changing,
      failureCount: 0,
      errors: [],
    })
    expect(await book.events()).toHaveLength(changing)
    expect((await book.call('GET', '/contacts?subscribed=true')).body.total).toBe(people.filter(({ on }) => on).length - changing)
  })

  test.each<[string, (ids: string[]) => unknown[]]>([
    ['as they are', (ids) => ids],
    ['in upper case', (ids) => ids.map((id) => id.toUpperCase())],
    ['among nonsense', (ids) => ['x', randomUUID(), '', ...ids, ...ids]],
  ])('by query spares excludeIds given %s', async (_, given) => {
    const book = await newBook()
    const ids = await book.addMany(620)
    const spared = ids.filter((_, n) => n % 100 === 0)
    const { result } = await book.bulk('delete', { mode: 'query', filter: { search: 'example' }, excludeIds: given(spared) })
    expect((await book.contacts()).map(({ id }) => id).sort()).toEqual([...spared].sort())
    expect(result).toMatchObject({ totalRequested: 613, successCount: 613, failureCount: 0 })
  })

  test('runs beside others without a deadlock, and everyone ends up in one state', async () => {
    const book = await newBook()
    const ids = await book.addMany(400)
    const jobs = await Promise.all(
      times(8, (n) =>
        book.call('POST', `/contacts/bulk-${n % 2 ? 'subscribe' : 'unsubscribe'}`, { contactIds: n % 3 ? ids : ids.toReversed() }),
      ),
    )
    const patches = Promise.all(times(60, (n) => book.call('PATCH', `/contacts/${ids[n * 6]}`, { data: { n } })))
    const done = await Promise.all(jobs.map(({ body }) => finished(book, 'bulk', body.jobId)))
    expect((await patches).map(({ status }) => status)).toEqual(times(60, () => 200))
    expect(done.map(({ result }) => [result.successCount, result.failureCount])).toEqual(times(8, () => [400, 0]))
    const rows = await book.contacts()
    const events = await book.events()
    const subscribed = rows.filter((row) => row.subscribed).length
    expect(
      events.filter((event) => event.endsWith('.unsubscribed')).length - events.filter((event) => event.endsWith('.subscribed')).length,
    ).toBe(400 - subscribed)
    const changes = done.reduce((sum, { result }) => sum + result.successCount - result.unchangedCount, 0)
    expect(events).toHaveLength(changes)
    expect((await book.call('GET', '/contacts?subscribed=true')).body.total).toBe(subscribed)
  })
})

describe('the status of a job', () => {
  const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

  test('has one shape', async () => {
    const book = await newBook()
    const { jobId: importId, ...imported } = await book.import('email\na@example.com\nbad')
    expect(imported).toEqual({
      id: importId,
      type: 'import',
      state: 'completed',
      status: 'completed',
      progress: 100,
      result: { ...counts(2, 1, 0), errors: [{ row: 3, email: 'bad', error: expect.any(String) }] },
      failedReason: null,
      createdAt: timestamp,
      finishedAt: timestamp,
    })
    const [{ id }] = (await book.contacts()) as [Contact]
    const bulk = await book.bulk('delete', { contactIds: [id] })
    expect(bulk).toMatchObject({ id: bulk.jobId, state: 'completed', status: 'completed', progress: 100, failedReason: null })
    expect(Object.keys(bulk).sort()).toEqual([...Object.keys(imported), 'jobId'].sort())
    expect((await book.call('GET', `/contacts/import/${importId}`)).body.jobId).toBe(importId)
  })

  test('of a job that has not begun says so', async () => {
    const book = await newBook()
    const { body } = await book.call('POST', '/contacts/bulk-delete', { contactIds: [randomUUID()] })
    await finished(book, 'bulk', body.jobId)
    // As it was before a worker came by.
    await sql`update jobs set state = 'waiting', progress = 0, result = null, finished_at = null where id = ${body.jobId}`.execute(
      sterna.db,
    )
    expect((await book.call('GET', `/contacts/bulk/${body.jobId}`)).body).toMatchObject({
      state: 'waiting',
      status: 'waiting',
      progress: 0,
      result: null,
      failedReason: null,
      finishedAt: null,
    })
  })

  test('is a plain 404 for an unknown, malformed or foreign job, and for one of the other kind', async () => {
    const [book, other] = [await newBook(), await newBook()]
    const imported = await book.import('email\na@example.com')
    const bulk = await book.bulk('delete', { contactIds: [randomUUID()] })
    const foreign = {
      import: (await other.import('email\na@example.com')).jobId,
      bulk: (await other.bulk('delete', { contactIds: ['x'] })).jobId,
    }
    for (const path of ['import/:id', 'import/:id/errors', 'bulk/:id']) {
      const otherKind = path.startsWith('bulk') ? imported.jobId : bulk.jobId
      const theirs = path.startsWith('bulk') ? foreign.bulk : foreign.import
      for (const id of [randomUUID(), 'x', '1', "'", 'f'.repeat(500), otherKind, theirs]) {
        const { status, body } = await book.call('GET', `/contacts/${path.replace(':id', id)}`)
        expect([status, body]).toEqual([404, { error: 'No such job.' }])
      }
    }
  })

  test('never goes backwards', async () => {
    const book = await newBook()
    const { body } = await book.upload(`email,n\n${times(12_000, (n) => `c${n}@example.com,${n}`).join('\n')}`)
    const seen: { progress: number; state: string; totalRows: number }[] = []
    await expect
      .poll(
        async () => {
          const { progress, state, result } = (await book.call('GET', `/contacts/import/${body.jobId}`)).body
          seen.push({ progress, state, totalRows: result?.totalRows ?? 0 })
          return state
        },
        { timeout: 15_000, interval: 5 },
      )
      .toBe('completed')
    const rank = ['waiting', 'active', 'completed']
    for (const [before, after] of seen.slice(1).map((after, n) => [seen[n]!, after] as const)) {
      expect(after.progress).toBeGreaterThanOrEqual(before.progress)
      expect(after.totalRows).toBeGreaterThanOrEqual(before.totalRows)
      expect(rank.indexOf(after.state)).toBeGreaterThanOrEqual(rank.indexOf(before.state))
    }
    expect(seen.every(({ progress, state }) => (state === 'completed' ? progress === 100 : progress < 100))).toBe(true)
    expect(seen.some(({ progress }) => progress > 0 && progress < 100)).toBe(true)
  })
})

describe('a CSV file', () => {
  const ada = (data: object, subscribed = true) => [{ email: 'ada@example.com', subscribed, data }]
  /** An emoji whose two halves would fall into two pieces of a file read 64 kB at a time. */
  const astride = (before: string) => `${before}${'x'.repeat(65_535 - before.length)}😀`
  const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')

  test.each<[string, string | Buffer, object[]]>([
    ['with a comma', 'email,plan\nada@example.com,pro', ada({ plan: 'pro' })],
    ['with a semicolon', 'email;plan\nada@example.com;a,b', ada({ plan: 'a,b' })],
    ['with a tab', 'email\tplan\nada@example.com\ta,b;c', ada({ plan: 'a,b;c' })],
    ['with a comma in a quoted header', '"a,b,c";email;plan\n1;ada@example.com;pro', ada({ 'a,b,c': 1, plan: 'pro' })],
    ['with a line break in a quoted header', '"a\nb";email\n1;ada@example.com', ada({ 'a\nb': 1 })],
    ['with a byte order mark', '\ufeffemail,plan\nada@example.com,pro', ada({ plan: 'pro' })],
    ['with a byte order mark and quotes', '\ufeff"email","plan"\n"ada@example.com","pro"', ada({ plan: 'pro' })],
    ['in UTF-16', utf16('email,plan\nada@example.com,ключ😀'), ada({ plan: 'ключ😀' })],
    ['with CRLF', 'email,plan\r\nada@example.com,pro\r\n', ada({ plan: 'pro' })],
    ['with CR', 'email,plan\rada@example.com,pro\r', ada({ plan: 'pro' })],
    ['without a last line break', 'email\nada@example.com', ada({})],
    ['with blank lines', 'email,plan\n\nada@example.com,pro\n\n,\n', ada({ plan: 'pro' })],
    ['with a quoted line break', 'email,note\nada@example.com,"one\ntwo\r\nthree"', ada({ note: 'one\ntwo\r\nthree' })],
    ['with quoted quotes', 'email,note\nada@example.com,"say ""hi"""', ada({ note: 'say "hi"' })],
    ['with a quoted delimiter', 'email,note\nada@example.com,"a,b"', ada({ note: 'a,b' })],
    ['with email last', 'plan,email\npro,ada@example.com', ada({ plan: 'pro' })],
    ['with EMAIL', 'EMAIL,plan\nADA@Example.com,pro', ada({ plan: 'pro' })],
    ['with spaces around names and addresses', ' Email , plan \n  ada@example.com  ,pro', ada({ plan: 'pro' })],
    ['with a header of two words', 'email,First Name\nada@example.com,Ada', ada({ 'First Name': 'Ada' })],
    ['with headers that differ by case', 'email,Plan,plan\nada@example.com,A,b', ada({ Plan: 'A', plan: 'b' })],
    ['with a header in another script', 'email,ключ\nada@example.com,значение', ada({ ключ: 'значение' })],
    ['with dots and quotes in a header', `email,"a.b""c'"\nada@example.com,1`, ada({ 'a.b"c\'': 1 })],
    ['with a column without a name', 'email,,plan\nada@example.com,x,pro', ada({ plan: 'pro' })],
    ['with empty cells', 'email,plan,city\nada@example.com,,Bonn', ada({ city: 'Bonn' })],
    ['with fewer cells than headers', 'email,plan,city\nada@example.com', ada({})],
    ['with more cells than headers', 'email,plan\nada@example.com,pro,more,and,more', ada({ plan: 'pro' })],
    ['with reserved headers', 'email,id,sterna_id,service_email,unsubscribeUrl,plan\nada@example.com,1,2,3,4,pro', ada({ plan: 'pro' })],
    ['with two email columns', 'email,email,plan\nada@example.com,grace@example.com,pro', ada({ plan: 'pro' })],
    ['with locale, which is a text', 'email,locale\nada@example.com,1', ada({ locale: '1' })],
    ['with formulas', 'email,a,b\nada@example.com,=1+1,@x', ada({ a: '=1+1', b: '@x' })],
    ['with several rows of one address', 'email,a,b\nada@example.com,1,x\nADA@example.com,2,\nada@example.com,,y', ada({ a: 2, b: 'y' })],
    [
      'with an emoji astride two pieces',
      astride('email,note\nada@example.com,'),
      ada({ note: astride('email,note\nada@example.com,').slice(27) }),
    ],
    ['with HTML', 'email,x\nada@example.com,<img src=x onerror=alert(1)>', ada({ x: '<img src=x onerror=alert(1)>' })],
  ])('%s is read', async (_, csv, expected) => {
    const book = await newBook()
    const { result, state } = await book.import(csv)
    expect(state).toBe('completed')
    expect(result).toMatchObject({ failureCount: 0, errors: [], createdCount: 1 })
    expect((await book.contacts()).map(({ id, ...contact }) => contact)).toEqual(expected)
  })

  test('that uses a header twice is read, and one of the two values kept', async () => {
    const book = await newBook()
    expect((await book.import('email,plan,plan\nada@example.com,a,b')).result).toMatchObject(counts(1, 1, 0))
    expect(['a', 'b']).toContain((await book.contacts())[0]!.data!.plan)
  })

  test('has cells that become numbers and booleans, or stay text', async () => {
    const cells: [string, unknown][] = [
      ['true', true],
      ['false', false],
      ['0', 0],
      ['42', 42],
      ['-7', -7],
      ['1.5', 1.5],
      ['-0.25', -0.25],
      ['123456789012345', 123456789012345],
      ['007', '007'],
      ['00', '00'],
      ['-01', '-01'],
      ['+49123', '+49123'],
      ['1e5', '1e5'],
      ['0x10', '0x10'],
      ['1.', '1.'],
      ['1.2.3', '1.2.3'],
      ['1 000', '1 000'],
      ['NaN', 'NaN'],
      ['Infinity', 'Infinity'],
      ['null', 'null'],
      ['9007199254740993', '9007199254740993'],
      ['4111111111111111', '4111111111111111'],
      ['0.1234567890123456789', '0.1234567890123456789'],
      ['2026-01-31', '2026-01-31'],
      ['yes', 'yes'],
      ['--1', '--1'],
      ['１２', '１２'],
    ]
    const book = await newBook()
    await book.import(`email,${cells.map((_, n) => `k${n}`).join()}\nada@example.com,${cells.map(([cell]) => cell).join()}`)
    const { data } = (await book.contacts())[0]!
    expect(cells.map(([cell], n) => [cell, data![`k${n}`]])).toEqual(cells)
  })

  test.each<[string, boolean | undefined]>([
    ['true', true],
    ['TRUE', true],
    ['1', true],
    ['yes', true],
    ['Yes', true],
    [' yes ', true],
    ['false', false],
    ['0', false],
    ['no', false],
    ['n', false],
    ['unsubscribed', false],
    ['', undefined],
    ['   ', undefined],
  ])('with %j in the column subscribed', async (cell, said) => {
    const book = await newBook()
    await book.add('on@example.com')
    await book.add('off@example.com', { subscribed: false })
    await book.import(`plan,Subscribed,email\n${['on', 'off', 'new'].map((name) => `x,"${cell}",${name}@example.com`).join('\n')}`)
    const now = Object.fromEntries((await book.contacts()).map(({ email, subscribed, data }) => [email.split('@')[0], [subscribed, data]]))
    expect(now).toEqual({ on: [said ?? true, { plan: 'x' }], off: [said ?? false, { plan: 'x' }], new: [said ?? true, { plan: 'x' }] })
    expect(await book.events()).toEqual(
      said === undefined ? [] : said ? ['off@example.com contact.subscribed'] : ['on@example.com contact.unsubscribed'],
    )
  })

  test('without that column subscribes nobody who opted out', async () => {
    const book = await newBook()
    const { id } = await book.add('off@example.com', { subscribed: false, data: { plan: 'old', kept: 1 } })
    const { result } = await book.import('email,plan\noff@example.com,new\nnew@example.com,new')
    expect(result).toMatchObject(counts(2, 1, 1))
    expect(await book.contacts()).toMatchObject([
      { email: 'new@example.com', subscribed: true },
      { id, email: 'off@example.com', subscribed: false, data: { plan: 'new', kept: 1 } },
    ])
    expect(await book.events()).toEqual([])
  })

  test.each<[string, string | Buffer]>([
    ['that is empty', ''],
    ['of blank lines', '\n\n  \n'],
    ['of a byte order mark', '\ufeff'],
    ['without an email column', 'name,plan\nada@example.com,pro'],
    ['with a header that only contains email', 'email sent,plan\nada@example.com,pro'],
    ['with data before the header', 'ada@example.com,pro\nemail,plan'],
    ['of binary', Buffer.from('89504e470d0a1a0a0000000d49484452ff00fe', 'hex')],
    ['that is zipped', Buffer.from('504b0304140000000800f1f2f3f4', 'hex')],
    ['of 1,001 columns', `email,${times(1_000, (n) => `k${n}`).join()}\nada@example.com`],
    ['of a million columns', `email${','.repeat(1_000_000)}\nada@example.com`],
    ['of one line', `email,${'x'.repeat(4 * MB)}`],
  ])('%s is a plain 400', async (_, csv) => {
    const book = await newBook()
    const answer = await book.upload(csv)
    expect(answer).toMatchObject({ status: 400, body: plainError })
    expect(Object.keys(answer.body)).toEqual(['error'])
    expect(await book.contacts()).toEqual([])
  })

  test('of a header only is an import of nobody', async () => {
    const book = await newBook()
    expect((await book.import('email,plan\n')).result).toEqual({ ...counts(0, 0, 0), errors: [] })
  })

  test('with a quote that is never closed fails with the line, after all rows before it are imported', async () => {
    for (const before of [0, 4_500]) {
      const book = await newBook()
      const good = times(before, (n) => `c${n}@example.com,x`)
      const job = await book.import(['email,note', ...good, 'ada@example.com,"', 'grace@example.com,x'].join('\n'))
      expect(job).toMatchObject({
        state: 'failed',
        status: 'failed',
        failedReason: `Line ${before + 2} opens a quote that is never closed.`,
        result: { ...counts(before, before, 0), errors: [] },
      })
      expect(await book.contacts()).toHaveLength(before)
      expect((await book.call('GET', '/contacts')).body.total).toBe(before)
    }
  })

  test.each<[string, string, string]>([
    ['a quote in the middle of a cell', 'a"b', 'A quote stands in the middle of a cell'],
    ['a quote after a space', ' "a"', 'A quote stands in the middle of a cell'],
    ['text behind a closing quote', '"a"b', 'Text follows a closing quote'],
  ])('with %s fails for that row alone, with its line', async (_, cell, error) => {
    const book = await newBook()
    const good = times(1_200, (n) => `c${n}@example.com,"two\nlines"`)
    const { state, result } = await book.import(['email,note', ...good, `ada@example.com,${cell}`, 'grace@example.com,x'].join('\n'))
    expect(state).toBe('completed')
    expect(result).toEqual({
      ...counts(1_202, 1_201, 0),
      errors: [{ row: 1_202, email: 'ada@example.com', error: `${error}, in line 2402` }],
    })
    expect((await book.contacts()).map(({ email }) => email)).toContain('grace@example.com')
  })

  test.each<[string, string, { row: number; email: string; error: RegExp }[]]>([
    ['no address', 'email,plan\n,pro\nada@example.com,pro', [{ row: 2, email: '', error: /address/ }]],
    ['a bad address', 'email\nada@example.com\nnobody', [{ row: 3, email: 'nobody', error: /address/ }]],
    [
      'two addresses',
      'email\n"a@example.com, b@example.com"\nada@example.com',
      [{ row: 2, email: 'a@example.com, b@example.com', error: /address/ }],
    ],
    ['a bad row behind a quoted line break', 'email,x\nada@example.com,"a\nb"\nbad,1', [{ row: 3, email: 'bad', error: /address/ }]],
    ['U+0000 in a cell', 'email,x\nada@example.com,1\ngrace@example.com,a\0b', [{ row: 3, email: 'grace@example.com', error: /U\+0000/ }]],
    ['U+0000 in a header', 'email,x\0\nada@example.com,\ngrace@example.com,1', [{ row: 3, email: 'grace@example.com', error: /U\+0000/ }]],
    [
      'a cell that is too long',
      `email,x\nada@example.com,1\ngrace@example.com,${'x'.repeat(65_537)}`,
      [{ row: 3, email: 'grace@example.com', error: /65/ }],
    ],
    [
      'a header that is too long',
      `email,${'h'.repeat(256)}\nada@example.com,\ngrace@example.com,1`,
      [{ row: 3, email: 'grace@example.com', error: /255/ }],
    ],
  ])('with %s keeps the row, its number, address and reason, and imports the others', async (_, csv, errors) => {
    const book = await newBook()
    const { result, state } = await book.import(csv)
    expect(state).toBe('completed')
    expect(result).toMatchObject(counts(1 + errors.length, 1, 0))
    expect(result.errors).toEqual(errors.map(({ row, email, error }) => ({ row, email, error: expect.stringMatching(error) })))
    expect((await book.contacts()).map(({ email }) => email)).toEqual(['ada@example.com'])
  })

  test.each<[string, string]>([
    ['U+0000 in the address', 'a\0b@example.com'],
    ['an address that is cut in the middle of an emoji', `${'x'.repeat(319)}😀@example.com`],
  ])('with %s ends, like one with any other bad row', async (_, address) => {
    const book = await newBook()
    const { body } = await book.upload(`email\nada@example.com\n${address}\ngrace@example.com`)
    await expect
      .poll(async () => (await book.call('GET', `/contacts/import/${body.jobId}`)).body.result, { timeout: 5_000 })
      .toMatchObject({ ...counts(3, 2, 0), errors: [{ row: 3 }] })
  })

  test('of one address 100,000 times is one contact with what came last', async () => {
    const book = await newBook()
    const { result } = await book.import(`email,n\n${times(100_000, (n) => `${n % 2 ? 'ADA' : 'ada'}@example.com,${n}`).join('\n')}`)
    expect(result).toEqual({ ...counts(100_000, 1, 99_999), errors: [] })
    expect(await book.contacts()).toMatchObject([{ email: 'ada@example.com', data: { n: 99_999 } }])
    expect((await book.call('GET', '/contacts')).body.total).toBe(1)
  })

  test('uploaded twice at once creates everyone once and tells every change once', async () => {
    const book = await newBook()
    await book.addMany(1_500)
    const csv = `email,subscribed,n\n${times(5_000, (n) => `c${n}@example.com,no,${n}`).join('\n')}`
    const jobs = await Promise.all([book.import(csv), book.import(csv)])
    expect(jobs.map(({ state, result }) => [state, result.totalRows, result.failureCount])).toEqual(times(2, () => ['completed', 5_000, 0]))
    expect(jobs[0]!.result.createdCount + jobs[1]!.result.createdCount).toBe(3_500)
    expect(await book.contacts()).toHaveLength(5_000)
    expect(await book.events()).toHaveLength(1_500)
    expect((await book.call('GET', '/contacts?subscribed=true')).body.total).toBe(0)
  })

  test('with a row that one contact cannot hold fails for that row alone', async () => {
    const book = await newBook()
    const full = Object.fromEntries(times(4, (n) => [`k${n}`, 'x'.repeat(64_000)]))
    await book.add('full@example.com', { data: full })
    await book.add('on@example.com')
    const good = times(300, (n) => `c${n}@example.com,,${n}`)
    const rows = [
      ...good.slice(0, 150),
      'full@example.com,,1',
      `full@example.com,${'y'.repeat(30_000)},2`,
      'full@example.com,,3',
      ...good.slice(150),
    ]
    const { result, state } = await book.import(
      ['email,bio,n,subscribed', ...rows.map((row) => `${row},`), 'on@example.com,,1,no', 'bad,,1,'].join('\n'),
    )
    expect(state).toBe('completed')
    expect(result).toMatchObject(counts(305, 300, 3))
    expect(result.errors).toEqual([
      { row: 153, email: 'full@example.com', error: expect.stringMatching(/large/) },
      { row: 306, email: 'bad', error: expect.any(String) },
    ])
    const contacts = await book.contacts()
    expect(contacts).toHaveLength(302)
    expect(contacts.find(({ email }) => email === 'full@example.com')!.data).toEqual({ ...full, n: 3 })
    expect(await book.events()).toEqual(['on@example.com contact.unsubscribed'])
    expect((await book.call('GET', '/contacts')).body.total).toBe(302)
  })
})

describe('an import of contacts that are already there', () => {
  test('costs about the same whether or not it names their subscription', { timeout: 60_000 }, async () => {
    const book = await newBook()
    await book.addMany(8_000)
    const measure = async (csv: string) => {
      const begin = performance.now()
      expect((await book.import(csv)).result).toMatchObject(counts(8_000, 0, 8_000))
      return performance.now() - begin
    }
    const without = await measure(`email,n\n${times(8_000, (n) => `c${n}@example.com,${n}`).join('\n')}`)
    const withIt = await measure(`email,n,subscribed\n${times(8_000, (n) => `c${n}@example.com,${n},yes`).join('\n')}`)
    expect(withIt).toBeLessThan(3 * without)
  })

  test('keeps nobody waiting, not even when one row cannot be stored', { timeout: 60_000 }, async () => {
    const book = await newBook()
    await book.add('full@example.com', { data: Object.fromEntries(times(4, (n) => [`k${n}`, 'x'.repeat(64_000)])) })
    const ids = await book.addMany(1_900)
    const rows = times(1_900, (n) => `c${n}@example.com,,${n},no`)
    rows.splice(950, 0, `full@example.com,${'y'.repeat(30_000)},1,`)
    const { body } = await book.upload(`email,bio,n,subscribed\n${rows.join('\n')}`)

    const answers: [status: number, ms: number][] = []
    const isOpen = async () => (await book.call('GET', `/contacts/import/${body.jobId}`)).body.finishedAt === null
    for (let n = 0; n < 1_000 && (await isOpen()); n++) {
      const before = performance.now()
      const { status } = await book.call('PATCH', `/contacts/${ids[(n * 37) % ids.length]}`, { data: { patched: n } })
      answers.push([status, Math.round(performance.now() - before)])
    }
    expect((await finished(book, 'import', body.jobId)).result).toMatchObject(counts(1_901, 0, 1_900))
    expect(answers.filter(([status, ms]) => status !== 200 || ms > 1_000)).toEqual([])
  })
})

describe('the failing rows of an import', () => {
  const read = (text: string) => parse(text, { relax_column_count: false }) as string[][]

  test('come as a CSV that says what the status says', async () => {
    const book = await newBook()
    const bad = ['plain', 'a "quoted" one', 'with, comma', 'two\nlines', 'é😀', "o'hara", '<b>', '', ' padded ', 'x'.repeat(400)]
    const { jobId, result } = await book.import(
      `email,x\n${bad.map((email) => `"${email.replaceAll('"', '""')}",1`).join('\n')}\nada@example.com,1`,
    )
    expect(result).toMatchObject({ successCount: 1, failureCount: bad.length })
    const { status, headers, body } = await book.call('GET', `/contacts/import/${jobId}/errors`)
    expect(status).toBe(200)
    expect(headers['content-type']).toMatch(/^text\/csv; ?charset=utf-8$/)
    expect(headers['content-disposition']).toMatch(/^attachment; filename="[\w.-]+\.csv"$/)
    expect(read(body)).toEqual([
      ['row', 'email', 'error'],
      ...result.errors.map(({ row, email, error }: { row: number; email: string; error: string }) => [String(row), email, error]),
    ])
    expect(result.errors.map(({ email }: { email: string }) => email)).toEqual(bad.map((email) => email.trim().slice(0, 320)))
  })

  test('run no formula in a spreadsheet', async () => {
    const book = await newBook()
    const bad = ['=cmd|calc!A1', '+1', '-1', '@sum(1)', '=HYPERLINK("http://evil")', '"=1"', '＝1', '\t=1', '\r=1']
    const { jobId } = await book.import(`email\n${bad.map((email) => `"${email.replaceAll('"', '""')}"`).join('\n')}`)
    const { body } = await book.call('GET', `/contacts/import/${jobId}/errors`)
    const [, ...rows] = read(body)
    expect(rows).toHaveLength(bad.length)
    for (const cell of rows.flat()) expect(cell).not.toMatch(/^[=+\-@\t\r]/)
    expect(rows.slice(0, 4).map(([, email]) => email)).toEqual(["'=cmd|calc!A1", "'+1", "'-1", "'@sum(1)"])
  })

  test('are all kept, however many', async () => {
    const book = await newBook()
    const { jobId, result } = await book.import(`email\n${times(30_000, (n) => (n % 10 ? `bad${n}` : `c${n}@example.com`)).join('\n')}`)
    expect(result).toMatchObject(counts(30_000, 3_000, 0))
    const rows = read((await book.call('GET', `/contacts/import/${jobId}/errors`)).body).slice(1)
    expect(rows.map(([row, email]) => [row, email])).toEqual(times(30_000, (n) => [String(n + 2), `bad${n}`]).filter((_, n) => n % 10))
  })

  test('are none when all went well', async () => {
    const book = await newBook()
    const { jobId } = await book.import('email\nada@example.com')
    expect((await book.call('GET', `/contacts/import/${jobId}/errors`)).body).toBe('row,email,error\r\n')
  })
})

describe('an upload', () => {
  const csv = 'email\nada@example.com'

  test.each<[string, () => Buffer | string, Record<string, string>, number]>([
    ['without a file', () => multipart([{ field: 'note', filename: null, content: 'x' }]), MULTIPART, 400],
    ['with the file as a text field', () => multipart([{ filename: null, content: csv }]), MULTIPART, 400],
    ['in another field', () => multipart([{ field: 'upload', content: csv }]), MULTIPART, 400],
    ['with two files', () => multipart([{ content: csv }, { content: csv }]), MULTIPART, 400],
    ['of nothing', () => multipart([]), MULTIPART, 400],
    ['without a body', () => '', MULTIPART, 400],
    ['without a boundary', () => multipart([{ content: csv }]), { 'content-type': 'multipart/form-data' }, 400],
    ['with another boundary', () => multipart([{ content: csv }]), { 'content-type': 'multipart/form-data; boundary=other' }, 400],
    ['that is cut off', () => multipart([{ content: csv }]).subarray(0, -20), MULTIPART, 400],
    ['called __proto__', () => multipart([{ field: '__proto__', content: csv }]), MULTIPART, 400],
    [
      'of a thousand fields',
      () => multipart([...times(1_000, (n) => ({ field: `f${n}`, filename: null, content: 'x' })), { content: csv }]),
      MULTIPART,
      400,
    ],
    ['of JSON', () => '{}', { 'content-type': 'application/json' }, 415],
    ['of a form', () => 'file=x', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['of bare CSV', () => csv, { 'content-type': 'text/csv' }, 415],
    ['of 5 MB and one byte', () => multipart([{ content: `${csv}\n`.padEnd(5 * MB + 1, '\n') }]), MULTIPART, 413],
    ['of 6 MB', () => multipart([{ content: `${csv}\n`.padEnd(6 * MB, '\n') }]), MULTIPART, 413],
    ['of 6 MB in another field', () => multipart([{ field: 'x', content: `${csv}\n`.padEnd(6 * MB, '\n') }]), MULTIPART, 413],
  ])('%s is refused', async (_, payload, headers, expected) => {
    const book = await newBook()
    const { status, body } = await book.post('/contacts/import', payload(), headers)
    expect(status).toBe(expected)
    expect(body.error).toBeTruthy()
    expect(await one(sterna.db, sql`select count(*)::int as n from jobs where project_id = ${book.id}`)).toEqual({ n: 0 })
  })

  test.each<[string, Part[]]>([
    ['whose file has a path for a name', [{ content: csv, filename: '../../etc/passwd' }]],
    ['whose file has an odd type', [{ content: csv, type: 'application/vnd.ms-excel' }]],
    ['with a field before the file', [{ field: 'note', filename: null, content: 'x' }, { content: csv }]],
    ['with a field behind the file', [{ content: csv }, { field: 'note', filename: null, content: 'x' }]],
  ])('%s is taken', async (_, parts) => {
    const book = await newBook()
    const { status, body } = await book.post('/contacts/import', multipart(parts), MULTIPART)
    expect(status).toBe(202)
    expect((await finished(book, 'import', body.jobId)).result).toMatchObject(counts(1, 1, 0))
  })

  test('with a part header of 1 MB is refused or read, and its job ends', async () => {
    const book = await newBook()
    const { status, body } = await book.post('/contacts/import', multipart([{ filename: 'x'.repeat(MB), content: csv }]), MULTIPART)
    expect([202, 400]).toContain(status)
    if (status === 202) expect((await finished(book, 'import', body.jobId)).result).toMatchObject(counts(1, 1, 0))
  })

  test('of exactly 5 MB, some 60,000 rows, is imported within 20 s', { timeout: 60_000 }, async () => {
    const book = await newBook()
    const rows: string[] = ['email,First Name,plan,score,signed up']
    for (let size = rows[0]!.length + 1, n = 0; ; n++) {
      const row = `user.${n}@mail${n % 50}.example.com,Name ${n},plan ${n % 7},${n % 1_000},2026-01-${String((n % 28) + 1).padStart(2, '0')}T10:00:00.000Z`
      size += row.length + 1
      if (size > 5 * MB) break
      rows.push(row)
    }
    const file = rows.join('\n').padEnd(5 * MB, '\n')
    expect(Buffer.byteLength(file)).toBe(5 * MB)
    const begin = performance.now()
    const { body } = await book.upload(file)
    await expect
      .poll(async () => (await book.call('GET', `/contacts/import/${body.jobId}`)).body.state, { timeout: 40_000, interval: 50 })
      .toBe('completed')
    expect(performance.now() - begin).toBeLessThan(20_000)

    const count = rows.length - 1
    expect(count).toBeGreaterThan(55_000)
    expect((await book.call('GET', `/contacts/import/${body.jobId}`)).body.result).toEqual({ ...counts(count, count, 0), errors: [] })
    expect((await book.call('GET', '/contacts')).body.total).toBe(count)
    const contacts = await book.contacts()
    expect(contacts).toHaveLength(count)
    const wrong = contacts.filter(({ email, subscribed, data }) => {
      const n = Number(/\d+/.exec(email)![0])
      const { 'First Name': name, plan, score, 'signed up': signedUp, ...rest } = data as Record<string, unknown>
      return !(
        subscribed &&
        name === `Name ${n}` &&
        plan === `plan ${n % 7}` &&
        score === n % 1_000 &&
        signedUp === `2026-01-${String((n % 28) + 1).padStart(2, '0')}T10:00:00.000Z` &&
        Object.keys(rest).length === 0
      )
    })
    expect(wrong).toEqual([])
    // The file itself is not kept longer than needed.
    expect(await one(sterna.db, sql`select count(*)::int as n from job_files where project_id = ${book.id}`)).toEqual({ n: 0 })
  })
})
