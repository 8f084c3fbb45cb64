import { type RawBuilder, sql } from 'kysely'
import { countAffected, one, type Tx } from '../../db/index.ts'
import { DAY } from '../../lib/text/units.ts'

/** Days whose executions the list of workflows counts, today included. */
const RECENT_DAYS = 30

/** The first of these days, such as `2026-01-31`. Days are those of UTC. */
export const firstRecentDay = () => new Date(Date.now() - (RECENT_DAYS - 1) * DAY).toISOString().slice(0, 10)

const utcDay = (time: RawBuilder<unknown>) => sql`(${time} at time zone 'utc')::date`
const startOfDay = (day: RawBuilder<unknown>) => sql`((${day})::timestamp at time zone 'utc')`

/** One day more than is read: a node whose clock is behind may ask for it. */
const FIRST_KEPT_DAY = sql`(${utcDay(sql`now()`)} - ${sql.lit(RECENT_DAYS)}::int)`

/** Number of executions of each workflow `w` of a query that started since a day, and are kept: rows to be added up. */
export const recentSql = (since: string) => sql`
  select d.started as n from workflow_days d where d.project_id = w.project_id and d.workflow_id = w.id and d.day >= ${since}::date
  union all
  select t.n from workflow_tallies t
  where t.project_id = w.project_id and t.workflow_id = w.id and t.kind = 'started' and t.created_at >= ${startOfDay(sql`${since}::date`)}`

/** Adds `n` of each row (project_id, workflow_id, moment, n) to its day. Days are locked in the order of their keys. */
export const addToDaysSql = (rows: RawBuilder<unknown>) => sql`
  insert into workflow_days as d (project_id, workflow_id, day, started)
  select project_id, workflow_id, ${utcDay(sql`moment`)}, sum(n) from (${rows}) as counted
  where moment >= ${startOfDay(FIRST_KEPT_DAY)}
  group by 1, 2, 3 having sum(n) <> 0 order by 1, 2, 3
  on conflict (project_id, workflow_id, day) do update set started = d.started + excluded.started`

/** The next day of each workflow that is due. */
const dueDays = (limit: number) => sql`
  select project_id, id, ${startOfDay(sql`day`)} as first, ${startOfDay(sql`day + 1`)} as next
  from (
    select project_id, id,
      ${utcDay(sql`greatest(days_counted_to, created_at, ${startOfDay(FIRST_KEPT_DAY)})`)} as day
    from workflows
    where days_counted_to is null or days_counted_to < now() - interval '6 hours' or days_counted_to = ${startOfDay(utcDay(sql`now()`))}
    order by days_counted_to nulls first, project_id, id limit ${limit} for no key update skip locked
  ) as w`

const MARK_DAYS = sql`update workflows w set days_counted_to = least(now(), d.next) from due d where w.project_id = d.project_id and w.id = d.id`

/** Longer than the limit of the pool: a day of 300,000 executions took 3 s on two busy cores. */
const COMPARE_TIMEOUT_MS = 10_000

/**
 * Compares a day of workflows with their executions, and corrects it by the difference: nodes of an earlier release count no days. The first
 * time day by day from the first one that is kept to today; then the current day every six hours, and once after its end. One statement reads
 * executions, days and tallies, so it needs no lock against workers that count. Returns the number of workflows: 0 when none is due.
 */
export const compareWorkflowDays = async (tx: Tx, limit: number) => {
  await sql`set local statement_timeout = ${sql.lit(COMPARE_TIMEOUT_MS)}`.execute(tx)
  const { compared } = await one(
    tx,
    sql<{ compared: number }>`
      with due as materialized (${dueDays(limit)}
      ), marked as (${MARK_DAYS}
      ), differences as (
        -- An id has the time of the node that made it: an hour covers the difference.
        select d.project_id, d.id as workflow_id, e.started_at as moment, 1 as n
        from due d join workflow_executions e on e.project_id = d.project_id and e.workflow_id = d.id
          and e.id >= lowest_id(d.first - interval '1 hour') and e.id < lowest_id(d.next + interval '1 hour')
          and e.started_at >= d.first and e.started_at < d.next
        union all
        select d.project_id, d.id, d.first, -y.started
        from due d join workflow_days y on y.project_id = d.project_id and y.workflow_id = d.id and y.day = ${utcDay(sql`d.first`)}
        union all
        select d.project_id, d.id, d.first, -t.n
        from due d join workflow_tallies t on t.project_id = d.project_id and t.workflow_id = d.id
          and t.kind = 'started' and t.created_at >= d.first and t.created_at < d.next
      ), corrected as (${addToDaysSql(sql`select * from differences`)})
      select count(*)::int as compared from due
    `,
  )
  return compared
}

/** The first day that is due is not compared. */
export const skipWorkflowDay = (tx: Tx) => countAffected(tx, sql`with due as materialized (${dueDays(1)}) ${MARK_DAYS}`)

export const dropOldWorkflowDays = (tx: Tx, limit: number) =>
  countAffected(
    tx,
    sql`delete from workflow_days where ctid in (select ctid from workflow_days where day < ${FIRST_KEPT_DAY} limit ${limit})`,
  )
