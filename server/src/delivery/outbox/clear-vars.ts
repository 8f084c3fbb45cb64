import { countAffected, type Tx } from '../../db/index.ts'
import { lowestId } from '../../lib/id.ts'
import { DAY } from '../../lib/text/units.ts'

/** Days that the variables of a failed email are kept: until then it can be resent. */
export const KEPT_DAYS = 7

/**
 * Deletes the variables of a send request, such as one-time codes, from failed emails after a while; other emails lose them when they end.
 * They are first limited by id, which is older than the failure, so that the index can be used.
 */
export function clearVars(tx: Tx, limit: number) {
  const before = lowestId(new Date(Date.now() - KEPT_DAYS * DAY))
  return countAffected(tx)`
    update emails set vars = null where (project_id, id) in (
      select project_id, id from emails
      where state = 'failed' and vars <> '{}' and id < ${before} and updated_at < now() - make_interval(days => ${KEPT_DAYS})
      order by id limit ${limit})
  `
}
