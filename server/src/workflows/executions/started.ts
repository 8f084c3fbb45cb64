import { sql } from 'kysely'
import { FilterTime, readMoment } from '../../contacts/selection/filter.ts'
import { lowestId } from '../../lib/id.ts'
import { DAY } from '../../lib/text/units.ts'

/** When executions started. */
export const STARTED_FILTER = { startedFrom: FilterTime.optional(), startedTo: FilterTime.optional() }

/**
 * Condition on the execution `e`. Also as a range of ids, which indexes have: an id has the time of the node that made it, `started_at` the
 * time of the database, so the range is a day wider on both sides.
 */
export function startedSql({ startedFrom, startedTo }: { startedFrom?: string | undefined; startedTo?: string | undefined }) {
  const [from, to] = [readMoment(startedFrom), readMoment(startedTo)]
  const first = from && lowestId(new Date(Math.max(0, from.start - DAY)))
  const last = to && lowestId(new Date(to.end + DAY))
  return sql`${from ? sql`and e.started_at >= ${new Date(from.start)} and e.id >= ${first}` : sql``}
    ${to ? sql`and e.started_at < ${new Date(to.end)} and e.id < ${last}` : sql``}`
}
