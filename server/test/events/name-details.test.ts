import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { eventLedger } from '../../src/events/counts.ts'
import { useSharedApp } from '../support/app.ts'
import { stayWithinDay } from '../support/clock.ts'

const sterna = useSharedApp()

test('event names have their count, people, last time and 30 days', async () => {
  await stayWithinDay(30)
  const project = await sterna.newProject()
  for (const [email, event] of [
    ...[
      ['ada', 'login'],
      ['ada', 'login'],
      ['bob', 'login'],
    ],
    ...[['bob', 'order']],
  ])
    await project.track({ email: `${email}@example.com`, event })
  await eventLedger.fold(sterna.db)
  const ada = await project.contacts.find('ada@example.com')
  await project.contacts.update(ada.id, { subscribed: false })
  // Four days ago, and before the 30 days.
  await sql`
    insert into event_counts (project_id, name, day, count)
    values (${project.id}, 'order', (now() at time zone 'utc')::date - 4, 7), (${project.id}, 'order', (now() at time zone 'utc')::date - 30, 90)
  `.execute(sterna.db)
  const { status, body } = await project.call('GET', '/events/names/details')
  expect([status, body.total, body.page, body.totalPages]).toEqual([200, 3, 1, 1])
  const [order, login, left] = body.data
  const days = (...last: number[]) => [...Array(30 - last.length).fill(0), ...last]
  expect(order).toEqual({
    name: 'order',
    isReserved: false,
    count: 98,
    people: 1,
    lastSeenAt: expect.any(String),
    days: days(7, 0, 0, 0, 1),
  })
  expect(login).toMatchObject({ name: 'login', count: 3, people: 2, days: days(3) })
  expect(left).toMatchObject({ name: 'contact.unsubscribed', isReserved: true, count: 1, people: 1 })
  expect(Date.now() - Date.parse(login.lastSeenAt)).toBeLessThan(600_000)
})

test('event names are paged', async () => {
  const project = await sterna.newProject()
  for (const event of ['a', 'b', 'c']) await project.track({ email: 'ada@example.com', event })
  const page = async (query: string) => (await project.call('GET', `/events/names/details?${query}`)).body
  expect((await page('pageSize=2')).data.map(({ name }: { name: string }) => name)).toEqual(['a', 'b'])
  expect(await page('pageSize=2&page=2')).toMatchObject({ data: [{ name: 'c' }], total: 3, totalPages: 2 })
})

test('a project without events has no names', async () => {
  const project = await sterna.newProject()
  expect((await project.call('GET', '/events/names/details')).body).toMatchObject({ data: [], total: 0 })
})
