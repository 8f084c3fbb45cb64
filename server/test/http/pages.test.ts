import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'

const sterna = useSharedApp()
const MB = 1024 * 1024
/** The limit of a page, one more row, and the JSON around. */
const MAX_PAGE = MB + 75 * 1024

type Row = { id: string }

/** All pages of a list, each with the largest limit. */
async function readAll(key: string, url: string) {
  const pages: Row[][] = []
  let total: number | undefined
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body } = await sterna.call('GET', `${url}limit=100${cursor && `&cursor=${cursor}`}`, { key })
    expect(status).toBe(200)
    expect(body.hasMore).toBe(body.cursor !== null)
    expect(body.data.length).toBeGreaterThan(0)
    total ??= body.total
    pages.push(body.data)
    cursor = body.cursor
  }
  return { pages, rows: pages.flat(), total }
}

const sizeOf = (page: unknown) => Buffer.byteLength(JSON.stringify(page))

describe('a cursor page', () => {
  test.each(['', 'sort=email&dir=asc&'])(
    'of contacts ends after 1 MB, and the pages together have each contact once (%s)',
    async (query) => {
      const { id, sk } = await sterna.newProject()
      await sql`
      insert into contacts (project_id, id, email, subscribed, data)
      select ${id}, id, 'c' || n || '@example.com', true, jsonb_build_object('text', repeat('x', case when n % 3 = 0 then 10 else 62500 end))
      from unnest(${times(60, () => newId())}::uuid[]) with ordinality as t(id, n)
    `.execute(sterna.db)
      const { pages, rows } = await readAll(sk, `/contacts?${query}`)
      expect(new Set(rows.map((row) => row.id)).size).toBe(60)
      expect(rows).toHaveLength(60)
      expect(pages.length).toBe(3)
      for (const page of pages) expect(sizeOf(page)).toBeLessThan(MAX_PAGE)
    },
  )

  test('of events ends after 1 MB, in order, also with an event that is larger', async () => {
    const { id, sk } = await sterna.newProject()
    const ids = times(8, () => newId())
    await sql`
      insert into events (project_id, id, name, data)
      select ${id}, id, 'large', jsonb_build_object('text', repeat('x', case when n = 3 then 1250000 else 225000 end))
      from unnest(${ids}::uuid[]) with ordinality as t(id, n)
    `.execute(sterna.db)
    const { pages } = await readAll(sk, '/events?')
    // Newest first. The fifth event of 225 kB exceeds 1 MB; the large event is the third from the end.
    expect(pages.map((page) => page.map((row) => ids.indexOf(row.id)))).toEqual([[7, 6, 5, 4, 3], [2], [1, 0]])
  })

  test('of events has the same records as data and as events', async () => {
    const { pk, sk } = await sterna.newProject()
    for (const data of [{ text: '"}],"events":[' }, { nested: [{ a: null }] }, {}])
      await sterna.call('POST', '/v1/track', { key: pk, body: { email: 'ada@example.com', event: 'e', data } })
    const { body } = await sterna.call('GET', '/events?limit=2', { key: sk })
    expect(body).toEqual({ data: body.data, events: body.data, cursor: expect.any(String), hasMore: true, total: 3 })
    expect(Object.keys(body.data[0])).toEqual(['id', 'name', 'data', 'contactId', 'emailId', 'projectId', 'createdAt', 'contact'])
    const { contactId } = body.data[0]
    expect((await sterna.call('GET', `/events/contact/${contactId}?limit=2`, { key: sk })).body.events).toEqual(body.data)
  })

  test('is the first one for an empty cursor', async () => {
    const { sk } = await sterna.newProject()
    for (const url of ['/contacts', '/events', '/emails', '/suppressions', '/sandbox/messages'])
      expect(await sterna.call('GET', `${url}?cursor=`, { key: sk })).toMatchObject({ status: 200, body: { data: [], total: 0 } })
  })
})

describe('an offset page', () => {
  test('of templates of any size is complete and in order, and is read in portions', async () => {
    const { id, sk } = await sterna.newProject()
    const ids = times(10, () => newId())
    await sql`
      insert into templates (project_id, id, name, subject, body, type)
      select ${id}, id, 'T' || n, 'Hi', repeat('é"', 75000), 'MARKETING' from unnest(${ids}::uuid[]) with ordinality as t(id, n)
    `.execute(sterna.db)
    const ask = (query: string) => sterna.call('GET', `/templates?${query}`, { key: sk })
    const { status, headers, body } = await ask('pageSize=100&dir=asc')
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
    expect(body).toMatchObject({ total: 10, page: 1, pageSize: 100, totalPages: 1 })
    expect(body.data.map((row: Row) => row.id)).toEqual(ids)
    const { design: _, ...last } = (await sterna.call('GET', `/templates/${ids[9]}`, { key: sk })).body
    expect(body.data[9]).toEqual(last)
    // The response is streamed, so it has no Content-Length.
    expect(headers['content-length']).toBeUndefined()

    const small = await ask('pageSize=2&page=5&dir=asc')
    expect(small.body).toMatchObject({ data: [{ id: ids[8] }, { id: ids[9] }], total: 10, page: 5, pageSize: 2, totalPages: 5 })
    expect(small.headers['content-length']).toBeDefined()
    expect((await ask('pageSize=2&page=6')).body).toMatchObject({ data: [], total: 10, page: 6 })
  })
})
