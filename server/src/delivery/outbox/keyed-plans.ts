import { sql } from 'kysely'
import { prepared } from '../../db/prepared.ts'

/**
 * Planner settings for statements that look up rows by their keys. The statistics of a queue are always stale, and a prepared statement keeps its
 * plan: one that was made while the table was small would read all of it for ever.
 */
export const KEYED_PLANS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  // A plan without choice has a high cost, for which PostgreSQL would compile it each time.
  jit: 'off',
}

/** For statements that read the first rows of an index, too: without sorting, nothing but the index gives them in their order. */
const INDEXED_PLANS = { ...KEYED_PLANS, enable_sort: 'off', enable_incremental_sort: 'off' }

/** The first statement of a transaction whose others read rows along indexes. */
export const alongIndexes = (more: Record<string, string> = {}) => {
  const settings = Object.entries({ ...INDEXED_PLANS, ...more })
  return prepared`select ${sql.join(settings.map(([name, value]) => sql`set_config(${sql.lit(name)}, ${sql.lit(value)}, true)`))}`
}
