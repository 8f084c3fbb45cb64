import { sql } from 'kysely'
import type { AccountEmailDeps } from '../account-emails/account-email.ts'
import { maybeOne, type Tx } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { groupBy } from '../lib/collections/group-by.ts'
import type { SafeOutcome } from '../lib/network/safe-fetch.ts'
import { HOUR, MINUTE, SECOND } from '../lib/text/units.ts'
import { hasSucceeded, reasonOf, waitAfter } from '../webhooks/retry.ts'
import type { DueDelivery, DueWork, LeasedEndpoint } from './due-deliveries.ts'
import { switchOff } from './switch-off.ts'

/** Waits before the second to the eighth attempt. */
const WAITS_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]
const GONE = 410

/** `outcome`: undefined for a message of a batch that is no longer kept. */
export type Attempted = { due: DueDelivery; outcome: SafeOutcome | undefined; at: Date }

type Answered = Attempted & { outcome: SafeOutcome }

const isGone = ({ outcome }: Answered) => outcome.is === 'status' && outcome.status === GONE

const waitOf = (answered: Answered) =>
  isGone(answered) ? null : (waitAfter(WAITS_MS, (answered.due.work.tries ?? 0) + 1, answered.outcome, answered.at) ?? null)

const attemptOf = ({ outcome, at }: Answered) => ({
  at: at.toISOString(),
  status: outcome.is === 'status' ? outcome.status : null,
  durationMs: outcome.ms,
  error: hasSucceeded(outcome) ? null : reasonOf(outcome),
})

/** What is written about a batch: what succeeded, and what was not tried yet. `told`: null if that is the whole batch. */
function settledBatch(batch: DueWork, attempted: Attempted[]) {
  const byMessage = new Map(attempted.map((each) => [each.due.messageId, each]))
  const rest = batch.messageIds.filter((id) => !byMessage.has(id))
  const told = batch.messageIds.flatMap((id) => {
    const each = byMessage.get(id)
    return each?.outcome?.is === 'status' && hasSucceeded(each.outcome) ? [{ id, at: each.at, ...each.outcome }] : []
  })
  return {
    id: batch.id,
    size: batch.messageIds.length,
    rest: rest.length ? rest : null,
    told: told.length === batch.messageIds.length ? null : told.map(({ id }) => id),
    afterMs: told.map(({ at }) => at.getTime() - batch.createdAt.getTime()),
    statuses: told.map(({ status }) => status),
    durationsMs: told.map(({ ms }) => ms),
  }
}

function settledBatches(attempted: Attempted[]) {
  const firstAttempts = attempted.filter(({ due }) => due.work.tries === null)
  return [...groupBy(firstAttempts, ({ due }) => due.work)].map(([batch, those]) => settledBatch(batch, those))
}

/**
 * Moves what succeeded, plans the next attempts of the rest, and gives the endpoint back: one statement. What another worker has settled
 * meanwhile, because this one was too late, stays as it is.
 */
export async function settleDeliveries(tx: Tx, accountEmails: AccountEmailDeps, leased: LeasedEndpoint, attempted: Attempted[]) {
  const { projectId, id, leasedUntil } = leased
  const answered = attempted.filter((each): each is Answered => each.outcome !== undefined)
  const failed = answered.filter(({ outcome }) => !hasSucceeded(outcome))
  const rowOf = (each: Answered) => ({ id: each.due.id, attempt: attemptOf(each), waitMs: waitOf(each) })
  const singles = answered
    .filter(({ due }) => due.work.tries !== null)
    .map((each) => ({ ...rowOf(each), tries: each.due.work.tries, ok: hasSucceeded(each.outcome) }))
  const misses = failed
    .filter(({ due }) => due.work.tries === null)
    .map((each) => ({ ...rowOf(each), batchId: each.due.work.id, messageId: each.due.messageId }))
  const succeeded = answered.length - failed.length
  const durationMs = answered.reduce((sum, { outcome }) => sum + outcome.ms, 0)
  const endpoint = await maybeOne(
    tx,
    prepared<{ isDead: boolean | null }>`
    with results as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(singles)}::jsonb) as r(id uuid, tries int, ok boolean, attempt jsonb, "waitMs" float8)
    ), done as (
      delete from webhook_deliveries d using results r
      where d.project_id = ${projectId} and d.id = r.id and d.status = 'pending' and r.ok
      returning d.id, d.endpoint_id, d.message_id, d.type, ${withAttempt} as attempts, d.payload, d.created_at
    ), stored as (
      insert into webhook_delivered (project_id, id, endpoint_id, message_id, type, attempts, payload, created_at)
      select ${projectId}, id, endpoint_id, message_id, type, attempts, payload, created_at from done
    ), missed as (
      update webhook_deliveries d set tries = d.tries + 1, attempts = ${withAttempt}, status = ${STATUS}, due_at = ${DUE_AT}
      from results r
      where d.project_id = ${projectId} and d.id = r.id and d.status = 'pending' and d.tries = r.tries and not r.ok
    ), given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(settledBatches(attempted))}::jsonb) as g(
        id uuid, size int, rest uuid[], told uuid[], "afterMs" int[], statuses smallint[], "durationsMs" int[])
    ), ended as (
      delete from webhook_batches b using given g
      where b.project_id = ${projectId} and b.endpoint_id = ${id} and b.id = g.id and b.size = g.size and g.rest is null
      returning b.id, b.type, b.message_ids, b.created_at
    ), shortened as (
      update webhook_batches b set message_ids = g.rest from given g
      where b.project_id = ${projectId} and b.endpoint_id = ${id} and b.id = g.id and b.size = g.size and g.rest is not null
      returning b.id, b.type, b.message_ids, b.created_at
    ), batches as materialized (select * from ended union all select * from shortened
    ), told as (
      insert into webhook_runs (project_id, endpoint_id, first_id, id, type, message_ids, after_ms, statuses, durations_ms, created_at)
      select ${projectId}, ${id}, ids[1], ids[cardinality(ids)], type, ids, "afterMs", statuses, "durationsMs", created_at
      from (
        select coalesce(g.told, b.message_ids) as ids, b.type, b.created_at, g."afterMs", g.statuses, g."durationsMs"
        from batches b join given g on g.id = b.id where g."afterMs" <> '{}'
      ) as run
    ), failed as (
      insert into webhook_deliveries (project_id, id, endpoint_id, message_id, type, status, tries, attempts, due_at, created_at)
      select ${projectId}, r.id, ${id}, r."messageId", b.type, ${STATUS}, 1, jsonb_build_array(r.attempt), ${DUE_AT}, b.created_at
      from jsonb_to_recordset(${JSON.stringify(misses)}::jsonb) as r("batchId" uuid, id uuid, "messageId" uuid, attempt jsonb, "waitMs" float8)
        join batches b on b.id = r."batchId"
      on conflict do nothing
    ), counted as (
      insert into webhook_hours as h (project_id, endpoint_id, hour, succeeded, failed, duration_ms)
      select ${projectId}, ${id}, date_trunc('hour', now(), 'UTC'), ${succeeded}::int, ${failed.length}::int, ${durationMs}::bigint
      where ${answered.length > 0}::boolean
      on conflict (project_id, endpoint_id, hour) do update set succeeded = h.succeeded + excluded.succeeded,
        failed = h.failed + excluded.failed, duration_ms = h.duration_ms + excluded.duration_ms
    )
    update webhook_endpoints set
      -- Another worker may have taken over.
      leased_until = case when date_trunc('milliseconds', leased_until) = ${leasedUntil} then null else leased_until end,
      failing_since = case when ${succeeded > 0}::boolean then null when ${answered.length > 0}::boolean then coalesce(failing_since, now())
        else failing_since end
    where project_id = ${projectId} and id = ${id}
    returning ${answered.length > 0}::boolean and failing_since < now() - interval '5 days' as "isDead"
  `,
  )
  const gone = failed.some(isGone)
  if (endpoint && (gone || endpoint.isDead)) await switchOff(tx, accountEmails, { projectId, id }, gone ? 'gone' : 'failing')
}

/** Attempts that are kept: several replays. */
const withAttempt = sql.raw(`jsonb_path_query_array(d.attempts || r.attempt, '$[last - 49 to last]')`)
/** Of a result `r` that is a failure. */
const STATUS = sql.raw(`case when r."waitMs" is null then 'failed' else 'pending' end`)
const DUE_AT = sql.raw(`now() + make_interval(secs => coalesce(r."waitMs", 0) / 1000)`)
