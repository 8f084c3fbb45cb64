import { sql } from 'kysely'
import { type Db, one, prepared, type Tx } from '../db/index.ts'

export type Counts = { total: number; subscribed: number }

/** Appends what a transaction changed. Nobody waits: rows are only ever added here, and added up by `compactCounts`. */
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

/** Many rows become one. Rows that are being written meanwhile are not seen, and stay. */
export async function compactCounts(tx: Tx) {
  await lockContactCounts(tx)
  await sql`
    with crowded as (
      select project_id from contact_counts group by project_id having count(*) > 1 limit 1000
    ), gone as (
      delete from contact_counts where ctid = any(array(
        select c.ctid from contact_counts c join crowded using (project_id) limit ${COMPACT_AT_ONCE}))
      returning project_id, total, subscribed
    )
    insert into contact_counts (project_id, total, subscribed)
    select project_id, sum(total), sum(subscribed) from gone group by project_id
  `.execute(tx)
}

/** What one of these replaces another must not count again; its own statement, so that the next one sees what was done. */
export const lockContactCounts = (tx: Tx) => sql`select pg_advisory_xact_lock(${COUNTS_LOCK})`.execute(tx)
const COUNTS_LOCK = 7_357_006
/** Of more than these the rest waits for the next minute. */
const COMPACT_AT_ONCE = 50_000

/** Counts anew, in one snapshot with the rows it replaces. */
export async function recountContacts(tx: Tx, projectId: string) {
  await lockContactCounts(tx)
  await sql`
    with gone as (delete from contact_counts where project_id = ${projectId})
    insert into contact_counts (project_id, total, subscribed)
    select ${projectId}, count(*), count(*) filter (where subscribed) from contacts where project_id = ${projectId}
  `.execute(tx)
}
