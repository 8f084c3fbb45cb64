import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { many, one, transact } from '../../src/db/index.ts'
import { eventLedger } from '../../src/events/counts.ts'
import { listenTo } from '../../src/events/listen.ts'
import { removeEvents } from '../../src/events/remove.ts'
import { useSharedApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { whileSleeping } from '../support/faults/sleeping-writes.ts'
import { times } from '../support/times.ts'
import { type Project, useEvents } from './event-client.ts'

const { sterna, newProject } = useEvents(useSharedApp())

describe('a reset of a project', () => {
  /** Without tables that are written some time after the request. */
  const rowsPerTable = async (projectId: string) => {
    const tables = await many(
      sterna.db,
      sql<{ name: string }>`
        select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'project_id'
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
          and c.relname not in ('key_usage', 'contact_days')
        order by 1
      `,
    )
    const counts = await Promise.all(
      tables.map(async ({ name }) => {
        const { n } = await one(
          sterna.db,
          sql<{ n: number }>`select count(*)::int as n from ${sql.table(name)} where project_id = ${projectId}`,
        )
        return [name, n] as const
      }),
    )
    return Object.fromEntries(counts.filter(([, n]) => n))
  }
  /** A job removes what the request did not remove within its time. Each check is a query per table, which takes time from that job. */
  const RARELY = { timeout: 120_000, interval: 300 }
  async function fillTables(project: Project) {
    await transact(sterna.db, (tx) => listenTo(tx, { projectId: project.id, listener: 'test' }, ['event:*', 'contact']))
    await project.events.write(times(1_500, (n) => ({ name: `e${n % 3}` })))
    await project.trackEvent('e', { data: { a: 1 } })
    await eventLedger.fold(sterna.db)
    await project.trackEvent('e', { subscribed: false })
    await sql`insert into idempotency_keys (project_id, key, request, status_code) values (${project.id}, 'k', 'POST /v1/track', 200)`.execute(
      sterna.db,
    )
    expect(Object.keys(await rowsPerTable(project.id))).toEqual(
      expect.arrayContaining([
        'events',
        'event_counts',
        'event_count_deltas',
        'reactions',
        'listeners',
        'idempotency_keys',
        'contacts',
        'consents',
      ]),
    )
  }

  /** The audit trail tells who has reset the project. */
  const KEPT = ['audit_entries', 'listeners', 'memberships']

  test('removes its events, counts, reactions and keys, and no others', async () => {
    const [project, other] = [await newProject(), await newProject()]
    await fillTables(project)
    await fillTables(other)
    const before = await rowsPerTable(other.id)
    expect((await project.owner.call('POST', `/users/@me/projects/${project.id}/reset`)).status).toBe(200)
    await eventually(async () => expect(Object.keys(await rowsPerTable(project.id)).sort()).toEqual(KEPT), RARELY)
    expect(await project.events.page()).toMatchObject({ data: [], total: 0 })
    expect(await project.events.distinctNames()).toEqual([])
    await project.trackEvent('again')
    await project.expectTrueCounts()
    expect(await rowsPerTable(other.id)).toEqual(before)
    await other.expectTrueCounts()
  })

  test('by its deletion leaves no row', async () => {
    const project = await newProject()
    await fillTables(project)
    await project.owner.call('DELETE', `/users/@me/projects/${project.id}`)
    await eventually(async () => expect(await rowsPerTable(project.id)).toEqual({}), RARELY)
  })

  test('leaves true counts if an event is tracked during it', async () => {
    const project = await newProject()
    await project.events.write(times(5, () => ({ name: 'old' })))
    await eventLedger.fold(sterna.db)
    await transact(sterna.db, (tx) => removeEvents(tx, { projectId: project.id, which: sql`true`, limit: 10 }))
    const wiped = { on: 'delete' as const, table: 'event_count_deltas', when: sql`old.project_id = ${sql.lit(project.id)}` }
    const { wiping } = await whileSleeping(sterna.db, wiped, async () => ({
      started: {
        wiping: transact(sterna.db, (tx) => eventLedger.wipe(tx, { projectId: project.id, before: new Date().toISOString(), limit: 1 })),
      },
      meanwhile: () => project.trackEvent('new'),
    }))
    await wiping
    await project.expectTrueCounts()
  })
})
