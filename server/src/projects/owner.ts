import { sql } from 'kysely'
import { type Db, many } from '../db/index.ts'
import { ownerSql } from '../ledger/owner-sql.ts'
import { createCache } from '../lib/collections/cache.ts'

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
    /** The owner of a project that was read before. Until then the project stands for itself. */
    of: (projectId: string) => remembered.get(projectId) ?? projectId,
  }
}

/** Every project of the given owners, as an array in SQL. */
export const projectsOfSql = (owners: string[]) =>
  sql`${owners}::uuid[] || array(select m.project_id from memberships m where m.user_id = any(${owners}::uuid[]) and m.role = 'OWNER')`

const readOwners = (db: Db, projectIds: string[]) =>
  many<{ projectId: string; owner: string }>(db)`
    select p.id as "projectId", ${ownerSql(sql`p.id`)} as owner
    from projects p where p.id = any(${projectIds}::uuid[])
  `
