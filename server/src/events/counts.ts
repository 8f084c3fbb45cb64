import { type RawBuilder, sql } from 'kysely'
import { type Db, many, one, type Tx } from '../db/index.ts'

/** A project has this many names shown at most: the most frequent, and beyond that no list helps. */
const MAX_NAMES = 1_000
/** Of more deltas than these the rest waits for the next minute. */
const ADD_UP_AT_ONCE = 50_000
const COUNTS_LOCK = 7_357_007

/** Both halves of the truth; a reader sees one moment of it. */
const counted = (projectId: string, which: RawBuilder<unknown> = sql``) => sql`(
  select name, day, count from event_counts where project_id = ${projectId} ${which}
  union all
  select name, day, count from event_count_deltas where project_id = ${projectId} ${which}
) as counted`

export async function countEvents(db: Db, projectId: string, name?: string) {
  const { count } = await one(
    db,
    sql<{ count: number }>`
      select coalesce(sum(count), 0)::int as count from ${counted(projectId, name === undefined ? sql`` : sql`and name = ${name}`)}
    `,
  )
  return count
}

/** In alphabetical order. */
export async function listNames(db: Db, projectId: string) {
  const rows = await many(
    db,
    sql<{ name: string }>`
      select name from (
        select name from ${counted(projectId)} group by name having sum(count) > 0 order by sum(count) desc, name limit ${MAX_NAMES}
      ) as frequent order by name
    `,
  )
  return rows.map(({ name }) => name)
}

/** How often each name happened on these UTC days, both included; the most frequent first. */
export const countByName = (db: Db, projectId: string, { from, to }: { from: string | undefined; to: string | undefined }) =>
  many(
    db,
    sql<{ name: string; count: number }>`
      select name, sum(count)::int as count
      from ${counted(projectId, sql`${from ? sql`and day >= ${from}::date` : sql``} ${to ? sql`and day <= ${to}::date` : sql``}`)}
      group by name having sum(count) > 0 order by 2 desc, 1 limit ${MAX_NAMES}
    `,
  )

/** Moves deltas into the counts. Those being written meanwhile are not seen, and stay. */
export async function addUpDeltas(tx: Tx) {
  await oneAtATime(tx)
  await sql`
    with gone as (
      delete from event_count_deltas where ctid = any(array(select ctid from event_count_deltas limit ${ADD_UP_AT_ONCE}))
      returning project_id, name, day, count
    )
    insert into event_counts as c (project_id, name, day, count)
    select project_id, name, day, sum(count) from gone group by 1, 2, 3
    order by 1, 2, 3
    on conflict (project_id, name, day) do update set count = c.count + excluded.count
  `.execute(tx)
  await sql`delete from event_counts where count = 0`.execute(tx)
}

/** Counts anew, in one snapshot with what it replaces. */
export async function recountEvents(tx: Tx, projectId: string) {
  await oneAtATime(tx)
  await sql`set local statement_timeout = '10min'`.execute(tx)
  await sql`
    with deltas as (delete from event_count_deltas where project_id = ${projectId})
    merge into event_counts as c
    using (
      select coalesce(n.name, o.name) as name, coalesce(n.day, o.day) as day, coalesce(n.count, 0) as count
      from (select name, id_day(id) as day, count(*) as count from events where project_id = ${projectId} group by 1, 2) as n
      full join (select name, day from event_counts where project_id = ${projectId}) as o using (name, day)
    ) as t on c.project_id = ${projectId} and c.name = t.name and c.day = t.day
    when matched then update set count = t.count
    when not matched then insert (project_id, name, day, count) values (${projectId}, t.name, t.day, t.count)
  `.execute(tx)
}

/** What one of these replaces another must not count again; its own statement, so that the next one sees what was done. */
export const oneAtATime = (tx: Tx) => sql`select pg_advisory_xact_lock(${COUNTS_LOCK})`.execute(tx)
