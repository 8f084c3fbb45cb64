import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many } from '../../src/db/index.ts'
import { type EventQuery, lastEventsSql, readLastEvents } from '../../src/events/last-events.ts'
import { idTime, newId } from '../../src/lib/id.ts'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'
import { costOf } from './cost-of.ts'
import { idAt, type Project, useEvents } from './event-client.ts'

const { sterna, newProject } = useEvents(useSharedApp())

const BOUGHT: EventQuery = { name: 'bought', humanOnly: false }
const OPENED: EventQuery = { name: 'email.open', humanOnly: true }
const ANY_OPEN: EventQuery = { name: 'email.open', humanOnly: false }

type Past = { at: string; name: string; data?: object }
const write = (project: Project, contactId: string, events: Past[]) =>
  project.events.write(events.map(({ at, ...event }) => ({ id: idAt(at), contactId, ...event })))

describe('the last event of a contact', () => {
  test('is read for many contacts and names at once', async () => {
    const project = await newProject()
    const [ada, bob, eve] = [newId(), newId(), newId()]
    await write(project, ada, [
      { at: '2026-01-01T00:00:00.001Z', name: 'bought' },
      { at: '2026-11-03T10:00:00.123Z', name: 'bought' },
      { at: '2026-11-04T10:00:00.000Z', name: 'viewed' },
      { at: '2026-10-31T23:59:59.999Z', name: 'bought' },
    ])
    await write(project, bob, [{ at: '2026-11-05T00:00:00.000Z', name: 'viewed' }])
    const last = await readLastEvents(sterna.db, {
      projectId: project.id,
      contactIds: [ada, bob, eve],
      eventsFor: () => [BOUGHT, { name: 'viewed', humanOnly: false }],
    })
    expect(last(ada, BOUGHT)?.toISOString()).toBe('2026-11-03T10:00:00.123Z')
    expect(last(ada, { name: 'viewed', humanOnly: false })?.toISOString()).toBe('2026-11-04T10:00:00.000Z')
    expect(last(bob, BOUGHT)).toBeUndefined()
    expect(last(bob, { name: 'viewed', humanOnly: false })?.toISOString()).toBe('2026-11-05T00:00:00.000Z')
    expect(last(eve, BOUGHT)).toBeUndefined()
  })

  test.each<[string, object | undefined, boolean]>([
    ['a human', { machine: false }, true],
    ['a machine', { machine: true }, false],
    ['an unknown cause', {}, true],
  ])('by %s counts as human: %#', async (_, data, isHuman) => {
    const project = await newProject()
    const contact = newId()
    await write(project, contact, [{ at: '2026-11-03T10:00:00.000Z', name: 'email.open', ...(data ? { data } : {}) }])
    const last = await readLastEvents(sterna.db, { projectId: project.id, contactIds: [contact], eventsFor: () => [OPENED, ANY_OPEN] })
    expect(last(contact, ANY_OPEN)).toEqual(new Date('2026-11-03T10:00:00.000Z'))
    expect(last(contact, OPENED) !== undefined).toBe(isHuman)
  })

  test('is the last human open, however many machines opened later', async () => {
    const project = await newProject()
    const contact = newId()
    await write(project, contact, [
      { at: '2026-10-01T00:00:00.000Z', name: 'email.open', data: { machine: false } },
      { at: '2026-10-02T00:00:00.000Z', name: 'email.open', data: { machine: true } },
      { at: '2026-10-03T00:00:00.000Z', name: 'email.click', data: { machine: false } },
    ])
    const last = await readLastEvents(sterna.db, { projectId: project.id, contactIds: [contact], eventsFor: () => [OPENED, ANY_OPEN] })
    expect(last(contact, OPENED)?.toISOString()).toBe('2026-10-01T00:00:00.000Z')
    expect(last(contact, ANY_OPEN)?.toISOString()).toBe('2026-10-02T00:00:00.000Z')
  })

  test('of another project is not read', async () => {
    const [project, other] = [await newProject(), await newProject()]
    const contact = newId()
    await write(other, contact, [{ at: '2026-11-01T00:00:00.000Z', name: 'bought' }])
    const last = await readLastEvents(sterna.db, { projectId: project.id, contactIds: [contact], eventsFor: () => [BOUGHT] })
    expect(last(contact, BOUGHT)).toBeUndefined()
  })

  test('is read for more contacts than fit into one statement', async () => {
    const project = await newProject()
    const contactIds = times(250, () => newId())
    const events = [BOUGHT, ...times(99, (n) => ({ name: `other ${n}`, humanOnly: false }))]
    await project.events.write(contactIds.map((contactId) => ({ contactId, name: 'bought' })))
    const last = await readLastEvents(sterna.db, { projectId: project.id, contactIds, eventsFor: () => events })
    expect(contactIds.filter((id) => !last(id, BOUGHT))).toEqual([])
    expect(contactIds.filter((id) => last(id, events[50]!))).toEqual([])
  })

  test.each([0, 1, 19, 20, 21, 45])('of %i events of a contact is the same however many names are asked at once', async (count) => {
    const project = await newProject()
    const contact = newId()
    const names = times(6, (n) => `name ${n}`)
    // The newest first, so that no order of rows is that of the ids.
    const past = times(count, (n) => ({ at: new Date(Date.UTC(2026, 10, 10) - n * 5_000_000).toISOString(), name: names[n % 5]! }))
    await write(project, contact, past)
    const ask = (asked: string[]) =>
      readLastEvents(sterna.db, {
        projectId: project.id,
        contactIds: [contact],
        eventsFor: () => asked.map((name) => ({ name, humanOnly: false })),
      })
    const together = await ask(names)
    for (const name of names) {
      const expected = past.find((event) => event.name === name)?.at
      expect(together(contact, { name, humanOnly: false })?.toISOString()).toBe(expected)
      expect((await ask([name]))(contact, { name, humanOnly: false })?.toISOString()).toBe(expected)
    }
  })

  test('without contacts or names asks nothing', async () => {
    const project = await newProject()
    const none = await readLastEvents(sterna.db, { projectId: project.id, contactIds: [], eventsFor: () => [BOUGHT] })
    expect(none(newId(), BOUGHT)).toBeUndefined()
    const nothing = await readLastEvents(sterna.db, { projectId: project.id, contactIds: [newId()], eventsFor: () => [] })
    expect(nothing(newId(), BOUGHT)).toBeUndefined()
  })

  test('is found without reading the history of the contact', async () => {
    const project = await newProject()
    const [busy, other] = [newId(), newId()]
    await sql`
      insert into events (project_id, id, name, contact_id, data)
      select ${project.id}, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0')
          || '8' || lpad(to_hex(n), 15, '0'))::uuid,
        case when n % 2 = 0 then 'email.open' else 'viewed' end, case when n % 10 = 0 then ${other}::uuid else ${busy}::uuid end,
        '{"machine": true}'
      from generate_series(1, 6000) as n
    `.execute(sterna.db)
    // Also before the first ANALYZE, as after a burst of events.
    for (const analyze of [sql`select`, sql`analyze events`]) {
      await analyze.execute(sterna.db)
      const lookUps = ['bought', 'email.open', 'viewed'].map((name) => ({ contactId: busy, name }))
      const costs = [
        await costOf(sterna.db, lastEventsSql(project.id, lookUps, { humanOnly: false })),
        await costOf(sterna.db, lastEventsSql(project.id, lookUps.slice(1, 2), { humanOnly: true })),
      ]
      for (const { blocks, rows } of costs) {
        expect(rows).toBeLessThan(10)
        expect(blocks).toBeLessThan(100)
      }
    }
  })
})

describe('the time in an id', () => {
  test('is the same in SQL and here, to the millisecond', async () => {
    const ids = [newId(), idAt('1970-01-01T00:00:00.000Z'), idAt('2026-12-31T23:59:59.999Z'), idAt('2100-02-28T00:00:00.001Z')]
    const rows = await many(
      sterna.db,
      sql<{ at: Date }>`select id_time(id) as at from unnest(${ids}::uuid[]) with ordinality as i(id, n) order by n`,
    )
    expect(rows.map(({ at }) => at.toISOString())).toEqual(ids.map((id) => idTime(id).toISOString()))
    expect(idTime(ids[2]!).toISOString()).toBe('2026-12-31T23:59:59.999Z')
  })
})
