import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { type EventPosition, firstEventsSql, readFirstEvents } from '../../src/events/first-events.ts'
import { newId } from '../../src/lib/id.ts'
import { useSharedApp } from '../support/app.ts'
import { costOf } from './cost-of.ts'
import { idAt, useEvents } from './event-client.ts'

const { sterna, newProject } = useEvents(useSharedApp())

type Past = { at: string; name?: string; data?: object; idTime?: string; id?: string }

/** A contact with events of these times, and a question about them. */
async function newHistory(events: Past[]) {
  const { id: projectId } = await newProject()
  const contactId = newId()
  const rows = events.map(({ at, name = 'paid', data = {}, idTime = at, id = idAt(Date.parse(idTime)) }) => ({ id, name, data, at }))
  await sql`
    insert into events (project_id, id, name, contact_id, data, created_at)
    select ${projectId}, id, name, ${contactId}, data, at
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(id uuid, name text, data jsonb, at timestamptz)
  `.execute(sterna.db)
  const first = async (at: string, { name = 'paid', before = null as string | null, eventId = null as string | null } = {}) => {
    const query = { contactId, name, after: { at, eventId }, before: before ? new Date(before) : null }
    return (await readFirstEvents(sterna.db, projectId, [query]))[0]
  }
  return { projectId, contactId, rows, first }
}

const at = (second: number | string) => `2026-11-03T10:00:${String(second).padStart(2, '0')}Z`

describe('the first event after a position', () => {
  test('is before the deadline, and of that name', async () => {
    const { first } = await newHistory([
      { at: at(5), data: { n: 1 } },
      { at: at(3), name: 'other' },
      { at: at(7), data: { n: 2 } },
    ])
    expect(await first(at(1))).toMatchObject({ name: 'paid', data: { n: 1 }, createdAt: '2026-11-03T10:00:05.000Z' })
    expect((await first(at(6)))?.data).toEqual({ n: 2 })
    expect((await first(at(1), { before: at(6) }))?.data).toEqual({ n: 1 })
    // A time is before the events of that time; a deadline is not after them.
    expect((await first(at(5)))?.data).toEqual({ n: 1 })
    expect(await first(at(1), { before: at(5) })).toBeUndefined()
    expect(await first(at(8))).toBeUndefined()
  })

  test('is found by time to the microsecond, then by id', async () => {
    const id = (n: number) => `${idAt(at(5)).slice(0, 14)}700${n}-8000-000000000000`
    const { first, rows } = await newHistory([
      { at: at('05.000300'), data: { n: 2 }, id: id(1) },
      { at: at('05.000100'), data: { n: 1 }, id: id(3) },
      { at: at('05.000300'), data: { n: 3 }, id: id(2) },
    ])
    const seen: unknown[] = []
    let position: EventPosition = { at: at(5), eventId: null }
    for (let n = 0; n < rows.length; n++) {
      const found = (await first(position.at, { eventId: position.eventId }))!
      seen.push(found.data.n)
      position = found.position
    }
    expect(seen).toEqual([1, 2, 3])
    expect(await first(position.at, { eventId: position.eventId })).toBeUndefined()
  })

  test('is found although the clock of its node is wrong by minutes', async () => {
    const { first } = await newHistory([
      { at: at(5), data: { n: 1 }, idTime: '2026-11-03T10:40:00Z' },
      { at: at(6), data: { n: 2 }, idTime: '2026-11-03T09:20:00Z' },
    ])
    expect((await first(at(1), { before: at(30) }))?.data).toEqual({ n: 1 })
    expect((await first(at('05.5')))?.data).toEqual({ n: 2 })
  })

  test('is no open of a machine', async () => {
    const { first } = await newHistory([
      { at: at(2), name: 'email.open', data: { machine: true } },
      { at: at(4), name: 'email.open', data: { machine: false } },
      { at: at(1), data: { machine: true } },
    ])
    expect((await first(at(0), { name: 'email.open' }))?.createdAt).toBe('2026-11-03T10:00:04.000Z')
    expect((await first(at(0)))?.createdAt).toBe('2026-11-03T10:00:01.000Z')
  })

  test('is found without reading the history of the contact, also in a project that is newer than the statistics', async () => {
    const old = await newHistory([{ at: at(1) }])
    const write = (projectId: string, contactId: string) =>
      sql`
        insert into events (project_id, id, name, contact_id)
        select ${projectId}, (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - 7200000 - n), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0')
            || '8' || lpad(to_hex(n), 15, '0'))::uuid, case when n % 2 = 0 then 'paid' else 'viewed' end, ${contactId}::uuid
        from generate_series(1, 6000) as n
      `.execute(sterna.db)
    await write(old.projectId, old.contactId)
    await sql`analyze events`.execute(sterna.db)
    const young = await newHistory([{ at: at(1) }])
    await write(young.projectId, young.contactId)
    for (const { projectId, contactId } of [old, young]) {
      const query = { contactId, name: 'paid', after: { at: new Date().toISOString(), eventId: null }, before: null }
      const { rows, blocks } = await costOf(sterna.db, firstEventsSql(projectId, [query]))
      expect(rows).toBeLessThan(10)
      expect(blocks).toBeLessThan(100)
    }
  })
})
