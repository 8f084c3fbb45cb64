import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { one } from '../../src/db/index.ts'
import { useSharedApp } from '../support/app.ts'
import { times } from '../support/times.ts'
import { DAY, idAt, useEvents } from './event-client.ts'

const { sterna, newProject } = useEvents(useSharedApp())

describe('deleting events by name', () => {
  test('deletes all events of that name so far and answers their number', async () => {
    const [project, other] = [await newProject(), await newProject()]
    await project.events.write([...times(2_300, () => ({ name: 'gone' })), ...times(3, () => ({ name: 'Gone' }))])
    await other.events.write([{ name: 'gone' }])
    // An event that is recorded after the request.
    await project.events.write([{ name: 'gone', id: idAt(Date.now() + DAY) }])
    expect((await project.events.delete('gone')).body).toEqual({ deletedCount: 2_300 })
    expect((await project.events.rows()).map(({ name }) => name)).toEqual(['Gone', 'Gone', 'Gone', 'gone'])
    expect(await other.events.rows()).toHaveLength(1)
    await project.expectTrueCounts()
    await other.expectTrueCounts()
    expect((await project.events.delete('gone')).body).toEqual({ deletedCount: 0 })
    expect((await project.events.delete('never')).body).toEqual({ deletedCount: 0 })
  })

  test.each(['a/b', '%2f?#&', '字'.repeat(255), '🛒'.repeat(127), "'; drop table events; --"])('deletes %j', async (name) => {
    const project = await newProject()
    await project.trackEvent(name)
    expect((await project.events.delete(name)).body).toEqual({ deletedCount: 1 })
    expect(await project.events.rows()).toEqual([])
  })

  test.each(['email.sent', 'contact.subscribed', 'CONTACT.unsubscribed', 'segment.x.entry', 'em\u200bail.x'])(
    'of %j is a plain 400',
    async (name) => {
      const project = await newProject()
      await project.events.write([{ name }])
      const answer = await project.events.delete(name)
      expect([answer.status, Object.keys(answer.body), typeof answer.body.error]).toEqual([400, ['error'], 'string'])
      expect(await project.events.rows()).toHaveLength(1)
    },
  )

  test('continues after a failure and counts each event once', async () => {
    const project = await newProject()
    await project.events.write(times(4_500, () => ({ name: 'gone' })))
    await sql`
      create sequence pages;
      create function fail_once() returns trigger language plpgsql as $$
        begin if nextval('pages') = 2 then raise exception 'a failure'; end if; return null; end $$;
      create trigger fail_once after delete on events for each statement execute function fail_once()
    `.execute(sterna.db)
    try {
      expect((await project.events.delete('gone')).body).toEqual({ deletedCount: 4_500 })
      expect((await one(sterna.db, sql<{ n: string }>`select last_value as n from pages`)).n).toBe('4')
    } finally {
      await sql`drop trigger fail_once on events; drop function fail_once; drop sequence pages`.execute(sterna.db)
    }
    expect(await project.events.rows()).toEqual([])
    await project.expectTrueCounts()
  })
})
