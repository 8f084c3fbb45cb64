import { sql } from 'kysely'
import { type Db, many } from '../db/index.ts'
import { ownerSql } from '../db/owner-sql.ts'
import { createCache } from '../lib/cache.ts'

export { ownerSql }

/** Projects whose owner is remembered: a few megabytes. */
const MAX_REMEMBERED = 50_000

/** Reads owners of projects, many at a time, and remembers them. */
export function createOwners(db: Db) {
  const remembered = createCache<string, string>({ maxEntries: MAX_REMEMBERED })

  return {
    /** The owner of each project, by project. */
    async read(projectIds: Iterable<string>): Promise<Map<string, string>> {
      const owners = new Map([...projectIds].map((id) => [id, remembered.get(id)]))
      const unknown = [...owners.keys()].filter((id) => owners.get(id) === undefined)
      for (const { projectId, owner } of unknown.length ? await readOwners(db, unknown) : []) {
        remembered.set(projectId, owner)
        owners.set(projectId, owner)
      }
      return new Map([...owners].map(([id, owner]) => [id, owner ?? id]))
    },
  }
}

const readOwners = (db: Db, projectIds: string[]) =>
  many(
    db,
    sql<{ projectId: string; owner: string }>`
      select p.id as "projectId", ${ownerSql(sql`p.id`)} as owner
      from projects p where p.id = any(${projectIds}::uuid[])
    `,
  )
