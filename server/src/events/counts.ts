import { type RawBuilder, sql } from 'kysely'
import { type Db, many, one, type Pool, type Tx, transact } from '../db/index.ts'
import { lowestId } from '../lib/id.ts'
import { DAY } from '../lib/text/units.ts'

/** Names in a list; the most frequent ones. */
export const MAX_EVENT_NAMES = 10_000
/** Deltas merged per run; the next run, a minute later, takes the rest. */
const MAX_DELTAS_PER_RUN = 50_000
const COUNTS_LOCK = 7_357_007

/** Merged counts and pending deltas, read in one snapshot. */
export const allCounts = (projectId: string, which: RawBuilder<unknown> = sql``) => sql`(
  select name, day, count from event_counts where project_id = ${projectId} ${which}
  union all
  select name, day, count from event_count_deltas where project_id = ${projectId} ${which}
) as counted`

export async function countEvents(db: Db, projectId: string, name?: string) {
  const { count } = await one(
    db,
    sql<{ count: number }>`
      select coalesce(sum(count), 0)::float8 as count from ${allCounts(projectId, name === undefined ? sql`` : sql`and name = ${name}`)}
    `,
  )
  return count
}

/** The most frequent first. */
export async function listNames(db: Db, projectId: string) {
  const rows = await many(
    db,
    sql<{ name: string }>`
      select name from ${allCounts(projectId)} group by name having sum(count) > 0 order by sum(count) desc, name limit ${MAX_EVENT_NAMES + 1}
    `,
  )
  return { eventNames: rows.slice(0, MAX_EVENT_NAMES).map(({ name }) => name), truncated: rows.length > MAX_EVENT_NAMES }
}

/** Counts events by name between two UTC days, both included; the most frequent name first. */
export const countByName = (db: Db, projectId: string, { from, to }: { from: string | undefined; to: string | undefined }) =>
  many(
    db,
    sql<{ name: string; count: number }>`
      select name, sum(count)::float8 as count
      from ${allCounts(projectId, sql`${from ? sql`and day >= ${from}::date` : sql``} ${to ? sql`and day <= ${to}::date` : sql``}`)}
      group by name having sum(count) > 0 order by 2 desc, 1 limit ${MAX_EVENT_NAMES}
    `,
  )

/** Moves deltas into the counts. Deltas of uncommitted transactions are not visible, and stay. */
export async function mergeDeltas(tx: Tx) {
  await lockEventCounts(tx)
  const empty = await many(
    tx,
    sql<{ projectId: string; name: string; day: string }>`
      with deleted as (
        delete from event_count_deltas where ctid = any(array(select ctid from event_count_deltas limit ${MAX_DELTAS_PER_RUN}))
        returning project_id, name, day, count
      ), added as (
        insert into event_counts as c (project_id, name, day, count)
        select project_id, name, day, sum(count) from deleted group by 1, 2, 3
        order by 1, 2, 3
        on conflict (project_id, name, day) do update set count = c.count + excluded.count
        returning project_id, name, day, count
      )
      select project_id as "projectId", name, day::text as day from added where count = 0
    `,
  )
  if (!empty.length) return
  await sql`
    delete from event_counts c using jsonb_to_recordset(${JSON.stringify(empty)}::jsonb) as n("projectId" uuid, name text, day date)
    where c.project_id = n."projectId" and c.name = n.name and c.day = n.day and c.count = 0
  `.execute(tx)
}

/** Recounts day by day, so that no statement is long; each day in the same snapshot as the rows it replaces. */
export async function recountEvents(db: Pool, projectId: string) {
  const days = await many(
    db,
    sql<{ day: string }>`
      with known as (
        select day from ${allCounts(projectId)}
        union all (select id_day(id) from events where project_id = ${projectId} order by id limit 1)
        union all (select id_day(id) from events where project_id = ${projectId} order by id desc limit 1)
      )
      select day::date::text as day from generate_series((select min(day) from known), (select max(day) from known), '1 day') as day
    `,
  )
  for (const { day } of days) await transact(db, (tx) => recountDay(tx, projectId, day))
}

async function recountDay(tx: Tx, projectId: string, day: string) {
  await lockEventCounts(tx)
  const from = new Date(day)
  const to = new Date(from.getTime() + DAY)
  await sql`
    with deltas as (
      delete from event_count_deltas where project_id = ${projectId} and day = ${day}::date
    ), actual as (
      select name, count(*) as count from events
      where project_id = ${projectId} and id >= ${lowestId(from)} and id < ${lowestId(to)} group by 1
    ), removed as (
      delete from event_counts where project_id = ${projectId} and day = ${day}::date and name not in (select name from actual)
    )
    insert into event_counts (project_id, name, day, count)
    select ${projectId}, name, ${day}::date, count from actual
    on conflict (project_id, name, day) do update set count = excluded.count
  `.execute(tx)
}

/** Serialises jobs that replace counts. A statement of its own, so that the next statement sees what the previous holder committed. */
export const lockEventCounts = (tx: Tx) => sql`select pg_advisory_xact_lock(${COUNTS_LOCK})`.execute(tx)
