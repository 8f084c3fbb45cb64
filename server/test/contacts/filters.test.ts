import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { useSharedApp } from '../support/app.ts'
import { stayWithinDay, today } from '../support/clock.ts'
import { MULTIPART, multipart } from '../support/files/multipart.ts'

const sterna = useSharedApp()

async function newProject() {
  const project = await sterna.newProject(await sterna.sharedOwner())
  const { id, call } = project
  return {
    ...project,
    add: async (name: string, data?: object): Promise<string> =>
      (await call('POST', '/contacts', { email: `${name}@example.com`, data })).body.id,
    list: async (query: object) => (await call('GET', `/contacts?${new URLSearchParams(Object.entries(query))}`)).body,
    /** Local parts of the addresses, sorted. */
    subscribers: async () =>
      (
        await many(sterna.db, sql<{ email: string }>`select email from contacts where project_id = ${id} and subscribed order by email`)
      ).map(({ email }) => email.split('@')[0]),
  }
}

const namesOf = ({ data }: { data: { email: string }[] }) => data.map(({ email }) => email.split('@')[0]).sort()

describe('a filter by field and value', () => {
  const DATA: Record<string, object> = {
    text: { plan: 'pro' },
    number: { plan: 42 },
    digits: { plan: '42' },
    decimal: { plan: 1.5 },
    yes: { plan: true },
    none: {},
    list: { plan: ['pro'] },
    dotted: { 'address.city': 'Bonn' },
    nested: { address: { city: 'Bonn' } },
  }

  test.each<[string, string, string[]]>([
    ['plan', 'pro', ['text']],
    ['data.plan', 'pro', ['text']],
    ['plan', 'PRO', []],
    ['plan', '42', ['digits', 'number']],
    ['plan', '1.50', ['decimal']],
    ['plan', 'true', ['yes']],
    ['plan', '', []],
    ['plan', '%', []],
    ['missing', 'x', []],
    ['data.address.city', 'Bonn', ['dotted', 'nested']],
    ['email', 'TEXT@Example.com', ['text']],
    ['createdAt', '2001-01-01', []],
    ['createdAt', 'nonsense', []],
    ['createdAt', 'today', Object.keys(DATA).sort()],
  ])('by %s = %j selects the same contacts in the list and in a bulk job', async (field, given, expected) => {
    await stayWithinDay(30)
    const value = given === 'today' ? today() : given
    const project = await newProject()
    await Promise.all(Object.entries(DATA).map(([name, data]) => project.add(name, data)))
    const page = await project.list({ field, value, limit: 100 })
    expect(namesOf(page)).toEqual(expected)
    expect(page.total).toBe(expected.length)
    const { result } = await project.contacts.bulk('unsubscribe', { mode: 'query', filter: { field, value } })
    expect(result).toMatchObject({ totalRequested: expected.length, successCount: expected.length, unchangedCount: 0 })
    expect(await project.subscribers()).toEqual(
      Object.keys(DATA)
        .filter((name) => !expected.includes(name))
        .sort(),
    )
  })

  test.each<[unknown, string[]]>([
    [42, ['digits', 'number']],
    [true, ['yes']],
    [1.5, ['decimal']],
  ])('accepts %j as JSON in a bulk job', async (value, expected) => {
    const project = await newProject()
    await Promise.all(Object.entries(DATA).map(([name, data]) => project.add(name, data)))
    await project.contacts.bulk('unsubscribe', { mode: 'query', filter: { field: 'plan', value } })
    expect(await project.subscribers()).toEqual(
      Object.keys(DATA)
        .filter((name) => !expected.includes(name))
        .sort(),
    )
  })

  test.each([
    [{ field: 'plan' }, 'value'],
    [{ value: 'pro' }, 'field'],
    [{ field: '', value: 'pro' }, 'field'],
    [{ createdFrom: 'yesterday' }, 'createdFrom'],
    [{ createdTo: '2026-02-30' }, 'createdTo'],
    [{ createdTo: '2026-01-01T25:00:00Z' }, 'createdTo'],
  ])('of %j is a 422 for the field %s', async (query, field) => {
    const project = await newProject()
    expect(await project.call('GET', `/contacts?${new URLSearchParams(query as Record<string, string>)}`)).toMatchObject({
      status: 422,
      body: { error: { code: 'VALIDATION_ERROR', errors: [{ field }] } },
    })
  })

  test('has pages of its matches only, and a cursor that is valid for no other filter', async () => {
    const project = await newProject()
    for (let n = 0; n < 7; n++) await project.add(`c${n}`, { plan: n % 2 ? 'odd' : 'even' })
    const query = { field: 'plan', value: 'even', limit: 3 }
    const first = await project.list(query)
    const second = await project.list({ ...query, cursor: first.cursor })
    expect([first.total, first.hasMore, second.hasMore]).toEqual([4, true, false])
    expect([...namesOf(first), ...namesOf(second)].sort()).toEqual(['c0', 'c2', 'c4', 'c6'])
    const other = await project.call('GET', `/contacts?field=plan&value=odd&limit=3&cursor=${first.cursor}`)
    expect(other.status).toBe(400)
  })
})

describe('a filter by creation', () => {
  test('accepts times and dates, both inclusive', async () => {
    const project = await newProject()
    await sql`update contacts set created_at = created_at - interval '1 hour' where id = ${await project.add('early')}`.execute(sterna.db)
    await project.add('late')
    const { data } = await project.list({ sort: 'email', dir: 'desc' })
    const [late, early] = data.map(({ createdAt }: { createdAt: string }) => createdAt)
    const first = early.slice(0, 10)
    const day = (offset: number) => new Date(Date.parse(first) + offset * 86_400_000).toISOString().slice(0, 10)
    const cases: [query: object, names: string[]][] = [
      [{ createdFrom: early }, ['early', 'late']],
      [{ createdFrom: late }, ['late']],
      [{ createdTo: early }, ['early']],
      [{ createdFrom: early, createdTo: early }, ['early']],
      [{ createdFrom: first, createdTo: late.slice(0, 10) }, ['early', 'late']],
      [{ createdTo: day(-1) }, []],
      [{ createdFrom: day(2) }, []],
      [{ createdFrom: '0001-01-01', createdTo: '9999-12-31' }, ['early', 'late']],
      [{ createdFrom: '', createdTo: '' }, ['early', 'late']],
    ]
    for (const [query, names] of cases) {
      const page = await project.list(query)
      expect([query, namesOf(page), page.total]).toEqual([query, names, names.length])
    }
    await project.contacts.bulk('unsubscribe', { mode: 'query', filter: { createdFrom: late, createdTo: late } })
    expect(await project.subscribers()).toEqual(['early'])
  })
})

describe('a list by segment', () => {
  test('is a 404 for a segment that does not exist', async () => {
    const project = await newProject()
    expect(await project.call('GET', '/contacts?segmentId=01a1e217-6e60-76c6-ad74-1da5e512c4f8')).toMatchObject({
      status: 404,
      body: { error: { code: 'RESOURCE_NOT_FOUND', details: { resource: 'segment' } } },
    })
  })
})

describe('a bulk job by query', () => {
  test('reads many contacts without a match page by page, and counts the unchanged ones', async () => {
    const project = await newProject()
    await sql`
      insert into contacts (project_id, id, email, subscribed, data)
      select ${project.id}, gen_random_uuid(), 'c' || n || '@example.com', n % 4 <> 0, case when n % 1500 = 0 then '{"rare": 1}' else '{}' end::jsonb
      from generate_series(1, 4600) as n
    `.execute(sterna.db)
    const { result } = await project.contacts.bulk('unsubscribe', { mode: 'query', filter: { field: 'rare', value: 1 } })
    expect(result).toEqual({
      operation: 'unsubscribe',
      totalRequested: 3,
      successCount: 3,
      unchangedCount: 3,
      failureCount: 0,
      errors: [],
    })
    const again = await project.contacts.bulk('subscribe', { mode: 'query', filter: { field: 'rare', value: 1 } })
    expect(again.result).toMatchObject({ totalRequested: 3, successCount: 3, unchangedCount: 0 })
  })
})

describe('the consent record of a job', () => {
  const startedBy = { person: 'dashboard', key: 'secret-key' } as const

  test.each(['person', 'key'] as const)('names the %s that started it', async (starter) => {
    const project = await newProject()
    const id = await project.add('ada')
    const as = (requestId: string) => ({ 'x-request-id': requestId, ...(starter === 'person' ? { 'x-project-id': project.id } : {}) })
    const credentials = starter === 'person' ? { cookie: project.owner.cookie } : { key: project.sk }
    const bulk = await sterna.call('POST', '/contacts/bulk-unsubscribe', { ...credentials, body: { ids: [id] }, headers: as('bulk-1') })
    await project.finished('bulk', bulk.body.jobId)
    const file = multipart([{ content: 'email,subscribed\nada@example.com,yes' }]).toString()
    const imported = await sterna.call('POST', '/contacts/import', {
      ...credentials,
      body: file,
      headers: { ...as('import-1'), ...MULTIPART },
    })
    await project.finished('import', imported.body.jobId)

    const starterDetails = { startedBy: startedBy[starter], ...(starter === 'person' ? { userId: project.owner.id } : {}) }
    const { data } = (await project.call('GET', `/contacts/${id}/consent`)).body
    expect(data.map(({ source, details }: { source: string; details: object }) => [source, details])).toEqual([
      ['import', { jobId: imported.body.jobId, requestId: 'import-1', ...starterDetails }],
      ['bulk', { jobId: bulk.body.jobId, requestId: 'bulk-1', ...starterDetails }],
    ])
  })
})
