import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { countAffected, many, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { GivenTime } from '../http/validate.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { advanceJob, completeJob, failJob, type JobId, lockJob, queueJob } from '../jobs/job.ts'
import { invalid } from '../lib/errors.ts'
import { lowestId } from '../lib/id.ts'
import { DELIVERY_STATUSES } from './deliveries.ts'
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

type Delivery = { projectId: string; endpointId: string; id: string }

/** Makes a delivery again, with the same id. One that waits is due now. False if it does not exist. */
export async function replayDelivery(tx: Tx, { projectId, endpointId, id }: Delivery) {
  const which = sql`project_id = ${projectId} and endpoint_id = ${endpointId} and id = ${id}`
  const again = await countAffected(tx)`
    update webhook_deliveries set status = 'pending', tries = 0, due_at = now() where ${which}
  `
  return again > 0 || (await replayDelivered(tx, which)).length > 0
}

/** Moves deliveries that succeeded back to those under way. Returns their ids. */
const replayDelivered = (tx: Tx, which: RawBuilder<unknown>) => many<{ id: string }>(tx)`
  with moved as (
    delete from webhook_delivered where (project_id, id, delivered_at) in (
      select project_id, id, delivered_at from webhook_delivered where ${which} order by id limit ${CHUNK})
    returning project_id, id, endpoint_id, message_id, type, attempts, payload, created_at
  ), stored as (
    insert into webhook_deliveries (project_id, id, endpoint_id, message_id, type, attempts, payload, created_at)
    select * from moved on conflict do nothing
  )
  select id from moved order by id`

const replayFailed = (tx: Tx, which: RawBuilder<unknown>) => many<{ id: string }>(tx)`
  with chosen as materialized (
    select project_id, id from webhook_deliveries where ${which} and status = 'failed' order by id limit ${CHUNK} for update
  ), again as (
    update webhook_deliveries d set status = 'pending', tries = 0, due_at = now()
    from chosen c where d.project_id = c.project_id and d.id = c.id returning d.id
  )
  select id from again order by id`

type Input = { endpointId: string; from: string; to: string; before: string; statuses: ('failed' | 'delivered')[] }
type Position = { part: number; after: string | null }

export async function queueReplay(tx: Tx, { projectId, id }: EndpointKey, { from, to, status }: z.output<typeof ReplayBody>) {
  const { now } = (await maybeOne<{ now: Date }>(tx)`select now() as now`)!
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
    const { endpointId, from, to, before, statuses } = taken.input
    const { part, after } = taken.position ?? { part: 0, after: null }
    const isEnabled = await maybeOne(tx)`
      select 1 from webhook_endpoints where project_id = ${job.projectId} and id = ${endpointId} and enabled
    `
    if (!isEnabled) return failJob(tx, job, 'The endpoint is disabled or was deleted.')
    const which = sql`project_id = ${job.projectId} and endpoint_id = ${endpointId} and id >= ${after ?? from} and id < ${to}`
    const page =
      statuses[part] === 'failed' ? await replayFailed(tx, which) : await replayDelivered(tx, sql`${which} and delivered_at <= ${before}`)
    const result = { replayedCount: Number(taken.result?.replayedCount ?? 0) + page.length }
    const next: Position = page.length < CHUNK ? { part: part + 1, after: null } : { part, after: page.at(-1)!.id }
    if (next.part === statuses.length) return completeJob(tx, job, result)
    await advanceJob(tx, job, { position: next, result, progress: (next.part / statuses.length) * 100 })
    await enqueue(tx, 'webhooks.replay', job)
  })
