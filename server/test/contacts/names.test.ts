import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { searchContacts } from '../../src/contacts/selection/search.ts'
import { useSharedApp } from '../support/app.ts'
import { until } from '../support/eventually.ts'

const sterna = useSharedApp()

type List = { data: { email: string }[]; cursor: string | null; hasMore: boolean; total: number; partial?: boolean }

let project: Awaited<ReturnType<typeof sterna.newProject>>

const PEOPLE: Record<string, object | undefined> = {
  ada: { name: 'Ada Lovelace' },
  tom: { firstName: 'Tomasz', lastName: 'Fischer' },
  joerg: { firstName: 'JÖRG', lastName: 'Őry (a+b)' },
  fischer: undefined,
  nick: { nickname: 'Ada II' },
}

/** A search that the machine was too slow for is asked again. */
const find = (query: Record<string, string>) =>
  until('a search of all contacts', async () => {
    const { body } = await project.call('GET', `/contacts?${new URLSearchParams(query)}`)
    return (body as List).partial ? undefined : (body as List)
  })
const namesOf = ({ data }: List) => data.map(({ email }) => email.split('@')[0]).sort()
const rename = (nameFields: unknown) => project.owner.call('PATCH', `/users/@me/projects/${project.id}`, { body: { nameFields } })

beforeAll(async () => {
  project = await sterna.newProject(await sterna.sharedOwner())
  for (const [name, data] of Object.entries(PEOPLE)) await project.call('POST', '/contacts', { email: `${name}@example.com`, data })
})

test.each<[string, string[]]>([
  ['ada', ['ada']],
  ['ADA LOVE', ['ada']],
  ['Tomasz Fischer', ['tom']],
  ['tomasz   fischer', ['tom']],
  ['fischer', ['fischer', 'tom']],
  ['jörg ő', ['joerg']],
  ['(A+B)', ['joerg']],
  ['.', ['ada', 'fischer', 'joerg', 'nick', 'tom']],
  ['lovelace@', []],
  ['[', []],
  ['\\', []],
  [' ', ['ada', 'fischer', 'joerg', 'nick', 'tom']],
])('q = %j finds a part of the address or of the name', async (q, expected) => {
  const found = await find({ q })
  expect(namesOf(found)).toEqual(expected)
  expect([found.total, found.hasMore]).toEqual([expected.length, false])
})

test('q goes on page by page, in either order, and together with other filters', async () => {
  for (const order of [{}, { dir: 'asc' }, { sort: 'email' }, { sort: 'email', dir: 'asc' }] as Record<string, string>[]) {
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: List = await find({ q: 'example', limit: '2', ...order, ...(cursor && { cursor }) })
      seen.push(...page.data.map(({ email }) => email))
      cursor = page.cursor
    }
    const all = Object.keys(PEOPLE).map((name) => `${name}@example.com`)
    const byTime = order.dir === 'asc' ? all : all.toReversed()
    expect(seen).toEqual(order.sort ? (order.dir === 'asc' ? all.toSorted() : all.toSorted().toReversed()) : byTime)
  }
  expect(namesOf(await find({ q: 'fischer', search: 'tom' }))).toEqual(['tom'])
  expect(namesOf(await find({ q: 'fischer', field: 'firstName', value: 'Tomasz' }))).toEqual(['tom'])
  const { cursor } = await find({ q: 'example', limit: '2' })
  expect((await project.call('GET', `/contacts?${new URLSearchParams({ q: 'exam', cursor: cursor! })}`)).status).toBe(400)
})

test('a bulk job and an export take q, with the names that the project has when they are queued', async () => {
  const body = { mode: 'query', filter: { q: 'tomasz fischer' } }
  const job = await project.contacts.bulk('unsubscribe', body)
  expect(job.result).toMatchObject({ totalRequested: 1, successCount: 1 })
  expect(namesOf(await find({ subscribed: 'false' }))).toEqual(['tom'])
  expect((await project.call('POST', '/contacts/bulk-unsubscribe', { mode: 'query', filter: { q: ' ' } })).status).toBe(422)
})

test('the fields that hold names are a setting of the project', async () => {
  const { body } = await rename(['nickname'])
  expect(body.nameFields).toEqual(['nickname'])
  expect(namesOf(await find({ q: 'ada' }))).toEqual(['ada', 'nick'])
  expect(namesOf(await find({ q: 'tomasz' }))).toEqual([])
  await rename([])
  expect(namesOf(await find({ q: 'ada i' }))).toEqual([])
  for (const bad of [['a\nb'], [''], [5], 'name', Array(6).fill('x')]) expect((await rename(bad)).status).toBe(422)
  expect((await rename(['name', 'firstName + lastName'])).status).toBe(200)
})

test('a search that takes longer than a second says that it was cut', async () => {
  await sql`
    insert into contacts (id, project_id, email, subscribed, data)
    select gen_random_uuid(), ${project.id}, 'many' || n || '@example.com', true, '{}' from generate_series(1, 1000) n
  `.execute(sterna.db)
  const page = await searchContacts(sterna.db, sterna.secrets, {
    projectId: project.id,
    range: sql`project_id = ${project.id}`,
    matches: sql`(pg_sleep(0.002) is not null)`,
    order: { by: 'id', dir: 'desc' },
    scope: 'test',
    query: { limit: 20 },
  })
  expect(page).toEqual({ data: [], cursor: null, hasMore: false, partial: true })
})
