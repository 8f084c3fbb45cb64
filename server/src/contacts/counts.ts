import { sql } from 'kysely'
import { type Db, one, prepared, type Tx } from '../db/index.ts'

export type Counts = { total: number; subscribed: number }

/** Appends the changes of a transaction as rows, which `compactCounts` sums up. Appending takes no lock that another writer waits for. */
export async function countChanges(tx: Tx, changes: (Counts & { projectId: string })[]) {
  const real = changes.filter(({ total, subscribed }) => total || subscribed)
  if (!real.length) return
  await sql`${prepared}
    insert into contact_counts (project_id, total, subscribed)
    select "projectId", sum(total), sum(subscribed)
    from jsonb_to_recordset(${JSON.stringify(real)}::jsonb) as c("projectId" uuid, total int, subscribed int)
    group by 1
  `.execute(tx)
}

export const countContacts = (db: Db, projectId: string) =>
  one(
    db,
    sql<Counts>`
      select coalesce(sum(total), 0)::int as total, coalesce(sum(subscribed), 0)::int as subscribed
      from contact_counts where project_id = ${projectId}
    `,
  )

/** Replaces the rows of a project by their sum. Rows of uncommitted transactions are not visible, and stay. */
export async function compactCounts(tx: Tx) {
  await lockContactCounts(tx)
  await sql`
    with several as (
      select project_id from contact_counts group by project_id having count(*) > 1 limit 1000
    ), deleted as (
      delete from contact_counts where ctid = any(array(
        select c.ctid from contact_counts c join several using (project_id) limit ${MAX_ROWS_PER_RUN}))
      returning project_id, total, subscribed
    )
    insert into contact_counts (project_id, total, subscribed)
    select project_id, sum(total), sum(subscribed) from deleted group by project_id
  `.execute(tx)
}

/** Serialises jobs that replace counts. A statement of its own, so that the next statement sees what the previous holder committed. */
export const lockContactCounts = (tx: Tx) => sql`select pg_advisory_xact_lock(${COUNTS_LOCK})`.execute(tx)
const COUNTS_LOCK = 7_357_006
/** Rows summed up per run; the next run, a minute later, takes the rest. */
const MAX_ROWS_PER_RUN = 50_000

/** Recounts in the same snapshot as the rows it replaces. */
export async function recountContacts(tx: Tx, projectId: string) {
  await lockContactCounts(tx)
  await sql`
    with deleted as (delete from contact_counts where project_id = ${projectId})
    insert into contact_counts (project_id, total, subscribed)
    select ${projectId}, count(*), count(*) filter (where subscribed) from contacts where project_id = ${projectId}
  `.execute(tx)
}
