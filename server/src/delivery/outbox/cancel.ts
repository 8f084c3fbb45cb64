import { sql } from 'kysely'
import { many, type Pool, scalar, type Tx, transact } from '../../db/index.ts'
import { insertEntriesSql } from './outcomes/email-ledger.ts'
import { PRIORITIES } from './streams/stream-of.ts'
import type { StreamRef } from './streams/streams.ts'

/**
 * Cancels up to `limit` emails of a cancelled stream that wait; returns how many. Emails that a worker holds get no mark, come back, and are
 * cancelled by a later call: so 0 does not mean that none is open.
 */
export const cancelQueued = (tx: Tx, { projectId, streamId, limit }: StreamRef & { limit: number }) =>
  scalar<number>(tx)`
    with queued as materialized (
      select project_id, id from emails
      where state = 'queued' and lane = ${sql.lit(PRIORITIES.bulk)} and project_id = ${projectId} and stream_id = ${streamId}
      order by lane, project_id, stream_id, id limit ${limit} for update skip locked
    ), deferred as materialized (
      select project_id, id from emails
      where campaign_id is not null and state in ('deferred', 'unknown') and state = 'deferred' and project_id = ${projectId} and campaign_id = ${streamId}
      limit ${limit} for update skip locked
    ), cancelled as (
      update emails e set state = 'cancelled', error = 'cancelled', error_code = 'cancelled', vars = null, due_at = null, updated_at = now()
      from (select * from queued union all select * from deferred) as c
      where e.project_id = c.project_id and e.id = c.id
      returning e.project_id as "projectId", e.id, 'skipped' as kind, 1 as n, e.source_type as source, e.campaign_id as "campaignId", e.test,
        case when e.metered then e.created_at end as "countedAt"
    ), counted as (
      ${insertEntriesSql(sql`select * from cancelled`)}
    )
    select count(*)::int from cancelled
  `

/** Streams per run of `cancelStreams`; the next run takes the rest. */
const MAX_STREAMS = 100

/** Cancels the emails of cancelled streams, page by page. Repeated by the sender, because emails in hand come back later. */
export async function cancelStreams(db: Pool, limit: number, isStopped = () => false) {
  const streams = await many<StreamRef>(db)`
    select project_id as "projectId", id as "streamId" from streams where cancelled_at is not null
    order by project_id, id limit ${MAX_STREAMS}
  `
  for (const stream of streams) while (!isStopped() && (await transact(db, (tx) => cancelQueued(tx, { ...stream, limit }))) >= limit);
}
