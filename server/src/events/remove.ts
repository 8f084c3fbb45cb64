import { type RawBuilder, sql } from 'kysely'
import { many, one, type Tx } from '../db/index.ts'

/**
 * Removes the oldest events that match, at most `limit`, and takes them off the counts. Returns how many. By an array of ids
 * between two bounds: so only the partitions they lie in are looked into.
 */
export async function removeEvents(
  tx: Tx,
  { projectId, which, limit }: { projectId: string; which: RawBuilder<unknown>; limit: number },
): Promise<number> {
  const found = await many(
    tx,
    sql<{ id: string }>`select id from events where project_id = ${projectId} and ${which} order by id limit ${limit}`,
  )
  if (!found.length) return 0
  const ids = found.map(({ id }) => id)
  const { count } = await one(
    tx,
    sql<{ count: number }>`
      with gone as (
        delete from events
        where project_id = ${projectId} and id >= ${ids[0]} and id <= ${ids.at(-1)} and id = any(${ids}::uuid[])
        returning name, id
      ), counted as (
        insert into event_count_deltas (project_id, name, day, count)
        select ${projectId}, name, id_day(id), -count(*) from gone group by 2, 3
      )
      select count(*)::int as count from gone
    `,
  )
  return count
}
