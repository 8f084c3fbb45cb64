import { sql } from 'kysely'
import type { AccountEmailDeps } from '../account-emails/account-email.ts'
import { countRows, type Db, many, type Pool, type Tx, transact } from '../db/index.ts'
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
  const disabled = await disableEndpoint(tx, key, reason)
  if (!disabled) return
  const changes = [{ field: 'disabledReason', value: reason }]
  await auditSystem(tx, {
    projectId: key.projectId,
    action: 'webhook_endpoint.disable',
    targetId: key.id,
    targetName: disabled.url,
    changes,
  })
  await tellOwners(tx, deps, key.projectId, (project) => ({
    subject: `A webhook endpoint of ${project} was disabled`,
    lines: [
      `${disabled.url} was disabled, because ${WHY[reason]}.`,
      '',
      'Once it works again, enable it. Deliveries that failed are kept for 30 days and can be replayed.',
      '',
      `See ${deps.publicUrl}/app/p/${key.projectId}/webhooks`,
    ],
  }))
}

/** Disables endpoints for which too many deliveries wait. */
export async function checkBacklogs(db: Pool, deps: AccountEmailDeps, max = MAX_BACKLOG) {
  for (const key of await listWaiting(db)) {
    const { projectId, id } = key
    const waiting = sql`
      select from webhook_deliveries where project_id = ${projectId} and endpoint_id = ${id} and status = 'pending' limit ${max + 1}`
    if ((await countRows(db, waiting)) > max) await transact(db, (tx) => switchOff(tx, deps, key, 'backlog'))
  }
}

/** Enabled endpoints with deliveries that wait. */
const listWaiting = (db: Db) => many<EndpointKey>(db)`
  with recursive ${skipScanCte('waiting', { table: 'webhook_deliveries', by: ['project_id', 'endpoint_id'], where: sql`status = 'pending'` })}
  select e.project_id as "projectId", e.id from waiting w join webhook_endpoints e on e.project_id = w.project_id and e.id = w.endpoint_id
  where e.enabled`
