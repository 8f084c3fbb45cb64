import { sql } from 'kysely'
import { type Db, many } from '../db/index.ts'
import { allCounts } from '../events/counts.ts'
import { type Period, previousPeriod } from './period.ts'

/** Names that the service itself records; as `isReserved`, but exact: look-alikes are refused. */
const IS_RESERVED = sql`name ~ '^(email\\..*|contact\\.(subscribed|unsubscribed)|segment\\..+\\.(entry|exit))$'`

/** The most frequent event names of a period. `trend`: change against the period before, in percent; null if there was none. */
export async function listTopEvents(db: Db, projectId: string, { limit, period }: { limit: number; period: Period }) {
  const before = previousPeriod(period)
  const rows = await many<{ name: string; count: number; previous: number }>(db)`
    select name, sum(count) filter (where day >= ${period.from}::date)::float8 as count,
      coalesce(sum(count) filter (where day < ${period.from}::date), 0)::float8 as previous
    from ${allCounts(projectId, sql`and day >= ${before.from}::date and day <= ${period.to}::date`)}
    where not ${IS_RESERVED}
    group by name having sum(count) filter (where day >= ${period.from}::date) > 0
    order by 2 desc, name limit ${limit}
  `
  return rows.map(({ name, count, previous }) => ({
    name,
    count,
    previousCount: previous,
    trend: previous > 0 ? Math.round((count / previous - 1) * 1_000) / 10 : null,
  }))
}
