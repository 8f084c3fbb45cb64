import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { many, one, type Pool, transact } from '../../src/db/index.ts'
import { recordEvents } from '../../src/events/record.ts'
import { lowestId } from '../../src/lib/id.ts'
import { sweepWindows } from '../../src/segments/tracking/sweep.ts'
import { eventually } from './eventually.ts'
import type { projectClient } from './project.ts'

type Project = ReturnType<typeof projectClient>

export const filter = (field: string, operator: string, value?: unknown, unit?: string) => ({ field, operator, value, unit })
export const allOf = (...filters: object[]) => ({ logic: 'AND', groups: [{ filters }] })

/** What tests of tracked segments ask about one project. */
export function segmentClient(db: Pool, project: Project) {
  const { id: projectId, call } = project

  async function create(name: string, condition: object, more: object = {}) {
    const answer = await call('POST', '/segments', { name, condition, trackMembership: true, ...more })
    expect([answer.status, answer.body]).toEqual([201, expect.anything()])
    await settled()
    return answer.body as { id: string; slug: string }
  }

  /** Every reaction was handled, and no recomputation is under way. */
  const settled = () =>
    eventually(async () => {
      const open = await one(
        db,
        sql`
          select (select count(*)::int from reactions where project_id = ${projectId}) as reactions,
            (select count(*)::int from jobs where project_id = ${projectId} and finished_at is null) as jobs
        `,
      )
      expect(open).toEqual({ reactions: 0, jobs: 0 })
    })

  /** `<address> entry` or `<address> exit`, oldest first. */
  async function changesOf(slug: string) {
    await settled()
    const rows = await many(
      db,
      sql<{ change: string }>`
        select coalesce(c.email, 'deleted') || ' ' || split_part(e.name, '.', 3) as change
        from events e left join contacts c on c.project_id = e.project_id and c.id = e.contact_id
        where e.project_id = ${projectId} and e.name in (${`segment.${slug}.entry`}, ${`segment.${slug}.exit`}) order by e.id
      `,
    )
    return rows.map(({ change }) => change)
  }

  async function membersOf(segmentId: string) {
    await settled()
    const rows = await many(
      db,
      sql<{ email: string }>`
        select c.email from segment_members m join contacts c on c.project_id = m.project_id and c.id = m.contact_id
        where m.project_id = ${projectId} and m.segment_id = ${segmentId} order by 1
      `,
    )
    return rows.map(({ email }) => email)
  }

  /** Records an event that happened at that time. */
  const recordAt = (contactId: string, name: string, at: Date, data: object = {}) =>
    transact(db, (tx) => recordEvents(tx, [{ projectId, contactId, name, data, id: idAt(at) }]))

  /** Sweeps now, whenever the last sweep was. */
  async function sweep() {
    await sql`update tracked_segments set swept_at = swept_at - interval '10 s' where project_id = ${projectId}`.execute(db)
    await sweepWindows(db)
    await settled()
  }

  return { create, settled, changesOf, membersOf, recordAt, sweep }
}

/** `newId` makes no ids of the past. */
function idAt(at: Date) {
  const random = randomBytes(10).toString('hex')
  return `${lowestId(at).slice(0, 14)}7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`
}
