import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { outcome } from '../support/answers.ts'
import type { Answer } from '../support/app.ts'
import { times } from '../support/times.ts'
import { ADA, type Listed, type Project, useEvents } from './event-client.ts'

const { newProject } = useEvents()

describe('the list of events', () => {
  test('has whole records, newest first, as data and as events', async () => {
    const project = await newProject()
    const first = await project.trackEvent('one', { data: { a: 1 } })
    const second = await project.trackEvent('two', { email: 'bob@example.com' })
    const [third] = await project.events.write([{ name: 'three' }])
    const list = await project.events.page()
    expect(Object.keys(list).sort()).toEqual(['cursor', 'data', 'events', 'hasMore', 'total'])
    expect(list.events).toEqual(list.data)
    const record = { projectId: project.id, emailId: null, createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) }
    expect(list).toMatchObject({ cursor: null, hasMore: false, total: 3 })
    expect(list.data).toEqual([
      { ...record, id: third, name: 'three', data: {}, contactId: null, contact: null },
      {
        ...record,
        id: second.event,
        name: 'two',
        data: {},
        contactId: second.contact,
        contact: { id: second.contact, email: 'bob@example.com' },
      },
      { ...record, id: first.event, name: 'one', data: { a: 1 }, contactId: first.contact, contact: { id: first.contact, email: ADA } },
    ])
  })

  test('has the current address of a contact, and null for a deleted one', async () => {
    const project = await newProject()
    const { contact } = await project.trackEvent('e')
    await project.call('PATCH', `/contacts/${contact}`, { email: 'new@example.com' })
    const gone = randomUUID()
    await project.events.write([{ name: 'e', contactId: gone }])
    expect((await project.events.page()).data.map((event) => [event.contactId, event.contact])).toEqual([
      [gone, null],
      [contact, { id: contact, email: 'new@example.com' }],
    ])
  })

  test.each([
    ['', 20],
    ['?limit=5', 5],
    ['?limit=100', 100],
    ['?limit=101', 100],
    ['?limit=99999999999', 100],
    ['?limit=0', 20],
    ['?limit=-3', 20],
    ['?limit=1.5', 20],
    ['?limit=all', 20],
    ['?limit=', 20],
  ])('with %j has %i of 120', async (query, expected) => {
    await full120()
    expect((await shared120!.events.page(query)).data).toHaveLength(expected)
  })
  let shared120: Project | undefined
  async function full120() {
    if (shared120) return
    shared120 = await newProject()
    await shared120.events.write(times(120, (n) => ({ name: n % 3 ? 'other' : 'third' })))
  }

  test('has pages that neither skip nor repeat an event during writes', async () => {
    const project = await newProject()
    const { contact } = await project.trackEvent('e')
    await project.events.write(times(119, () => ({ name: 'e', contactId: contact })))
    const before = (await project.events.rows()).map(({ id }) => id)
    for (const path of ['/events', '/events?eventName=e', `/events/contact/${contact}`]) {
      const seen: string[] = []
      let cursor: string | null = null
      let pages = 0
      do {
        const query = `${path.includes('?') ? '&' : '?'}limit=15${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`
        const { body }: Answer = await project.call('GET', `${path}${query}`)
        expect(body.total === 0).toBe(cursor !== null)
        expect(body.hasMore).toBe(body.cursor !== null)
        seen.push(...body.data.map(({ id }: Listed) => id))
        cursor = body.cursor
        pages++
        await Promise.all(times(3, () => project.trackEvent('e')))
      } while (cursor)
      const known = new Set(before)
      expect(seen.filter((id) => known.has(id))).toEqual([...before].reverse())
      expect(new Set(seen).size).toBe(seen.length)
      expect(pages).toBeGreaterThanOrEqual(8)
    }
  })

  test('ends without an empty page if the last page is full', async () => {
    const project = await newProject()
    await project.events.write(times(4, () => ({ name: 'e' })))
    const first = await project.events.page('?limit=2')
    expect([first.hasMore, first.data.length]).toEqual([true, 2])
    const last = await project.events.page(`?limit=2&cursor=${first.cursor}`)
    expect([last.hasMore, last.cursor, last.data.length, last.total]).toEqual([false, null, 2, 0])
  })

  test('filters by name, and counts by it', async () => {
    const project = await newProject()
    const other = await newProject()
    await other.trackEvent('bought')
    await project.events.write([{ name: 'bought' }, { name: 'Bought' }, { name: 'bought ' }, { name: 'bought' }, { name: "it's 50%_" }])
    const list = await project.events.page('?eventName=bought&limit=1')
    expect([list.total, list.data.map(({ name }) => name), list.hasMore]).toEqual([2, ['bought'], true])
    expect(await project.events.page(`?eventName=${encodeURIComponent("it's 50%_")}`)).toMatchObject({
      total: 1,
      data: [{ name: "it's 50%_" }],
    })
    expect(await project.events.page('?eventName=nothing')).toMatchObject({ total: 0, data: [], cursor: null, hasMore: false })
  })

  test('accepts only its own cursor', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const { contact } = await project.trackEvent('e')
    await project.events.write(times(5, () => ({ name: 'e', contactId: contact })))
    await other.events.write(times(5, () => ({ name: 'e' })))
    const cursor = (await project.events.page('?limit=2')).cursor!
    const flipped = `${cursor.slice(0, 9)}${cursor[9] === 'A' ? 'B' : 'A'}${cursor.slice(10)}`
    const bad = [
      `/events?cursor=${(await other.events.page('?limit=2')).cursor}`,
      `/events?cursor=${(await project.events.page('?limit=2&eventName=e')).cursor}`,
      `/events?eventName=e&cursor=${cursor}`,
      `/events/contact/${contact}?cursor=${cursor}`,
      `/events?cursor=${(await project.call('GET', `/events/contact/${contact}?limit=2`)).body.cursor}`,
      `/events?cursor=${flipped}`,
      `/events?cursor=${cursor.slice(0, -2)}`,
      '/events?cursor=abc',
      `/events?cursor=${Buffer.from(JSON.stringify([randomUUID()])).toString('base64url')}`,
    ]
    for (const url of bad) expect([url, ...outcome(await project.call('GET', url))]).toEqual([url, 400, 'BAD_REQUEST'])
    expect((await project.call('GET', `/events?limit=2&cursor=${cursor}`)).status).toBe(200)
  })
})

describe('the events of a contact', () => {
  test('are listed and counted', async () => {
    const project = await newProject()
    const { contact } = await project.trackEvent('one')
    await project.trackEvent('two')
    await project.trackEvent('two', { email: 'bob@example.com' })
    await project.events.write([{ name: 'nobody' }])
    const { body } = await project.call('GET', `/events/contact/${contact}`)
    expect(body).toMatchObject({ total: 2, hasMore: false, cursor: null })
    expect(body.data.map(({ name }: Listed) => name)).toEqual(['two', 'one'])
    expect(body.events).toEqual(body.data)
    expect(body.data[0].contact).toEqual({ id: contact, email: ADA })
  })

  test('that does not exist in the project are a 404', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const { contact } = await other.trackEvent('e')
    for (const id of [contact, randomUUID(), 'x', `${contact}x`]) {
      const answer = await project.call('GET', `/events/contact/${id}`)
      expect([...outcome(answer), answer.body.error.details]).toEqual([404, 'CONTACT_NOT_FOUND', { resource: 'contact', id }])
    }
  })

  test('are deleted with it, and no others', async () => {
    const project = await newProject()
    const { contact } = await project.trackEvent('e')
    await project.events.write(times(5_100, (n) => ({ name: n % 2 ? 'e' : 'f', contactId: contact })))
    await project.trackEvent('e', { email: 'bob@example.com' })
    await project.events.write([{ name: 'f' }])
    expect((await project.events.page()).total).toBe(5_103)
    expect((await project.call('DELETE', `/contacts/${contact}`)).status).toBe(204)
    await project.jobsDone()
    expect((await project.events.rows()).map(({ name }) => name)).toEqual(['e', 'f'])
    await project.expectTrueCounts()
    expect(outcome(await project.call('GET', `/events/contact/${contact}`))).toEqual([404, 'CONTACT_NOT_FOUND'])
  })
})

test('the names of events are those of this project, each once, most frequent first, while events of that name exist', async () => {
  const [project, other] = [await newProject(), await newProject()]
  expect(await project.events.distinctNames()).toEqual([])
  for (const name of ['b', 'a', 'b', 'É', 'b']) await project.trackEvent(name)
  await other.trackEvent('c')
  await project.trackEvent('a', { subscribed: false })
  expect(new Set(await project.events.distinctNames())).toEqual(new Set(['a', 'b', 'contact.unsubscribed', 'É']))
  expect((await project.events.distinctNames()).slice(0, 2)).toEqual(['b', 'a'])
  await project.events.delete('b')
  expect(await project.events.distinctNames()).not.toContain('b')
})

test('the names of events are at most the 10,000 most frequent, and truncated says if there are more', async () => {
  const project = await newProject()
  const list = async () => (await project.call('GET', '/events/names')).body
  await project.events.write([...times(9_999, (n) => ({ name: `a${n}` })), { name: 'zebra' }, { name: 'zebra' }])
  expect([(await list()).eventNames.length, (await list()).truncated]).toEqual([10_000, false])
  await project.events.write([{ name: 'one more' }])
  const { eventNames, truncated } = await list()
  expect([eventNames.length, eventNames[0], truncated]).toEqual([10_000, 'zebra', true])
})
