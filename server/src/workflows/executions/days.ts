import { type RawBuilder, sql } from 'kysely'
import { countAffected, type Db, scalars, type Tx } from '../../db/index.ts'
import type { Sums } from '../../ledger/ledger.ts'
import { DAY } from '../../lib/text/units.ts'

/** Days whose executions the list of workflows counts, today included. */
const RECENT_DAYS = 30

/** The first of these days, such as `2026-01-31`. Days are those of UTC. */
export const firstRecentDay = () => new Date(Date.now() - (RECENT_DAYS - 1) * DAY).toISOString().slice(0, 10)

export const utcDay = (time: RawBuilder<unknown>) => sql`(${time} at time zone 'utc')::date`
const startOfDay = (day: RawBuilder<unknown>) => sql`((${day})::timestamp at time zone 'utc')`

/** One day more than is read: a node whose clock is behind may ask for it. */
const FIRST_KEPT_DAY = sql`(${utcDay(sql`now()`)} - ${sql.lit(RECENT_DAYS)}::int)`

/** Executions that started on a day, and are kept. Recounted day by day: one of 300,000 executions took 3 s on two busy cores. */
export const workflowDays: Sums = {
  key: { workflow_id: sql`d.workflow_id`, day: utcDay(sql`d.created_at`) },
  values: { started: sql`case d.kind when 'started' then d.n else -d.n end` },
  where: sql`d.kind in ('started', 'dropped') and d.created_at >= ${startOfDay(FIRST_KEPT_DAY)}`,
  parts: listDays,
  within: ({ projectId, part }) => sql`day = ${part}::date and workflow_id in (select id from workflows where project_id = ${projectId})`,
  actual: ({ projectId, part }) => {
    const [first, next] = [startOfDay(sql`${part}::date`), startOfDay(sql`${part}::date + 1`)]
    // An id has the time of the node that made it: an hour covers the difference.
    return sql`
      select workflow_id, ${part}::date as day, count(*) as started from workflow_executions
      where project_id = ${projectId} and id >= lowest_id(${first} - interval '1 hour') and id < lowest_id(${next} + interval '1 hour')
        and started_at >= ${first} and started_at < ${next}
      group by 1`
  },
}

function listDays(db: Db) {
  return scalars<string>(db)`select day::date::text from generate_series(${FIRST_KEPT_DAY}, ${utcDay(sql`now()`)}, interval '1 day') as day`
}

export const dropOldWorkflowDays = (tx: Tx, limit: number) =>
  countAffected(tx)`delete from workflow_days where ctid in (select ctid from workflow_days where day < ${FIRST_KEPT_DAY} limit ${limit})`
