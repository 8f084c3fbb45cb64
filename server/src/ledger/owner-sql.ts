import { type RawBuilder, sql } from 'kysely'
import { type Db, scalar } from '../db/index.ts'

/**
 * The owner of a project, in SQL: pools are shared fairly between owners, since one person may have many projects. A project always has one
 * owner, and it never changes; without one (a project of the command line) the project stands for itself.
 */
export const ownerSql = (projectId: RawBuilder<unknown>) =>
  sql<string>`coalesce((select m.user_id from memberships m where m.project_id = ${projectId} and m.role = 'OWNER'), ${projectId})`

export const findProjectOwner = (db: Db, projectId: string) => scalar<string>(db)`select ${ownerSql(sql`${projectId}::uuid`)}`

/** Rows that one look for work reads: more than all slots of a worker, for many owners. */
const MAX_ROWS = 1_000

/**
 * Selects from rows with `project_id` and `due_at` those that are first in turn, with the column `owner`: the first row of each owner,
 * then the second ones, and so on. Projects of an owner take turns too. So an owner with many rows hides no row of another owner.
 */
export const inTurnSql = (rows: RawBuilder<unknown>) => sql`
  select turn.* from (
    select owned.*, row_number() over (partition by owned.owner order by owned.in_project, owned.due_at) as in_owner
    from (
      select each.*, ${ownerSql(sql`each.project_id`)} as owner, row_number() over (partition by each.project_id order by each.due_at) as in_project
      from (${rows}) as each
    ) as owned
  ) as turn
  order by turn.in_owner, turn.due_at limit ${MAX_ROWS}`
