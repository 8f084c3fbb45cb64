import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { countRows, type Db, maybeOne, type Tx } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { CursorQuery, readKeysetPage } from '../http/paging.ts'
import { Timestamp } from '../http/validate.ts'
import type { Secrets } from '../lib/secrets.ts'
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
type Filter = Omit<z.output<typeof DeliveriesQuery>, 'limit' | 'cursor'>

type Row = Omit<DeliveryView, 'payload'> & { projectId: string; message: WebhookMessage | null }

/** The message of the delivery `d`, joined as `m`: its own copy, once it has one. */
export const MESSAGE_OF_DELIVERY = sql.raw(`coalesce(d.payload, case when m.id is not null then ${MESSAGE_JSON} end)`)

const OPEN = sql`project_id, id, message_id, type, status, attempts, case when status = 'pending' then due_at end as next_attempt_at, payload, created_at`
const DONE = sql`project_id, id, message_id, type, 'delivered' as status, attempts, null::timestamptz as next_attempt_at, payload, created_at`

/** Deliveries of both tables that `which` selects, as the relation `d`, in the order of their list. */
function deliveriesSql(which: RawBuilder<unknown>, { status }: Filter, limit: RawBuilder<unknown> = sql``) {
  const open = sql`(select ${OPEN} from webhook_deliveries where ${which} ${status ? sql`and status = ${status}` : sql``} ${limit})`
  const done = sql`(select ${DONE} from webhook_delivered where ${which} ${limit})`
  if (status === 'delivered') return done
  return status ? open : sql`(${open} union all ${done})`
}

const shownSql = (deliveries: RawBuilder<unknown>) => sql<Row>`
  select d.project_id as "projectId", d.id, d.type, d.status, d.attempts, d.next_attempt_at as "nextAttemptAt", d.created_at as "createdAt",
    ${MESSAGE_OF_DELIVERY} as message
  from ${deliveries} as d left join webhook_messages m on m.project_id = d.project_id and m.id = d.message_id`

const show = ({ message, projectId, ...row }: Row): DeliveryView => ({ ...row, payload: message && payloadOf(projectId, message) })

/** Totals are exact up to this number, and stop there. */
const COUNT_UP_TO = 10_000

/** Newest first. */
export function listDeliveries(db: Db, secrets: Secrets, { projectId, id }: EndpointKey, query: z.output<typeof DeliveriesQuery>) {
  const { status, type } = query
  const which = sql`project_id = ${projectId} and endpoint_id = ${id} ${type === undefined ? sql`` : sql`and type = ${type}`}`
  return readKeysetPage(db, secrets, {
    scope: JSON.stringify(['webhook deliveries', projectId, id, status ?? null, type ?? null]),
    query,
    select: ({ after, limit }) => {
      const page = after ? sql`${which} and id < ${after[0]}` : which
      return sql`${shownSql(deliveriesSql(page, { status }, sql`order by id desc limit ${limit}`))} order by d.id desc limit ${limit}`
    },
    positionOf: (row) => [row.id],
    show,
    count: () => countRows(db, sql`select from ${deliveriesSql(which, { status }, sql`limit ${COUNT_UP_TO}`)} as d limit ${COUNT_UP_TO}`),
  })
}

type DeliveryKey = { projectId: string; endpointId: string; id: string }

export async function findDelivery(db: Db, { projectId, endpointId, id }: DeliveryKey): Promise<DeliveryView | undefined> {
  const which = sql`project_id = ${projectId} and endpoint_id = ${endpointId} and id = ${id}`
  const row = await maybeOne<Row>(db, shownSql(deliveriesSql(which, {})))
  return row && show(row)
}

export const wipeWebhookDeliveries = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'webhook_deliveries', scope)
export const wipeWebhookDelivered = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'webhook_delivered', scope)
export const wipeWebhookMessages = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'webhook_messages', scope)
export const wipeWebhookHours = (tx: Tx, scope: WipeScope) =>
  wipeRows(tx, 'webhook_hours', scope, { key: ['endpoint_id', 'hour'], which: sql`t.hour <= ${scope.before}::timestamptz` })
