import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { expect } from 'vitest'
import { many, transact } from '../../src/db/index.ts'
import { type NewEvent, recordEvents } from '../../src/events/record.ts'
import { useSharedApp } from '../support/app.ts'

export const ADA = 'ada@example.com'
export const DAY = 86_400_000

export type Listed = { id: string; name: string; contactId: string | null; contact: { id: string; email: string } | null }
type Page = { data: Listed[]; events: Listed[]; cursor: string | null; hasMore: boolean; total: number }
export type Project = Awaited<ReturnType<ReturnType<typeof useEvents>['newProject']>>

/** An app whose projects have helpers for everything that concerns events. Call at the top level, as `useApp`. */
export function useEvents(sterna = useSharedApp()) {
  async function newProject() {
    const project = await sterna.newProject(await sterna.sharedOwner())
    const { id, call } = project
    const events = {
      ...project.events,
      /** Records events as the service does, many in one statement. */
      write: (given: Omit<NewEvent, 'projectId'>[]) =>
        transact(sterna.db, (tx) =>
          recordEvents(
            tx,
            given.map((event) => ({ projectId: id, ...event })),
          ),
        ),
      page: async (query = ''): Promise<Page> => (await call('GET', `/events${query}`)).body,
      distinctNames: async (): Promise<string[]> => (await call('GET', '/events/names')).body.eventNames,
      stats: async (query = ''): Promise<{ name: string; count: number }[]> => (await call('GET', `/events/stats${query}`)).body,
      usage: async (name: string) => (await call('GET', `/events/${encodeURIComponent(name)}/usage`)).body,
      delete: (name: string) => call('DELETE', `/events/${encodeURIComponent(name)}`),
      rows: () => many(sterna.db, sql<{ id: string; name: string }>`select id, name from events where project_id = ${id} order by id`),
    }
    return {
      ...project,
      events,
      trackEvent: async (event: string, { email = ADA, ...more }: { email?: string; subscribed?: boolean; data?: object } = {}) => {
        const { status, body } = await project.track({ email, event, ...more })
        expect(status).toBe(200)
        return body.data as { contact: string; event: string }
      },
      /** Compares the list, the statistics and the names with the rows of `events`. */
      async expectTrueCounts() {
        const counts = await many(
          sterna.db,
          sql<{ name: string; count: number }>`
            select name, count(*)::int as count from events where project_id = ${id} group by 1 order by 2 desc, 1
          `,
        )
        expect(await events.stats()).toEqual(counts)
        expect((await events.page('?limit=1')).total).toBe(counts.reduce((sum, { count }) => sum + count, 0))
        expect(await events.distinctNames()).toEqual(counts.map(({ name }) => name))
      },
      /** Waits until no job of the project is queued or running. */
      jobsDone: () =>
        expect
          .poll(() => many(sterna.db, sql`select 1 from graphile_worker._private_jobs where payload ->> 'projectId' = ${id}`), {
            interval: 40,
          })
          .toEqual([]),
    }
  }

  return { sterna, newProject }
}

/** An event id of the given time; ids of the same time are in random order. */
export function idAt(time: number | string) {
  const hex = new Date(time).getTime().toString(16).padStart(12, '0')
  const random = randomBytes(10).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6, 18)}`
}
