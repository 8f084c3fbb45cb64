import { sql } from 'kysely'
import { type Db, one } from '../db/index.ts'

export const countEvents = (db: Db, projectId: string, name: string) =>
  one(
    db,
    sql<{ totalCount: number; uniqueContacts: number }>`
      select count(*)::int as "totalCount", count(distinct contact_id)::int as "uniqueContacts"
      from events where project_id = ${projectId} and name = ${name}
    `,
  )
