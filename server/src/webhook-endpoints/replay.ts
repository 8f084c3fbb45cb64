import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { countAffected, maybeOne, type Pool, scalar, scalars, type Tx, transact } from '../db/index.ts'
import { GivenTime } from '../http/core/validate.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { advanceJob, completeJob, failJob, type JobId, lockJob, queueJob } from '../jobs/job.ts'
import { invalid } from '../lib/errors/errors.ts'
import { lowestId } from '../lib/id.ts'
import { DELIVERY_STATUSES, type DeliveryKey, RUN_ITEMS, toldAttempts } from './deliveries.ts'
import { deliveryIdOf } from './delivery-id.ts'
import type { EndpointKey } from './endpoint.ts'

/** Deliveries of one transaction. */
const CHUNK = 1_000
const REPLAY_JOB = 'webhook-replay'

export const ReplayBody = z.object({
  from: GivenTime.describe('Deliveries of what happened from this time on.'),
  to: GivenTime.optional().describe('And up to this one; without it, up to now.'),
  status: z
    .enum(DELIVERY_STATUSES)
    .exclude(['pending'])
    .optional()
    .describe('Without it, deliveries that failed and those that succeeded.'),
})

/** Makes a delivery again, with the same id. One that waits is due now. False if it does not exist. */
export async function replayDelivery(tx: Tx, { projectId, endpointId, id }: DeliveryKey) {
  const which = sql`project_id = ${projectId} and endpoint_id = ${endpointId} and id = ${id}`
  const again = await countAffected(tx)`
    update webhook_deliveries set status = 'pending', tries = 0, due_at = now() where ${which}
  `
  if (again > 0 || (await replayDelivered(tx, which)).length > 0) return true
  const messageId = deliveryIdOf(id, endpointId)
  const endpoint = { projectId, id: endpointId }
  const ofMessage = sql`id >= ${messageId} and first_id <= ${messageId} and message_ids @> ${[messageId]}::uuid[]`
  if ((await replayRuns(tx, endpoint, ofMessage, sql`message_id = ${messageId}`)).count > 0) return true
  // Its first attempt is due.
  return scalar<boolean>(tx)`
    select exists (
      select from webhook_batches where project_id = ${projectId} and endpoint_id = ${endpointId} and message_ids @> ${[messageId]}::uuid[])
  `
}

/** Moves deliveries that succeeded back to those under way. Returns their ids. */
const replayDelivered = (tx: Tx, which: RawBuilder<unknown>) => scalars<string>(tx)`
  with moved as (
    delete from webhook_delivered where (project_id, id, delivered_at) in (
      select project_id, id, delivered_at from webhook_delivered where ${which} order by id limit ${CHUNK})
    returning project_id, id, endpoint_id, message_id, type, attempts, payload, created_at
  ), stored as (
    insert into webhook_deliveries (project_id, id, endpoint_id, message_id, type, attempts, payload, created_at)
    select * from moved on conflict do nothing
  )
  select id from moved order by id`

/** Runs of one transaction. */
const RUNS = 5

/** Takes messages out of the first runs that `which` selects, and puts them with the deliveries under way. Returns how many, and the last run. */
async function replayRuns(tx: Tx, { projectId, id }: EndpointKey, which: RawBuilder<unknown>, messages: RawBuilder<unknown>) {
  const { rows } = await sql<{ id: string; count: number }>`
    with runs as materialized (
      select * from webhook_runs where project_id = ${projectId} and endpoint_id = ${id} and ${which} order by id limit ${RUNS} for update
    ), items as materialized (
      select runs.id as run_id, delivered_at, type, created_at, i.* from runs cross join ${RUN_ITEMS} where message_id is not null and ${messages}
    ), stored as (
      insert into webhook_deliveries (project_id, id, endpoint_id, message_id, type, attempts, created_at)
      select ${projectId}, webhook_delivery_id(message_id, ${id}), ${id}, message_id, type, ${toldAttempts('items')}, created_at from items
      on conflict do nothing
    ), taken as (
      update webhook_runs r set message_ids = array(
        select case when m = any(array(select message_id from items)) then null else m end
        from unnest(r.message_ids) with ordinality as each(m, n) order by n)
      where r.project_id = ${projectId} and r.endpoint_id = ${id} and (r.id, r.delivered_at) in (select run_id, delivered_at from items)
    )
    select id, (select count(*)::int from items where run_id = runs.id) as count from runs order by id`.execute(tx)
  return { count: rows.reduce((sum, { count }) => sum + count, 0), last: rows.length === RUNS ? rows.at(-1)!.id : undefined }
}

const replayFailed = (tx: Tx, which: RawBuilder<unknown>) => scalars<string>(tx)`
  with chosen as materialized (
    select project_id, id from webhook_deliveries where ${which} and status = 'failed' order by id limit ${CHUNK} for update
  ), again as (
    update webhook_deliveries d set status = 'pending', tries = 0, due_at = now()
    from chosen c where d.project_id = c.project_id and d.id = c.id returning d.id
  )
  select id from again order by id`

type Input = { endpointId: string; from: string; to: string; before: string; statuses: ('failed' | 'delivered')[] }
type Position = { part: number; after: string | null }
/** `last`: the last one, if there may be more. */
type Replayed = { count: number; last: string | undefined }

const pageOf = (moved: string[]): Replayed => ({ count: moved.length, last: moved.length === CHUNK ? moved.at(-1) : undefined })

/** What is replayed, one after the other, page by page. `after`: the last one of the page before. */
const PARTS = {
  failed: async (tx: Tx, { projectId, id }: EndpointKey, { from, to }: Input, after: string | null) =>
    pageOf(await replayFailed(tx, sql`project_id = ${projectId} and endpoint_id = ${id} and id >= ${after ?? from} and id < ${to}`)),
  delivered: async (tx: Tx, { projectId, id }: EndpointKey, { from, to, before }: Input, after: string | null) => {
    const which = sql`project_id = ${projectId} and endpoint_id = ${id} and id >= ${after ?? from} and id < ${to} and delivered_at <= ${before}`
    return pageOf(await replayDelivered(tx, which))
  },
  told: (tx: Tx, endpoint: EndpointKey, { from, to, before }: Input, after: string | null) => {
    const which = sql`${after ? sql`id > ${after}` : sql`id >= ${from}`} and first_id < ${to} and delivered_at <= ${before}`
    return replayRuns(tx, endpoint, which, sql`message_id >= ${from} and message_id < ${to}`)
  },
} satisfies Record<string, (tx: Tx, endpoint: EndpointKey, input: Input, after: string | null) => Promise<Replayed>>
const PARTS_OF = { failed: ['failed'], delivered: ['delivered', 'told'] } as const

export async function queueReplay(tx: Tx, { projectId, id }: EndpointKey, { from, to, status }: z.output<typeof ReplayBody>) {
  const now = await scalar<Date>(tx)`select now()`
  const until = to ? new Date(to) : now
  if (until < new Date(from)) invalid('to', 'Must not be before `from`.')
  const input: Input = {
    endpointId: id,
    from: lowestId(new Date(from)),
    // The whole last millisecond.
    to: lowestId(new Date(until.getTime() + 1)),
    // What the replay itself delivers is not replayed again.
    before: now.toISOString(),
    statuses: status ? [status] : ['failed', 'delivered'],
  }
  return queueJob(tx, 'webhooks.replay', { projectId, type: REPLAY_JOB, input })
}

/** Replays one page, and enqueues the next one in the same transaction. */
export const continueReplay = (db: Pool, job: JobId) =>
  transact(db, async (tx) => {
    const taken = await lockJob<Input, Position>(tx, job)
    if (!taken) return
    const { endpointId, statuses } = taken.input
    const { part, after } = taken.position ?? { part: 0, after: null }
    const isEnabled = await maybeOne(tx)`
      select 1 from webhook_endpoints where project_id = ${job.projectId} and id = ${endpointId} and enabled
    `
    if (!isEnabled) return failJob(tx, job, 'The endpoint is disabled or was deleted.')
    const parts = statuses.flatMap((status) => PARTS_OF[status])
    const page = await PARTS[parts[part]!](tx, { projectId: job.projectId, id: endpointId }, taken.input, after)
    const result = { replayedCount: Number(taken.result?.replayedCount ?? 0) + page.count }
    const next: Position = page.last ? { part, after: page.last } : { part: part + 1, after: null }
    if (next.part === parts.length) return completeJob(tx, job, result)
    await advanceJob(tx, job, { position: next, result, progress: (next.part / parts.length) * 100 })
    await enqueue(tx, 'webhooks.replay', job)
  })
