import { sql } from 'kysely'
import { many, type Pool, type Tx, transact } from '../../db/index.ts'
import { END_COLUMNS, type EndedEmail, recordEnds } from '../outbox/settle.ts'
import { PRIORITIES } from '../outbox/stream-of.ts'
import { EXPIRES_AFTER_DAYS } from './gate.ts'

/**
 * Fails queued emails that were accepted too long ago, also while sending is paused and nothing is claimed. Steps from stream to stream along
 * the index of the queue, where the oldest email of each stream comes first. Deferred emails are not searched: they wait for hours at most,
 * and the gate checks the age of every claimed email.
 */
export async function expireQueued(db: Pool, limit: number, isStopped = () => false) {
  for (const priority of Object.values(PRIORITIES))
    while (!isStopped() && (await transact(db, (tx) => expireSome(tx, priority, limit))) === limit);
}

async function expireSome(tx: Tx, priority: number, limit: number) {
  const rows = await many(
    tx,
    sql<EndedEmail>`
      with recursive streams as (
        (select project_id, stream_id, created_at from emails where state = 'queued' and lane = ${priority}::smallint
          order by lane, project_id, stream_id, id limit 1)
        union all
        select next.project_id, next.stream_id, next.created_at
        from streams s cross join lateral (
          select project_id, stream_id, created_at from emails
          where state = 'queued' and lane = ${priority}::smallint and (project_id, stream_id) > (s.project_id, s.stream_id)
          order by lane, project_id, stream_id, id limit 1
        ) as next
      ), expired as materialized (
        select old.project_id, old.id from (select * from streams where created_at < ${EXPIRY} limit ${limit}) as s cross join lateral (
          select project_id, id from emails
          where state = 'queued' and lane = ${priority}::smallint and project_id = s.project_id and stream_id = s.stream_id and created_at < ${EXPIRY}
          order by id limit ${limit} for update skip locked
        ) as old
        limit ${limit}
      )
      update emails e set state = 'failed', error = 'expired', error_code = 'expired', updated_at = now()
      from expired x where e.project_id = x.project_id and e.id = x.id
      returning ${END_COLUMNS}
    `,
  )
  await recordEnds(tx, rows)
  return rows.length
}

const EXPIRY = sql`now() - make_interval(days => ${EXPIRES_AFTER_DAYS})`
