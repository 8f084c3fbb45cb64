import { sql } from 'kysely'
import { many, type Pool, type Tx, transact } from '../../db/index.ts'
import { skipScanCte } from '../../ledger/skip-scan.ts'
import { END_COLUMNS, type EndedEmail, EXPIRES_AFTER_DAYS, recordEnds } from '../outbox/outcomes/ended.ts'
import { PRIORITIES } from '../outbox/streams/stream-of.ts'

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
  const rows = await many<EndedEmail>(tx)`
    with recursive ${skipScanCte('queues', {
      table: 'emails',
      by: ['project_id', 'stream_id'],
      columns: [sql`${QUEUED_AT} as queued_at`],
      order: ['lane', 'project_id', 'stream_id', 'id'],
      where: sql`state = 'queued' and lane = ${priority}::smallint`,
    })}, expired as materialized (
      select old.project_id, old.id from (
        select * from (select project_id, stream_id, queued_at, ${EXPIRY_FROM} as expiry_from from queues q) as q
        where greatest(queued_at, expiry_from) < ${EXPIRY} limit ${limit}
      ) as s cross join lateral (
        select project_id, id from emails
        where state = 'queued' and lane = ${priority}::smallint and project_id = s.project_id and stream_id = s.stream_id and ${QUEUED_AT} < ${EXPIRY}
        order by id limit ${limit} for update skip locked
      ) as old
      limit ${limit}
    )
    update emails e set state = 'failed', error = 'expired', error_code = 'expired', updated_at = now()
    from expired x where e.project_id = x.project_id and e.id = x.id
    returning ${END_COLUMNS}
  `
  await recordEnds(tx, rows)
  return rows.length
}

/** Emails of a campaign do not expire while they wait for a person, or for the rate that a person has set. */
const EXPIRY_FROM = sql`(
  select case when t.paused_at is not null or exists (select from stream_rates r where r.project_id = t.project_id and r.id = t.id)
    then 'infinity' else t.expiry_from end
  from streams t where t.project_id = q.project_id and t.id = q.stream_id)`

/** A resend of a campaign restarts the time; that of a scheduled email starts when it is due. */
const QUEUED_AT = sql`coalesce(requeued_at, send_at, created_at)`
const EXPIRY = sql`now() - make_interval(days => ${EXPIRES_AFTER_DAYS})`
