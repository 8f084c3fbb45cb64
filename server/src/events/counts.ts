import { type RawBuilder, sql } from 'kysely'
import { type Db, many, scalar, scalars } from '../db/index.ts'
import { defineLedger } from '../ledger/ledger.ts'
import { lowestId } from '../lib/id.ts'
import { DAY } from '../lib/text/units.ts'
import { type Days, inDaysSql } from './day.ts'

/** Names in a list; the most frequent ones. */
export const MAX_EVENT_NAMES = 10_000

/** Events by name and UTC day. Recounted day by day. */
export const eventLedger = defineLedger({
  name: 'events',
  deltas: 'event_count_deltas',
  sums: {
    event_counts: {
      key: { name: sql`d.name`, day: sql`d.day` },
      values: { count: sql`d.count` },
      parts: listDays,
      within: ({ part }) => sql`day = ${part}::date`,
      actual: ({ projectId, part }) => sql`
        select name, ${part}::date as day, count(*) as count from events
        where project_id = ${projectId} and id >= ${lowestId(new Date(part))} and id < ${lowestId(new Date(Date.parse(part) + DAY))} group by 1`,
    },
  },
})

/** From the first to the last day that has an event or a count. */
function listDays(db: Db, projectId: string) {
  return scalars<string>(db)`
    with known as (
      select day from ${allCounts(projectId)}
      union all (select id_day(id) from events where project_id = ${projectId} order by id limit 1)
      union all (select id_day(id) from events where project_id = ${projectId} order by id desc limit 1)
    )
    select day::date::text from generate_series((select min(day) from known), (select max(day) from known), '1 day') as day
  `
}

/** Counts of a project, to be added up; those that a condition selects. */
export const allCounts = (projectId: string, which: RawBuilder<unknown> = sql``): RawBuilder<unknown> =>
  sql`(select name, day, count from ${eventLedger.readSql('event_counts', projectId)} where true ${which}) as counted`

export const countEvents = (db: Db, projectId: string, name?: string) => scalar<number>(db)`
  select coalesce(sum(count), 0)::float8 from ${allCounts(projectId, name === undefined ? sql`` : sql`and name = ${name}`)}
`

/** The most frequent first. */
export async function listNames(db: Db, projectId: string) {
  const names = await scalars<string>(db)`
    select name from ${allCounts(projectId)} group by name having sum(count) > 0 order by sum(count) desc, name limit ${MAX_EVENT_NAMES + 1}
  `
  return { eventNames: names.slice(0, MAX_EVENT_NAMES), truncated: names.length > MAX_EVENT_NAMES }
}

/** Counts events by name between two UTC days; the most frequent name first. */
export const countByName = (db: Db, projectId: string, days: Days) =>
  many<{ name: string; count: number }>(db)`
    select name, sum(count)::float8 as count from ${allCounts(projectId, inDaysSql(days))}
    group by name having sum(count) > 0 order by 2 desc, 1 limit ${MAX_EVENT_NAMES}
  `
