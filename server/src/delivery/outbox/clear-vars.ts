import { sql } from 'kysely'
import { countAffected, type Tx } from '../../db/index.ts'
import { lowestId } from '../../lib/id.ts'
import { DAY } from '../../lib/units.ts'

/** How long the data of a request is kept after its email failed: until then it can be resent. */
export const KEPT_DAYS = 7

/**
 * Clears what only the request knew, such as one-time codes: of failed emails after a while, and of those that ended before ending
 * cleared it. Failed ones by their id first: it is older than the failure.
 */
export function clearVars(tx: Tx, limit: number) {
  const before = lowestId(new Date(Date.now() - KEPT_DAYS * DAY))
  return countAffected(
    tx,
    sql`
      update emails set vars = null where (project_id, id) in (
        (select project_id, id from emails where state in ('sent', 'skipped', 'cancelled') and vars <> '{}' order by id limit ${limit})
        union all
        (select project_id, id from emails
         where state = 'failed' and vars <> '{}' and id < ${before} and updated_at < now() - make_interval(days => ${KEPT_DAYS})
         order by id limit ${limit}))
    `,
  )
}
