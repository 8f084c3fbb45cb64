import { sql } from 'kysely'
import { type Db, one } from '../db/index.ts'
import { matchingEmails, type RollupFilter } from './figures.ts'
import type { Period } from './period.ts'
import { DELIVERY_BUCKETS } from './rollup.ts'

type Bucket = { upToSeconds: number | null; count: number }

/** Time from acceptance to delivery, as a histogram with its median and 95th percentile. */
export async function readDeliveryTimes(db: Db, projectId: string, { from, to, ...filter }: Period & RollupFilter) {
  const sums = DELIVERY_BUCKETS.map(({ column }) => sql`coalesce(sum(${sql.ref(column)}), 0)::int as ${sql.ref(column)}`)
  const row = await one<Record<string, number>>(db)`
    select ${sql.join(sums)} from email_days
    where project_id = ${projectId} and day >= ${from}::date and day <= ${to}::date ${matchingEmails(filter)}
  `
  const buckets = DELIVERY_BUCKETS.map(({ column, seconds }) => ({ upToSeconds: seconds, count: row[column]! }))
  const count = buckets.reduce((sum, bucket) => sum + bucket.count, 0)
  return { count, p50Seconds: percentile(buckets, 0.5), p95Seconds: percentile(buckets, 0.95), buckets }
}

/** As if the emails of a bucket were spread evenly over it. Beyond the last bound: that bound. Null without emails. */
export function percentile(buckets: Bucket[], share: number): number | null {
  const wanted = buckets.reduce((sum, { count }) => sum + count, 0) * share
  let below = 0
  let lower = 0
  for (const { upToSeconds, count } of buckets) {
    if (count > 0 && below + count >= wanted) {
      const within = upToSeconds === null ? 0 : (upToSeconds - lower) * ((wanted - below) / count)
      return Math.round((lower + within) * 10) / 10
    }
    below += count
    lower = upToSeconds ?? lower
  }
  return null
}
