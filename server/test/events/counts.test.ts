import fc from 'fast-check'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, one } from '../../src/db/index.ts'
import { eventLedger } from '../../src/events/counts.ts'
import { times } from '../support/times.ts'
import { ADA, DAY, idAt, type Project, useEvents } from './event-client.ts'

const { sterna, newProject } = useEvents()

describe('event counts', () => {
  const addUp = () => eventLedger.fold(sterna.db)
  const sumOf = (project: Project, table: string) =>
    one(
      sterna.db,
      sql<{ rows: number; sum: number }>`
        select count(*)::int as rows, coalesce(sum(count), 0)::int as sum from ${sql.table(table)} where project_id = ${project.id}
      `,
    )

  test('match the events after any sequence of operations', async () => {
    const name = fc.constantFrom('a', 'b', 'c')
    const email = fc.constantFrom(ADA, 'bob@example.com')
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant('track' as const), name, email, subscribed: fc.option(fc.boolean(), { nil: undefined }) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ do: fc.constant('write' as const), name, count: fc.integer({ min: 1, max: 30 }), days: fc.nat(3) }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('add up' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('recount' as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('delete name' as const), name }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('delete contact' as const), email }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 4 }), async (steps, atOnce) => {
        const project = await newProject()
        const perform = async (each: (typeof steps)[number]) => {
          if (each.do === 'track')
            await project.trackEvent(each.name, {
              email: each.email,
              ...(each.subscribed === undefined ? {} : { subscribed: each.subscribed }),
            })
          else if (each.do === 'write')
            await project.events.write(times(each.count, (n) => ({ name: each.name, id: idAt(Date.now() - (each.days + (n % 2)) * DAY) })))
          else if (each.do === 'add up') await addUp()
          else if (each.do === 'recount') await eventLedger.repair(sterna.db, project.id)
          else if (each.do === 'delete name') await project.events.delete(each.name)
          else {
            const { data } = (await project.call('GET', '/contacts')).body
            const contact = data.find((one: { email: string }) => one.email === each.email)
            if (contact) await project.call('DELETE', `/contacts/${contact.id}`)
          }
        }
        for (let at = 0; at < steps.length; at += atOnce) await Promise.all(steps.slice(at, at + atOnce).map(perform))
        await project.jobsDone()
        await project.expectTrueCounts()
        await addUp()
        expect((await sumOf(project, 'event_count_deltas')).rows).toBe(0)
        await project.expectTrueCounts()
        const byDay = await many(
          sterna.db,
          sql`select name, id_day(id)::text as day, count(*)::int as count from events where project_id = ${project.id} group by 1, 2 order by 1, 2`,
        )
        const counted = await many(
          sterna.db,
          sql`select name, day::text as day, count::int as count from event_counts where project_id = ${project.id} and count <> 0 order by 1, 2`,
        )
        expect(counted).toEqual(byDay)
      }),
      { numRuns: 12 },
    )
  })

  test('that are added up leave no deltas and no zero rows', async () => {
    const project = await newProject()
    await project.events.write([{ name: 'kept' }, { name: 'kept' }, { name: 'gone' }])
    await addUp()
    expect([await sumOf(project, 'event_counts'), await sumOf(project, 'event_count_deltas')]).toEqual([
      { rows: 2, sum: 3 },
      { rows: 0, sum: 0 },
    ])
    await project.events.delete('gone')
    expect(await project.events.distinctNames()).toEqual(['kept'])
    await addUp()
    expect(await sumOf(project, 'event_counts')).toEqual({ rows: 1, sum: 2 })
  })

  test('that are wrong are repaired by a recount of their project only', async () => {
    const [project, other] = [await newProject(), await newProject()]
    for (const each of [project, other]) await each.events.write([{ name: 'a' }, { name: 'a' }, { name: 'b' }])
    await addUp()
    await project.events.write([{ name: 'b' }])
    const { day } = await one(sterna.db, sql<{ day: string }>`select day::text from event_counts where project_id = ${project.id} limit 1`)
    await sql`
      update event_counts set count = count + 7 where name = 'a' and project_id in (${project.id}, ${other.id});
    `.execute(sterna.db)
    await sql`insert into event_counts (project_id, name, day, count) values (${project.id}, 'never', ${day}::date, 9)`.execute(sterna.db)
    await eventLedger.repair(sterna.db, project.id)
    await project.expectTrueCounts()
    expect(await other.events.stats()).toEqual([
      { name: 'a', count: 9 },
      { name: 'b', count: 1 },
    ])
  })

  test('stay right under concurrent writes, additions and recounts', async () => {
    const project = await newProject()
    await Promise.all([
      ...times(40, (n) => project.trackEvent(`e${n % 3}`, { email: `c${n % 5}@example.com` })),
      ...times(6, addUp),
      ...times(3, () => eventLedger.repair(sterna.db, project.id)),
    ])
    await project.expectTrueCounts()
  })
})
