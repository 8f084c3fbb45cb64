import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { issues, outcome, plainError } from '../support/answers.ts'
import { type Answer, useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { times } from '../support/times.ts'
import { newSegmentProject } from './segment-project.ts'

const sterna = useSharedApp()
const newProject = () => newSegmentProject(sterna)

describe('adding members by address', () => {
  test('adds known contacts once and lists the addresses without one, as given', async () => {
    const project = await newProject()
    await project.add('ada')
    await project.add('bob')
    const { id } = await project.fixed()
    const emails = [' Ada@Example.com', 'ada@example.com', 'Nobody@example.com', 'not an address']
    const { status, body } = await project.addMembers(id, emails)
    expect([status, body]).toEqual([200, { added: 1, created: 0, notFound: ['Nobody@example.com', 'not an address'] }])
    expect((await project.addMembers(id, ['ada@example.com', 'bob@example.com'])).body).toEqual({ added: 1, created: 0, notFound: [] })
    expect((await project.members(id)).sort()).toEqual(['ada', 'bob'])
    expect((await project.get(id)).memberCount).toBe(2)
    expect(await project.contacts.counts()).toEqual({ total: 2, subscribed: 2 })
  })

  test('creates missing contacts on request, subscribed by default', async () => {
    const project = await newProject()
    await project.add('ada')
    const { id } = await project.fixed()
    const { body } = await project.addMembers(id, ['ada@example.com', 'New@Example.com', 'new@example.com', 'x@@y'], {
      createMissing: true,
    })
    expect(body).toEqual({ added: 2, created: 1, notFound: ['x@@y'] })
    expect(await project.contacts.find('new@example.com')).toMatchObject({ subscribed: true, data: null })
  })

  test('uses `subscribed` for new contacts only: others keep their subscription', async () => {
    const project = await newProject()
    await project.contacts.create('out@example.com', { subscribed: false })
    await project.contacts.create('in@example.com')
    const { id } = await project.fixed()
    await project.addMembers(id, ['out@example.com', 'new@example.com'], { createMissing: true, subscribed: true })
    await project.addMembers(id, ['in@example.com', 'quiet@example.com'], { createMissing: true, subscribed: false })
    const rows = await project.contacts.rows()
    expect(rows.map(({ email, subscribed }) => [email, subscribed])).toEqual([
      ['in@example.com', true],
      ['new@example.com', true],
      ['out@example.com', false],
      ['quiet@example.com', false],
    ])
    expect(await project.events.names()).toEqual([])
  })

  test('takes 10,000 addresses', async () => {
    const project = await newProject()
    const { id } = await project.fixed()
    const emails = times(10_000, (n) => `m${n}@example.com`)
    expect((await project.addMembers(id, emails, { createMissing: true })).body).toEqual({ added: 10_000, created: 10_000, notFound: [] })
    expect((await project.get(id)).memberCount).toBe(10_000)
    const tooMany = await project.addMembers(id, [...emails, 'one@example.com'])
    expect([tooMany.status, issues(tooMany)]).toEqual([422, [['emails', 'too_big']]])
    expect((await project.removeMembers(id, emails)).body).toEqual({ removed: 10_000 })
    expect((await project.get(id)).memberCount).toBe(0)
  })

  test('an empty list changes nothing, and a missing one is a 422', async () => {
    const project = await newProject()
    const { id } = await project.fixed()
    expect((await project.addMembers(id, [])).body).toEqual({ added: 0, created: 0, notFound: [] })
    const answer = await project.call('POST', `/segments/${id}/members`, {})
    expect([answer.status, issues(answer)]).toEqual([422, [['emails', 'required']]])
  })

  test('concurrent calls with the same addresses add each contact once', async () => {
    const project = await newProject()
    const { id } = await project.fixed()
    const emails = times(200, (n) => `m${n}@example.com`)
    const answers = await Promise.all(
      [emails, emails.toReversed(), emails].map((each) => project.addMembers(id, each, { createMissing: true })),
    )
    expect(answers.reduce((sum, { body }) => sum + body.added, 0)).toBe(200)
    expect(answers.reduce((sum, { body }) => sum + body.created, 0)).toBe(200)
    expect((await project.get(id)).memberCount).toBe(200)
  })
})

describe('removing members', () => {
  test('removes those who are members and keeps the contacts', async () => {
    const project = await newProject()
    const { id } = await project.fixed()
    await project.addMembers(id, ['a@example.com', 'b@example.com'], { createMissing: true })
    await project.add('c')
    const { status, body } = await project.removeMembers(id, ['A@example.com', 'c@example.com', 'nobody@example.com', 'nonsense'])
    expect([status, body]).toEqual([200, { removed: 1 }])
    expect(await project.members(id)).toEqual(['b'])
    expect((await project.get(id)).memberCount).toBe(1)
    expect(await project.contacts.counts()).toEqual({ total: 3, subscribed: 3 })
  })
})

test('the members of a dynamic segment cannot be changed', async () => {
  const project = await newProject()
  const { id } = await project.dynamic()
  const added = await project.addMembers(id, ['a@example.com'], { createMissing: true })
  const removed = await project.removeMembers(id, ['a@example.com'])
  expect([added, removed].map(({ status, body }) => [status, body])).toEqual([
    [400, plainError],
    [400, plainError],
  ])
  expect(await project.contacts.counts()).toEqual({ total: 0, subscribed: 0 })
})

test('a deleted contact is no longer a member', async () => {
  const project = await newProject()
  const { id } = await project.fixed()
  await project.addMembers(id, ['a@example.com', 'b@example.com'], { createMissing: true })
  const [contact] = await project.contacts.rows()
  await project.call('DELETE', `/contacts/${contact!.id}`)
  expect(await project.members(id)).toEqual(['b'])
  expect((await project.call('POST', `/segments/${id}/refresh`)).body).toEqual({ memberCount: 1 })
})

test('members that are added while their segment is deleted do not stay', async () => {
  const project = await newProject()
  const { id } = await project.fixed()
  await project.add('ada')
  const inserted = { on: 'insert' as const, table: 'segment_members', when: sql`new.project_id = ${sql.lit(project.id)}` }
  let removed: Answer | undefined
  const { adding } = await whileSleeping(sterna.db, inserted, async () => ({
    started: { adding: project.addMembers(id, ['ada@example.com']) },
    meanwhile: async () => {
      removed = await project.remove(id)
    },
  }))
  expect([(await adding).status, removed!.status]).toEqual([200, 204])
  expect(outcome(await project.addMembers(id, ['ada@example.com']))).toEqual([404, 'RESOURCE_NOT_FOUND'])
  await eventually(async () => expect(await many(sterna.db, sql`select 1 from segment_members where segment_id = ${id}`)).toEqual([]))
})

describe('the list of members', () => {
  test('is paged by number, newest contacts first', async () => {
    const project = await newProject()
    const pro = await project.dynamic()
    const list = await project.fixed()
    for (const name of ['a', 'b', 'c', 'd', 'e']) await project.add(name, { plan: 'pro' })
    await project.add('f')
    await project.addMembers(
      list.id,
      ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@example.com`),
    )
    for (const { id } of [pro, list]) {
      const page = await project.page(id, '?page=2&pageSize=2')
      expect(page).toMatchObject({ total: 5, page: 2, pageSize: 2, totalPages: 3, hasMore: true })
      expect(project.names(page)).toEqual(['c', 'b'])
      expect(page.contacts).toEqual(page.data)
      expect(page.data[0]).toEqual(await project.contacts.find('c@example.com'))
      const last = await project.page(id, '?page=3&pageSize=2')
      expect([project.names(last), last.hasMore, last.cursor, last.total]).toEqual([['a'], false, null, 5])
      const beyond = await project.page(id, '?page=9&pageSize=2')
      expect([beyond.data, beyond.total, beyond.totalPages]).toEqual([[], 5, 3])
    }
  })

  test.each([
    ['?page=0&pageSize=0', 1, 20],
    ['?page=x&pageSize=-1', 1, 20],
    ['?pageSize=500', 1, 100],
    ['?limit=5', 1, 5],
    ['?limit=5&pageSize=7', 1, 7],
    ['', 1, 20],
  ])('reads %j as page %i of %i', async (query, page, pageSize) => {
    const project = await newProject()
    const { id } = await project.fixed()
    expect(await project.page(id, query)).toEqual({
      data: [],
      contacts: [],
      total: 0,
      page,
      pageSize,
      totalPages: 0,
      cursor: null,
      hasMore: false,
    })
  })

  test('continues after the cursor of any page, without gaps when contacts are added meanwhile', async () => {
    const project = await newProject()
    const pro = await project.dynamic()
    const list = await project.fixed()
    await project.addMembers(
      list.id,
      times(7, (n) => `m${n}@example.com`),
      { createMissing: true },
    )
    for (const { id } of await project.contacts.rows()) await project.contacts.update(id, { data: { plan: 'pro' } })
    for (const { id } of [pro, list]) {
      const first = await project.page(id, '?pageSize=3')
      await project.addMembers(list.id, [`late-${id}@example.com`], { createMissing: true })
      const second = await project.page(id, `?pageSize=3&cursor=${first.cursor}`)
      const third = await project.page(id, `?pageSize=3&cursor=${second.cursor}`)
      const all = [first, second, third].flatMap((page) => project.names(page))
      expect(new Set(all.filter((name) => !name!.startsWith('late'))).size).toBe(7)
      expect([second.page, second.hasMore, third.cursor]).toEqual([null, true, null])
    }
  })

  test('refuses a cursor of another segment', async () => {
    const project = await newProject()
    const [a, b] = [await project.fixed(), await project.fixed()]
    await project.addMembers(a.id, ['a@example.com', 'b@example.com'], { createMissing: true })
    const { cursor } = await project.page(a.id, '?pageSize=1')
    expect(outcome(await project.call('GET', `/segments/${b.id}/contacts?cursor=${cursor}`))).toEqual([400, 'BAD_REQUEST'])
  })

  test('of a dynamic segment is live', async () => {
    const project = await newProject()
    const { id } = await project.dynamic()
    const contact = await project.add('ada', { plan: 'pro' })
    expect(await project.page(id)).toMatchObject({ total: 1, data: [{ id: contact.id }] })
    await project.contacts.update(contact.id, { data: { plan: 'free' } })
    expect(await project.page(id)).toMatchObject({ total: 0, data: [] })
  })

  test('shows all of a page that has more than a megabyte', async () => {
    const project = await newProject()
    const { id } = await project.fixed()
    const text = 'x'.repeat(60_000)
    for (const n of times(25, String)) await project.contacts.create(`big${n}@example.com`, { data: { a: text } })
    await project.addMembers(
      id,
      times(25, (n) => `big${n}@example.com`),
    )
    const page = await project.page(id, '?pageSize=100')
    expect([page.data.length, page.contacts.length, page.total, page.hasMore]).toEqual([25, 25, 25, false])
    expect(page.data[24].data.a).toBe(text)
  })
})
