import { sql } from 'kysely'
import type { AccountEmailDeps } from '../account-emails/account-email.ts'
import { type Db, many, type Pool, scalar, type Tx, transact } from '../db/index.ts'
import { auditSystem } from '../http/audit.ts'
import { skipScanCte } from '../ledger/skip-scan.ts'
import { tellOwners } from '../projects/suspensions.ts'
import { disableEndpoint, type EndpointKey } from './endpoint.ts'

/** Deliveries that may wait for one endpoint. */
const MAX_BACKLOG = 1_000_000

const WHY = {
  gone: 'it answered with status 410, which means that it is gone',
  failing: 'all requests to it failed for five days',
  backlog: 'more deliveries wait for it than are kept',
}

/** Disables an endpoint that cannot be reached, and tells the owners. */
export async function switchOff(tx: Tx, deps: AccountEmailDeps, key: EndpointKey, reason: keyof typeof WHY) {
  const { projectId, id: targetId } = key
  const url = await disableEndpoint(tx, key, reason)
  if (url === undefined) return
  const changes = [{ field: 'disabledReason', value: reason }]
  await auditSystem(tx, { projectId, action: 'webhook_endpoint.disable', targetId, targetName: new URL(url).host, changes })
  await tellOwners(tx, deps, projectId, (project) => ({
    subject: `A webhook endpoint of ${project} was disabled`,
    lines: [
      `${url} was disabled, because ${WHY[reason]}.`,
      '',
      'Once it works again, enable it. Deliveries that failed are kept for 30 days and can be replayed.',
      '',
      `See ${deps.publicUrl}/app/p/${projectId}/webhooks`,
    ],
  }))
}

/** Disables endpoints for which too many deliveries wait. */
export async function checkBacklogs(db: Pool, deps: AccountEmailDeps, max = MAX_BACKLOG) {
  for (const key of await listWaiting(db))
    if ((await countWaiting(db, key, max + 1)) > max) await transact(db, (tx) => switchOff(tx, deps, key, 'backlog'))
}

/** In one statement: after its first attempt a delivery goes from its batch to a row of its own. */
function countWaiting(db: Db, { projectId, id }: EndpointKey, upTo: number) {
  const which = sql`project_id = ${projectId} and endpoint_id = ${id}`
  return scalar<number>(db)`
    select (select count(*)::int from (select from webhook_deliveries where ${which} and status = 'pending' limit ${upTo}) as tried)
      + (select coalesce(sum(size), 0)::int from (select size from webhook_batches where ${which} limit ${upTo}) as batches)`
}

/** Enabled endpoints with deliveries that wait. */
function listWaiting(db: Db) {
  const by = ['project_id', 'endpoint_id']
  return many<EndpointKey>(db)`
    with recursive ${skipScanCte('tried', { table: 'webhook_deliveries', by, where: sql`status = 'pending'` })},
      ${skipScanCte('first', { table: 'webhook_batches', by, where: sql`true` })}
    select e.project_id as "projectId", e.id from (select * from tried union select * from first) as w
      join webhook_endpoints e on e.project_id = w.project_id and e.id = w.endpoint_id
    where e.enabled`
}
