import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { statuses } from '../support/answers.ts'
import { useSharedApp } from '../support/app.ts'
import type { Contact } from '../support/project.ts'
import { times } from '../support/times.ts'

const sterna = useSharedApp()
const newProject = async () => sterna.newProject(await sterna.sharedOwner())
type Project = Awaited<ReturnType<typeof newProject>>

const count = <T>(items: T[], wanted: T) => items.filter((item) => item === wanted).length

describe('the list of contacts', () => {
  let project: Project
  let contacts: { email: string; subscribed: boolean }[]
  const byCode = (a: string, b: string) => (a < b ? -1 : 1)

  beforeAll(async () => {
    project = await newProject()
    // Numbers without leading zeros, so that the order by address differs from the order of creation.
    contacts = times(130, (n) => ({ email: `c${n * 7}@example.com`, subscribed: n % 4 > 0 }))
    for (const { email, subscribed } of contacts) await project.contacts.create(email, { subscribed })
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
  ])('with %j has a page of %i', async (query, length) => {
    const { data, hasMore, cursor, total } = await project.contacts.list(query)
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
  ])('with %j is in the right order', async (query, expected) => {
    expect(await project.contacts.emails(`?limit=100&${query}`)).toEqual(expected().slice(0, 100))
  })

  test.each(['true', 'false'])('with subscribed=%s has and counts only those contacts', async (subscribed) => {
    const wanted = contacts.filter((contact) => String(contact.subscribed) === subscribed)
    const { data, total } = await project.contacts.list(`?limit=100&subscribed=${subscribed}&sort=createdAt&dir=asc`)
    expect(data.map(({ email }: Contact) => email)).toEqual(wanted.map(({ email }) => email))
    expect(total).toBe(wanted.length)
  })

  test.each(['maybe', '1', 'TRUE'])('with subscribed=%s is a 422', async (subscribed) => {
    expect(await project.call('GET', `/contacts?subscribed=${subscribed}`)).toMatchObject({
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
    'limit=65', // 130 contacts are two full pages: the second must be the last
  ])('with %s has pages that together are complete, and only the first has a total', async (query) => {
    const whole = await Promise.all(['', 'x'].map(() => project.contacts.list(`?${query}`))).then(([first]) => first)
    const pages = await walk(project, query)
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
    expect(await (await newProject()).contacts.list()).toEqual({ data: [], cursor: null, hasMore: false, total: 0 })
  })

  test('has pages that neither skip nor repeat a contact during concurrent inserts, updates and deletes', async () => {
    const busy = await newProject()
    const [staying, leaving] = [times(200, (n) => `stay${n * 13}@example.com`), times(100, (n) => `leave${n}@example.com`)]
    const file = [...staying, ...leaving].map((email, n) => [(n * 389) % 300, email] as const).sort(([a], [b]) => a - b)
    await busy.contacts.import(`email\n${file.map(([, email]) => email).join('\n')}`)
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
          busy.contacts.update(ids.get(staying[(n * 7) % 200]!)!, { subscribed: n % 2 === 0, data: { n } }),
        ])
        churned += count(statuses(answers), 204)
      }
    }
    const churning = churn()
    const orders = ['sort=createdAt&dir=desc', 'sort=createdAt&dir=asc', 'sort=email&dir=desc', 'sort=email&dir=asc']
    const walks: { order: string; pages: Awaited<ReturnType<typeof walk>> }[] = []
    // As often as it takes until enough has changed meanwhile.
    for (let round = 0; round < 20 && churned <= 20; round++)
      walks.push(...(await Promise.all(orders.map(async (order) => ({ order, pages: await walk(busy, `limit=7&${order}`) })))))
    walking = false
    await churning

    expect(churned).toBeGreaterThan(20)
    for (const { pages } of walks) {
      const seen = pages.flatMap(({ data }) => data.map(({ email }: Contact) => email))
      expect(new Set(seen).size).toBe(seen.length)
      expect(staying.filter((email) => !seen.includes(email))).toEqual([])
    }
    for (const { pages } of walks.filter(({ order }) => order.includes('email'))) {
      const seen = pages.flatMap(({ data }) => data.map(({ email }: Contact) => email))
      expect([seen, seen.toReversed()]).toContainEqual([...seen].sort(byCode))
    }
  })

  async function walk(of: Project, query: string) {
    const pages = [await of.contacts.list(`?${query}`)]
    for (let page = 0; pages.at(-1).cursor && page < 300; page++)
      pages.push(await of.contacts.list(`?${query}&cursor=${pages.at(-1).cursor}`))
    return pages
  }
})

describe('a cursor', () => {
  let project: Project
  let cursor: string
  const get = (of: Project, query: string) => of.call('GET', `/contacts?limit=2&${query}`)

  beforeAll(async () => {
    project = await newProject()
    for (let n = 0; n < 5; n++) await project.contacts.create(`c${n}@example.com`)
    cursor = (await get(project, '')).body.cursor
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
    ['one with more characters', () => `${cursor}AAAA`],
    ['two', () => `${cursor}${cursor}`],
    ['5 kB', () => 'A'.repeat(5_000)],
    ['emoji', () => encodeURIComponent('😀'.repeat(20))],
  ])('that is %s is a 400', async (_, forged) => {
    const answer = await get(project, `cursor=${forged()}`)
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'BAD_REQUEST' } } })
    expect(answer.body.data).toBeUndefined()
  })

  test('with any character changed is a 400', async () => {
    const forged = times(cursor.length - 1, (at) => `${cursor.slice(0, at)}${cursor[at] === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`)
    const answers = await Promise.all(forged.map((each) => get(project, `cursor=${each}`)))
    expect(new Set(statuses(answers))).toEqual(new Set([400]))
  })

  test.each(['sort=email', 'dir=asc', 'search=c', 'subscribed=true', 'search=c&subscribed=true', 'sort=email&dir=asc'])(
    'of the unfiltered list is a 400 with %s',
    async (query) => {
      expect((await get(project, `${query}&cursor=${cursor}`)).status).toBe(400)
      const theirs = (await get(project, query)).body.cursor
      expect((await get(project, `${query}&cursor=${theirs}`)).status).toBe(200)
      expect((await get(project, `cursor=${theirs}`)).status).toBe(400)
    },
  )

  test('is valid for every query that means the same list', async () => {
    for (const query of ['', 'sort=createdAt', 'sort=nonsense&dir=desc', 'search=']) {
      expect((await get(project, `${query}&cursor=${cursor}`)).body.data.map(({ email }: Contact) => email)).toEqual([
        'c2@example.com',
        'c1@example.com',
      ])
    }
  })

  test('of another project is a 400', async () => {
    const other = await newProject()
    for (let n = 0; n < 5; n++) await other.contacts.create(`c${n}@example.com`)
    expect((await get(other, `cursor=${cursor}`)).status).toBe(400)
  })

  test('stays valid after its contact is deleted', async () => {
    const mine = await newProject()
    const [, second] = [
      await mine.contacts.create('a@example.com'),
      await mine.contacts.create('b@example.com'),
      await mine.contacts.create('c@example.com'),
    ]
    const page = (await get(mine, 'sort=email&dir=asc')).body
    await mine.call('DELETE', `/contacts/${second!.id}`)
    expect((await get(mine, `sort=email&dir=asc&cursor=${page.cursor}`)).body.data.map(({ email }: Contact) => email)).toEqual([
      'c@example.com',
    ])
  })
})

describe('a search for contacts', () => {
  let project: Project
  const emails = [
    'ada.lovelace@example.com',
    'a%b@example.com',
    'a_b@example.com',
    "o'hara@example.com",
    'axb@other.example',
    'émile@example.com',
  ]

  beforeAll(async () => {
    project = await newProject()
    await (await newProject()).contacts.create('ada.lovelace@example.com')
    for (const email of emails) await project.contacts.create(email)
  })
  const search = async (text: string) =>
    (await project.contacts.emails(`?search=${encodeURIComponent(text)}&sort=createdAt&dir=asc`)) as string[]

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
  ])('for %j finds the addresses that contain it', async (text, found) => {
    expect(await search(text)).toEqual(found)
    expect((await project.contacts.list(`?search=${encodeURIComponent(text)}`)).total).toBe(found.length)
  })

  test.each(['Émile', 'ÉMILE', 'émile', 'Émile@example.com', 'E\u0301mile'])('for %j finds émile in any case', async (text) => {
    expect(await search(text)).toEqual(['émile@example.com'])
  })

  test.each([
    ['256 characters', 'x'.repeat(256)],
    ['10 kB', 'x'.repeat(10_000)],
    ['U+0000', '\0'],
  ])('for %s is a 422', async (_, text) => {
    const answer = await project.call('GET', `/contacts?search=${encodeURIComponent(text)}`)
    expect(answer).toMatchObject({ status: 422, body: { error: { errors: [{ field: 'search' }] } } })
  })

  test('can be combined with subscribed and paged', async () => {
    const mine = await newProject()
    for (let n = 0; n < 9; n++) await mine.contacts.create(`find${n}@example.com`, { subscribed: n % 3 > 0 })
    await mine.contacts.create('other@example.com')
    const first = await mine.contacts.list('?search=FIND&subscribed=true&limit=4&dir=asc')
    expect([first.total, first.data.length]).toEqual([6, 4])
    const second = await mine.contacts.list(`?search=FIND&subscribed=true&limit=4&dir=asc&cursor=${first.cursor}`)
    expect([...first.data, ...second.data].map(({ email }: Contact) => email)).toEqual(
      [1, 2, 4, 5, 7, 8].map((n) => `find${n}@example.com`),
    )
  })
})
