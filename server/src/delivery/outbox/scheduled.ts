import { sql } from 'kysely'
import { maybeOne, type Tx } from '../../db/index.ts'
import { insertEntriesSql } from './outcomes/email-ledger.ts'
import { notifyQueued } from './streams/queue-notifications.ts'
import { PRIORITIES } from './streams/stream-of.ts'

/** The email `e` waits for the time that its request gave. */
export const IS_SCHEDULED = sql`e.state = 'deferred' and e.attempts = 0 and e.send_at is not null`
/** Also while it is due and no worker has claimed it. */
const IS_UNCLAIMED = sql`e.state in ('deferred', 'queued') and e.attempts = 0 and e.send_at is not null`

type EmailRef = { projectId: string; id: string }

/** Returns whether the email was, or is now, cancelled. The row decides between this, a move and the claim of a worker. Its usage is returned. */
export async function cancelScheduled(tx: Tx, { projectId, id }: EmailRef): Promise<boolean> {
  const cancelled = await maybeOne(tx)`
    with cancelled as (
      update emails e set state = 'cancelled', error = 'cancelled', error_code = 'cancelled', vars = null, due_at = null, updated_at = now()
      where e.project_id = ${projectId} and e.id = ${id} and ${IS_UNCLAIMED}
      returning e.project_id as "projectId", e.id, 'skipped' as kind, 1 as n, e.source_type as source, e.campaign_id as "campaignId", e.test,
        case when e.metered then e.created_at end as "countedAt"
    ), counted as (
      ${insertEntriesSql(sql`select * from cancelled`)}
    )
    select id from cancelled
  `
  if (cancelled) return true
  return !!(await maybeOne(tx)`
    select 1 from emails e where e.project_id = ${projectId} and e.id = ${id} and e.state = 'cancelled' and e.send_at is not null`)
}

/** Returns false when a worker has claimed the email, or it was not scheduled. Null, or a time that has come: now. */
export async function moveScheduled(tx: Tx, { projectId, id }: EmailRef, sendAt: Date | null): Promise<boolean> {
  const isLater = sql`coalesce(${sendAt}::timestamptz > now(), false)`
  const moved = await maybeOne<{ state: string }>(tx)`
    update emails e set state = case when ${isLater} then 'deferred' else 'queued' end, due_at = case when ${isLater} then ${sendAt}::timestamptz end,
      send_at = case when ${isLater} then ${sendAt}::timestamptz else now() end, updated_at = now()
    where e.project_id = ${projectId} and e.id = ${id} and ${IS_UNCLAIMED} returning e.state
  `
  if (moved?.state === 'queued') await notifyQueued(tx, PRIORITIES.transactional)
  return moved !== undefined
}
