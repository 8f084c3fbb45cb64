import { sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, maybeOne } from '../db/index.ts'
import { wipeRows } from '../db/wipe-rows.ts'
import { CursorQuery, readKeysetPage } from '../http/core/paging.ts'
import { Timestamp } from '../http/core/validate.ts'
import type { Secrets } from '../lib/secrets.ts'
import type { Wiper } from '../projects/wipe.ts'
import { deliveryIdOf } from './delivery-id.ts'
import type { EndpointKey } from './endpoint.ts'
import { MESSAGE_JSON, payloadOf, type WebhookMessage, WebhookPayload } from './payload.ts'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const

export const WebhookDelivery = z
  .object({
    id: z.uuid().describe('The `webhook-id` of every attempt.'),
    type: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    attempts: z
      .array(
        z.object({
          at: Timestamp,
          status: z.int().nullable().describe('The HTTP status of the reply; null if there was no reply.'),
          durationMs: z.int(),
          error: z.string().nullable(),
        }),
      )
      .describe('The oldest first; at most 50.'),
    nextAttemptAt: Timestamp.nullable(),
    payload: WebhookPayload.nullable().describe('Null if it is no longer kept.'),
    createdAt: Timestamp,
  })
  .meta({ id: 'WebhookDelivery' })
type DeliveryView = z.output<typeof WebhookDelivery>

export const DeliveriesQuery = CursorQuery.extend({
  status: z.enum(DELIVERY_STATUSES).optional(),
  type: z.string().max(300).optional(),
})

type Row = Omit<DeliveryView, 'payload'> & { projectId: string; batchId: string; messageId: string; message: WebhookMessage | null }

/** The message of the delivery `d`, joined as `m`: its own copy, once it has one. */
const MESSAGE_OF_DELIVERY = sql.raw(`coalesce(d.payload, case when m.id is not null then ${MESSAGE_JSON} end)`)

/** SQL: the messages of a run, and the first attempt of each. */
export const RUN_ITEMS = sql.raw(`unnest(message_ids, after_ms, statuses, durations_ms) as i(message_id, began_ms, reply, duration_ms)`)

/** SQL: that attempt as it is shown, by the columns of an alias. */
export const toldAttempts = (item: string) =>
  sql.raw(`jsonb_build_array(jsonb_build_object(
    'at', to_char((${item}.created_at + make_interval(secs => ${item}.began_ms / 1000.0)) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'status', ${item}.reply, 'durationMs', ${item}.duration_ms, 'error', null))`)

/**
 * The four places of deliveries: under way or failed, succeeded at a later attempt, first attempts that are due, and those that succeeded.
 * The last two are batches of messages. All are listed in the order of (batch_id, message_id); a delivery with a row of its own is a batch.
 */
const PLACES = {
  open: {
    table: 'webhook_deliveries',
    columns: sql`id as own_id, message_id, status, attempts, case when status = 'pending' then due_at end as next_attempt_at, payload`,
  },
  delivered: {
    table: 'webhook_delivered',
    columns: sql`id as own_id, message_id, 'delivered' as status, attempts, null::timestamptz as next_attempt_at, payload`,
  },
  due: {
    table: 'webhook_batches',
    columns: sql`null::uuid as own_id, message_id, 'pending' as status, '[]'::jsonb as attempts, created_at as next_attempt_at, null::jsonb as payload`,
    items: sql`unnest(message_ids) as i(message_id)`,
  },
  told: {
    table: 'webhook_runs',
    columns: sql`null::uuid as own_id, message_id, 'delivered' as status, null::jsonb as attempts, null::timestamptz as next_attempt_at, null::jsonb as payload`,
    items: RUN_ITEMS,
  },
} as const
type Place = keyof typeof PLACES
const PLACES_OF: Record<DeliveryView['status'], Place[]> = { pending: ['open', 'due'], delivered: ['delivered', 'told'], failed: ['open'] }

type Which = { endpoint: EndpointKey; type?: string | undefined; status?: DeliveryView['status'] | undefined }
type Page = Which & {
  /** One delivery: its id, by which it is found if it has a row of its own, and its message. */
  only?: { id: string; messageId: string }
  /** Batch and message of the last delivery of the page before. */
  after?: [batchId: string, messageId: string] | undefined
  limit: number
}

const placesOf = ({ status }: Which) => (status ? PLACES_OF[status] : (Object.keys(PLACES) as Place[]))

const whichSql = (place: Place, { endpoint, type, status }: Which) => sql`
  project_id = ${endpoint.projectId} and endpoint_id = ${endpoint.id} ${type === undefined ? sql`` : sql`and type = ${type}`}
  ${place === 'open' && status ? sql`and status = ${status}` : sql``}`

function placeSql(place: Place, page: Page) {
  const { table, columns, ...batch } = PLACES[place]
  const { only, after, limit } = page
  const hasOne = only
    ? sql`and id >= ${only.messageId} ${place === 'told' ? sql`and first_id <= ${only.messageId}` : sql``} and message_ids @> ${[only.messageId]}::uuid[]`
    : sql``
  const isOne = only ? sql`and id = ${only.id}` : sql``
  const rows = sql`(
    select *, id as batch_id from ${sql.table(table)}
    where ${whichSql(place, page)} ${'items' in batch ? hasOne : isOne} ${after ? sql`and id <= ${after[0]}` : sql``}
      ${place === 'told' ? sql`and array_remove(message_ids, null) <> '{}'` : sql``}
    order by id desc limit ${limit}) as batch`
  const told =
    place === 'told' ? sql`began_ms, reply, duration_ms` : sql`null::int as began_ms, null::int as reply, null::int as duration_ms`
  return sql`
    select project_id, batch_id, ${columns}, ${told}, type, created_at
    from ${'items' in batch ? sql`(select batch.*, i.* from ${rows} cross join ${batch.items}) as each` : rows}
    where message_id ${only && 'items' in batch ? sql`= ${only.messageId}` : sql`is not null`}`
}

/** The first deliveries of all places, in the order of the list. Each batch has at least one, but for the one that the page before ended in. */
function deliveriesSql(page: Page) {
  const { after, limit } = page
  const places = placesOf(page).map((place) => placeSql(place, { ...page, limit: limit + 1 }))
  return sql`
    select * from (${sql.join(places, sql` union all `)}) as places
    ${after ? sql`where (batch_id, message_id) < (${after[0]}::uuid, ${after[1]}::uuid)` : sql``}
    order by batch_id desc, message_id desc limit ${limit}`
}

/** Not sorted, so that PostgreSQL stops at the limit. */
function countSql(which: Which, limit: number) {
  const places = placesOf(which).map((place) => {
    const { table, ...batch } = PLACES[place]
    const items = 'items' in batch ? sql`cross join ${batch.items}` : sql``
    return sql`(select from ${sql.table(table)} ${items} where ${whichSql(place, which)} and message_id is not null limit ${limit})`
  })
  return sql`select from (${sql.join(places, sql` union all `)}) as found limit ${limit}`
}

const shownSql = (page: Page) => sql<Row>`
  select d.project_id as "projectId", d.batch_id as "batchId", d.message_id as "messageId",
    coalesce(d.own_id, webhook_delivery_id(d.message_id, ${page.endpoint.id})) as id, d.type, d.status,
    coalesce(d.attempts, ${toldAttempts('d')}) as attempts, d.next_attempt_at as "nextAttemptAt", d.created_at as "createdAt",
    ${MESSAGE_OF_DELIVERY} as message
  from (${deliveriesSql(page)}) as d left join webhook_messages m on m.project_id = d.project_id and m.id = d.message_id
  order by d.batch_id desc, d.message_id desc`

const show = ({ message, projectId, batchId: _batch, messageId: _message, ...row }: Row): DeliveryView => ({
  ...row,
  payload: message && payloadOf(projectId, message),
})

/** Totals are exact up to this number, and stop there. */
const COUNT_UP_TO = 10_000

/** Newest first. */
export function listDeliveries(db: Db, secrets: Secrets, endpoint: EndpointKey, query: z.output<typeof DeliveriesQuery>) {
  const { status, type } = query
  return readKeysetPage(db, secrets, {
    scope: JSON.stringify(['webhook deliveries', endpoint.projectId, endpoint.id, status ?? null, type ?? null]),
    query,
    // The position is that of `positionOf`.
    select: ({ after, limit }) => shownSql({ endpoint, status, type, after: after as [string, string] | undefined, limit }),
    positionOf: (row) => [row.batchId, row.messageId],
    show,
    count: () => countRows(db, countSql({ endpoint, status, type }, COUNT_UP_TO)),
  })
}

export type DeliveryKey = { projectId: string; endpointId: string; id: string }

export async function findDelivery(db: Db, { projectId, endpointId, id }: DeliveryKey): Promise<DeliveryView | undefined> {
  const only = { id, messageId: deliveryIdOf(id, endpointId) }
  const row = await maybeOne<Row>(db, shownSql({ endpoint: { projectId, id: endpointId }, only, limit: 1 }))
  return row && show(row)
}

/** For a project reset or deletion, in this order. */
export const WEBHOOK_DELIVERY_WIPERS: Wiper[] = [
  (tx, scope) => wipeRows(tx, 'webhook_batches', scope, { key: ['endpoint_id', 'id'] }),
  (tx, scope) => wipeRows(tx, 'webhook_runs', scope, { key: ['endpoint_id', 'id', 'delivered_at'] }),
  (tx, scope) => wipeRows(tx, 'webhook_deliveries', scope),
  (tx, scope) => wipeRows(tx, 'webhook_delivered', scope),
  (tx, scope) => wipeRows(tx, 'webhook_hours', scope, { key: ['endpoint_id', 'hour'], which: sql`t.hour <= ${scope.before}::timestamptz` }),
]
