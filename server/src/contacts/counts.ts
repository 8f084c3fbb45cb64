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

/** The UTC day of the transaction, as `created_at` of the rows it writes. */
export const TODAY = sql`(now() at time zone 'utc')::date`

/**
 * Replaces the rows of a project by their sum, and adds what happened to its days (`contact_days`). Rows of uncommitted transactions are not
 * visible, and stay. A project that is being wiped waits, because its days would outlive the wipe.
 */
export async function compactCounts(tx: Tx) {
  await lockContactCounts(tx)
  await sql`
    with several as (
      select project_id from contact_counts c
      where not exists (select from project_wipes w where w.project_id = c.project_id)
      group by project_id having count(*) > 1 or max(day) is not null limit 1000
    ), deleted as (
      delete from contact_counts where ctid = any(array(
        select c.ctid from contact_counts c join several using (project_id) limit ${MAX_ROWS_PER_RUN}))
      returning project_id, total, subscribed, day, source, created, created_subscribed, opted_in, opted_out
    ), days as (
      insert into contact_days as d (project_id, day, source, created, created_subscribed, opted_in, opted_out)
      select project_id, day, coalesce(source, ${UNKNOWN_SOURCE}), sum(created), sum(created_subscribed), sum(opted_in), sum(opted_out)
      from deleted where day is not null and created + opted_in + opted_out > 0 group by 1, 2, 3
      order by 1, 2, 3 -- consistent lock order: avoids deadlocks
      on conflict (project_id, day, source) do update set created = d.created + excluded.created,
        created_subscribed = d.created_subscribed + excluded.created_subscribed, opted_in = d.opted_in + excluded.opted_in,
        opted_out = d.opted_out + excluded.opted_out
    )
    insert into contact_counts (project_id, total, subscribed)
    select project_id, sum(total), sum(subscribed) from deleted group by project_id
  `.execute(tx)
}

/** Of contacts that were created before their origin was stored. */
export const UNKNOWN_SOURCE = 'unknown'

/** Serialises jobs that replace counts. A statement of its own, so that the next statement sees what the previous holder committed. */
export const lockContactCounts = (tx: Tx) => sql`select pg_advisory_xact_lock(${COUNTS_LOCK})`.execute(tx)
const COUNTS_LOCK = 7_357_006
/** Rows summed up per run; the next run, a minute later, takes the rest. */
const MAX_ROWS_PER_RUN = 50_000

/** Recounts in the same snapshot as the rows it replaces. Those that also say what happened on a day stay, as changes of nothing. */
export async function recountContacts(tx: Tx, projectId: string) {
  await lockContactCounts(tx)
  await sql`
    with deleted as (
      delete from contact_counts where project_id = ${projectId}
      returning day, source, created, created_subscribed, opted_in, opted_out
    ), kept as (
      insert into contact_counts (project_id, total, subscribed, day, source, created, created_subscribed, opted_in, opted_out)
      select ${projectId}, 0, 0, day, source, created, created_subscribed, opted_in, opted_out from deleted where day is not null
    )
    insert into contact_counts (project_id, total, subscribed)
    select ${projectId}, count(*), count(*) filter (where subscribed) from contacts where project_id = ${projectId}
  `.execute(tx)
}
