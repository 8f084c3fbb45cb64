import { sql } from 'kysely'
import { type Db, many, type Tx } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { isWiped } from '../ledger/ledger-sql.ts'
import { inTurnSql } from '../ledger/owner-sql.ts'
import { skipScanCte } from '../ledger/skip-scan.ts'
import type { WaitingWork } from '../lib/fair/work-slots.ts'
import { runsFromId } from '../nodes/sending-hold.ts'
import { LEASE_SECONDS } from '../webhooks/calls.ts'
import { deliveryIdOf } from './delivery-id.ts'
import { type EndpointRow, SECRET_COLUMNS } from './endpoint.ts'
import type { WebhookMessage } from './payload.ts'

/** Batches that are read at once: a few statements serve them all. */
const MAX_BATCHES = 50

export type DueEndpoint = WaitingWork & { id: string }
export type LeasedEndpoint = DueEndpoint & Pick<EndpointRow, 'url' | 'secret' | 'previous'> & { leasedUntil: Date }

/** First attempts of several deliveries, or another attempt of one: that has `tries`, and perhaps a copy of its message. */
export type DueWork = {
  id: string
  type: string
  messageIds: string[]
  tries: number | null
  copy: WebhookMessage | null
  dueAt: Date
  createdAt: Date
  now: Date
}
export type DueDelivery = { id: string; messageId: string; work: DueWork }

/** Endpoints with deliveries that are due. Skip scans: an endpoint with many deliveries hides no other. */
export function findDueEndpoints(db: Db, except: string[]): Promise<DueEndpoint[]> {
  const due = sql`
    select d.project_id, d.endpoint_id, d.due_at
    from (
      select project_id, endpoint_id, min(due_at) as due_at from (select * from due_again union all select * from due_first) as each group by 1, 2
    ) as d join webhook_endpoints e on e.project_id = d.project_id and e.id = d.endpoint_id join projects p on p.id = d.project_id
    where d.due_at <= now() and e.enabled and (e.leased_until is null or e.leased_until <= now())
      and p.deleted_at is null and not ${isWiped(sql`p.id`)} and d.endpoint_id <> all(${except}::uuid[])`
  const by = ['project_id', 'endpoint_id']
  return many(
    db,
    prepared<DueEndpoint>`
    with recursive ${skipScanCte('due_again', {
      table: 'webhook_deliveries',
      by,
      columns: [sql`due_at`],
      order: [...by, 'due_at'],
      where: sql`status = 'pending' and ${runsFromId(sql`message_id`)}`,
    })}, ${skipScanCte('due_first', { table: 'webhook_batches', by, columns: [sql`created_at as due_at`], order: [...by, 'id'], where: runsFromId(sql`id`) })}
    select project_id as "projectId", endpoint_id as id, endpoint_id as key, owner from (${inTurnSql(due)}) as found
  `,
  )
}

export function leaseEndpoints(tx: Tx, endpoints: DueEndpoint[]): Promise<LeasedEndpoint[]> {
  const chosen = endpoints.map(({ projectId, id, owner }) => ({ project_id: projectId, id, owner }))
  return many(
    tx,
    prepared<LeasedEndpoint>`
    with chosen as materialized (
      select e.project_id, e.id, c.owner
      from jsonb_to_recordset(${JSON.stringify(chosen)}::jsonb) as c(project_id uuid, id uuid, owner text)
        join webhook_endpoints e on e.project_id = c.project_id and e.id = c.id
      where e.enabled and (e.leased_until is null or e.leased_until <= now())
      order by e.project_id, e.id for update of e skip locked
    )
    update webhook_endpoints e set leased_until = now() + make_interval(secs => ${LEASE_SECONDS})
    from chosen c where e.project_id = c.project_id and e.id = c.id
    returning e.project_id as "projectId", e.id, e.id as key, c.owner, e.url, ${SECRET_COLUMNS}, e.leased_until as "leasedUntil"
  `,
  )
}

/** Up to `limit` that were tried before, and batches until there are as many messages. The longest due first. */
export async function readDueWork(db: Db, { projectId, id }: DueEndpoint, limit: number): Promise<DueWork[]> {
  const works = await many(
    db,
    prepared<DueWork>`
    select id, type, message_ids as "messageIds", null::int as tries, null::jsonb as copy, created_at as "dueAt", created_at as "createdAt",
      clock_timestamp() as now
    from (
      select b.*, sum(size) over (order by id) - size as before from (
        select * from webhook_batches where project_id = ${projectId} and endpoint_id = ${id} and ${runsFromId(sql`id`)} order by id limit ${MAX_BATCHES}
      ) as b
    ) as summed where before < ${limit}::int
    union all (
      select id, type, array[message_id], tries, payload, due_at, created_at, clock_timestamp() from webhook_deliveries
      where project_id = ${projectId} and endpoint_id = ${id} and status = 'pending' and due_at <= now() and ${runsFromId(sql`message_id`)} order by due_at limit ${limit}
    )
  `,
  )
  return works.sort((a, b) => a.dueAt.getTime() - b.dueAt.getTime())
}

/** A delivery that has a row of its own keeps its id. */
export const deliveriesOf = (endpointId: string, work: DueWork): DueDelivery[] =>
  work.messageIds.map((messageId) => ({ id: work.tries === null ? deliveryIdOf(messageId, endpointId) : work.id, messageId, work }))
