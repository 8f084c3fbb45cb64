import { type RawBuilder, sql } from 'kysely'
import { countAffected, maybeOne, type Pool, scalar, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { columnsSql } from '../ledger/ledger-sql.ts'
import { createRangePartition, dropTable, limitLockWait, listPartitions } from '../ledger/partitions.ts'
import { lowestId } from '../lib/id.ts'
import type { Log } from '../lib/process/log.ts'
import { DAY } from '../lib/text/units.ts'
import { MESSAGE_JSON } from './payload.ts'

/** Days that partitions are created ahead. */
const AHEAD = 3
const CHUNK = 1_000
const DELIVERED_DAYS = 3
const FAILED_DAYS = 30
/** A message is delivered within two days, kept for three, and may be replayed in them once more. */
const MESSAGE_DAYS = 8
const HOURS_DAYS = 2

/** Tables with one partition a day, and how a moment is written in their column. */
const PARTITIONED = {
  webhook_messages: { column: 'id', bound: lowestId, days: MESSAGE_DAYS },
  webhook_delivered: { column: 'delivered_at', bound: (at: Date) => at.toISOString(), days: DELIVERED_DAYS },
  webhook_runs: { column: 'delivered_at', bound: (at: Date) => at.toISOString(), days: DELIVERED_DAYS },
} as const
type Table = keyof typeof PARTITIONED

const dayAt = (now: Date, offset: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + offset))
const nameOf = (table: Table, day: Date) => `${table}_${day.toISOString().slice(0, 10).replaceAll('-', '_')}`

/** Creates the partitions of today and the next days. Safe to run on several nodes at once. */
export async function createWebhookPartitions(db: Pool, log: Log, now = new Date()) {
  for (const table of Object.keys(PARTITIONED) as Table[]) {
    const existing = await listPartitions(db, table)
    const { column, bound } = PARTITIONED[table]
    for (let offset = 0; offset < AHEAD; offset++) {
      const [first, next] = [dayAt(now, offset), dayAt(now, offset + 1)]
      const name = nameOf(table, first)
      if (existing.includes(name)) continue
      // Without a partition the rows go to the default one, which is only slower: no reason not to start.
      await transact(db, (tx) => createRangePartition(tx, { table, column, name, first: bound(first), next: bound(next) })).catch(
        (err: Error) => log.error({ reason: err.message, partition: name }, 'could not create a partition of webhooks; will retry'),
      )
    }
  }
}

/** Drops what is older than its time. Deliveries that stay get a copy of their message before it goes. */
export async function dropOldWebhooks(db: Pool, now = new Date()) {
  await untilNone(db, (tx) => dropOldFailures(tx, new Date(now.getTime() - FAILED_DAYS * DAY)))
  await transact(db, (tx) => sql`delete from webhook_hours where hour < ${new Date(now.getTime() - HOURS_DAYS * DAY)}`.execute(tx))
  await dropOldDays(db, 'webhook_delivered', now)
  await dropOldDays(db, 'webhook_runs', now)
  await dropOldDays(db, 'webhook_messages', now, async (before) => {
    await untilNone(db, (tx) => splitBatches(tx, sql`message_ids[1] < ${lowestId(before)}`))
    await untilNone(db, (tx) => copyMessages(tx, before))
  })
}

async function dropOldDays(db: Pool, table: Table, now: Date, beforeDrop: (before: Date) => Promise<void> = async () => {}) {
  const { column, bound, days } = PARTITIONED[table]
  const kept = dayAt(now, -days)
  const old = (await listPartitions(db, table)).filter((name) => /_\d{4}_\d\d_\d\d$/.test(name) && name < nameOf(table, kept))
  const strays = sql`${sql.ref(column)} < ${bound(kept)}`
  if (old.length || (await hasStrays(db, table, strays))) await beforeDrop(kept)
  for (const name of old)
    await transact(db, async (tx) => {
      await limitLockWait(tx)
      await dropTable(tx, name)
    })
  await untilNone(db, (tx) => dropStrays(tx, table, strays))
}

const hasStrays = (db: Pool, table: Table, which: RawBuilder<unknown>) =>
  maybeOne(db)`select from ${sql.table(`${table}_default`)} where ${which} limit 1`

const dropStrays = (tx: Tx, table: Table, which: RawBuilder<unknown>) => countAffected(tx)`
  delete from ${sql.table(`${table}_default`)}
  where ctid = any(array(select ctid from ${sql.table(`${table}_default`)} where ${which} limit ${CHUNK}))`

/** Batches of one transaction. */
const BATCHES = 5

/** Gives deliveries whose first attempt is due rows of their own. Returns the number of batches. */
const splitBatches = (tx: Tx, which: RawBuilder<unknown>) => scalar<number>(tx)`
  with taken as (
    delete from webhook_batches where (project_id, endpoint_id, id) in (
      select project_id, endpoint_id, id from webhook_batches where ${which} limit ${BATCHES} for update)
    returning *
  ), stored as (
    insert into webhook_deliveries (project_id, id, endpoint_id, message_id, type, due_at, created_at)
    select project_id, webhook_delivery_id(message_id, endpoint_id), endpoint_id, message_id, type, created_at, created_at
    from taken cross join unnest(message_ids) as message_id on conflict do nothing
  )
  select count(*)::int from taken`

/** A delivery has the time of its message in its id. A message that is gone is a copy of null. */
const copyMessages = (tx: Tx, before: Date) => countAffected(tx)`
  update webhook_deliveries d set payload = coalesce((
    select ${sql.raw(MESSAGE_JSON)} from webhook_messages m where m.project_id = d.project_id and m.id = d.message_id), 'null')
  where (d.project_id, d.id) in (
    select t.project_id, t.id from projects p cross join lateral (
      select project_id, id from webhook_deliveries where project_id = p.id and id < ${lowestId(before)} and payload is null limit ${CHUNK}
    ) as t limit ${CHUNK})`

/** Also what still waits: no endpoint listens to it any more. */
const dropOldFailures = (tx: Tx, before: Date) => countAffected(tx)`
  delete from webhook_deliveries where (project_id, id) in (
    select t.project_id, t.id from projects p cross join lateral (
      select project_id, id from webhook_deliveries where project_id = p.id and id < ${lowestId(before)} limit ${CHUNK}
    ) as t limit ${CHUNK})`

type Endpoint = { projectId: string; endpointId: string }

/** Tables of deliveries, with their primary keys. */
const DELIVERY_KEYS = {
  webhook_deliveries: ['project_id', 'id'],
  webhook_delivered: ['project_id', 'id', 'delivered_at'],
  webhook_batches: ['project_id', 'endpoint_id', 'id'],
  webhook_runs: ['project_id', 'endpoint_id', 'id', 'delivered_at'],
}

/** Removes deliveries of a deleted endpoint, page by page. */
export const forgetEndpoint = (db: Pool, { projectId, endpointId }: Endpoint) =>
  transact(db, async (tx) => {
    let removed = 0
    for (const [table, key] of Object.entries(DELIVERY_KEYS))
      removed += await countAffected(tx)`
        delete from ${sql.table(table)} where (${columnsSql(key)}) in (
          select ${columnsSql(key)} from ${sql.table(table)} where project_id = ${projectId} and endpoint_id = ${endpointId} limit ${CHUNK})`
    await sql`delete from webhook_hours where project_id = ${projectId} and endpoint_id = ${endpointId}`.execute(tx)
    if (removed) await enqueue(tx, 'webhooks.forget', { projectId, endpointId })
  })

const ABANDONED = JSON.stringify({ status: null, durationMs: 0, error: 'The endpoint was disabled.' })

/** Ends what waits for an endpoint that Sterna has disabled, page by page. */
export const abandonDeliveries = (db: Pool, { projectId, endpointId }: Endpoint) =>
  transact(db, async (tx) => {
    const which = sql`project_id = ${projectId} and endpoint_id = ${endpointId}
      and exists (select from webhook_endpoints e where e.project_id = ${projectId} and e.id = ${endpointId} and not e.enabled)`
    const split = await splitBatches(tx, which)
    const ended = await countAffected(tx)`
      update webhook_deliveries d set status = 'failed',
        attempts = attempts || (${ABANDONED}::jsonb || jsonb_build_object('at', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
      where (project_id, id) in (
        select project_id, id from webhook_deliveries where ${which} and status = 'pending' limit ${CHUNK})`
    if (split + ended) await enqueue(tx, 'webhooks.abandon', { projectId, endpointId })
  })

async function untilNone(db: Pool, remove: (tx: Tx) => Promise<number>) {
  while ((await transact(db, remove)) > 0);
}
