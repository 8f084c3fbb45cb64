import { sql } from 'kysely'
import { type Db, many, maybeOne, maybeScalar, type Pool, scalar, type Tx, transact } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { isWiped } from '../../ledger/ledger-sql.ts'
import { inTurnSql } from '../../ledger/owner-sql.ts'
import type { LoopDeps } from '../../ledger/project-loop.ts'
import { skipScanCte } from '../../ledger/skip-scan.ts'
import { crash } from '../../lib/crash-point.ts'
import type { WaitingWork } from '../../lib/fair/work-slots.ts'
import type { SafeFetch } from '../../lib/network/safe-fetch.ts'
import { createRareWarning } from '../../lib/process/rare-warning.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { runsSince } from '../../nodes/sending-hold.ts'
import { CALL_TIMEOUT_MS, hasHung, LEASE_SECONDS, MAX_OF_HOST, startCalls } from '../../webhooks/calls.ts'
import { signWebhook } from '../../webhooks/sign.ts'
import { type Claimed, RUNNING_COLUMNS, withGraphs } from '../executions/advance.ts'
import { notifyDue } from '../executions/enrol.ts'
import { type ActiveExecution, applyOutcomes } from '../executions/transition.ts'
import type { Running } from '../steps/step.ts'
import { decideWebhook, type WebhookAnswer } from '../steps/webhook.ts'
import { buildWebhookRequest, readWebhookContact, type WebhookConfig } from '../steps/webhook-request.ts'
import { getWebhookSecret } from './webhook-secret.ts'

type Deps = LoopDeps & { db: Pool; secrets: Secrets; safeFetch: SafeFetch; pollMs?: number }

type DueHost = WaitingWork & { host: string }
type AtWebhook = ActiveExecution & Running<WebhookConfig>
type Leased = Claimed & DueHost & { leasedUntil: Date }

/** Makes the requests of WEBHOOK steps, one of a host at a time. Every attempt has the same `webhook-id`. */
export function startWebhooks({ db, secrets, log, isHeld, safeFetch, pollMs, isDue }: Deps) {
  const warn = createRareWarning(log)

  /** A host whose last request timed out gets one at a time, until it answers. */
  async function request({ key: _key, owner: _owner, projectId, host: _host, leasedUntil, ...claimed }: Leased) {
    const [active] = await withGraphs(db, projectId, [claimed])
    // Only WEBHOOK steps have a host.
    const execution = active as AtWebhook
    const result = await attempt(projectId, execution).catch((err): WebhookAnswer => {
      warn({ err, projectId, executionId: execution.id }, 'could not make a webhook request; retrying')
      return { is: 'failed', reason: 'The request could not be made.', ms: 0 }
    })
    crash('webhook-answered')
    await transact(db, (tx) => settle(tx, projectId, { execution, leasedUntil, result })).catch((err) =>
      warn({ err, projectId, executionId: execution.id }, 'could not settle a webhook request; retrying'),
    )
    return result.is !== 'gone' && hasHung(result) ? 'timed_out' : 'done'
  }

  async function attempt(projectId: string, execution: AtWebhook): Promise<WebhookAnswer> {
    const contact = await readWebhookContact(db, projectId, execution.contactId)
    const workflow = await readWorkflowName(db, projectId, execution.workflowId)
    if (!contact || !workflow) return { is: 'gone' }
    const built = await buildWebhookRequest({ ...execution, config: execution.step.config, contact, workflow, projectId })
    if ('problem' in built) return { is: 'refused', reason: built.problem, ms: 0 }
    const now = await scalar<Date>(db)`select clock_timestamp()`
    const id = `msg_${execution.id}_${execution.visits}`
    const signature = signWebhook(await getWebhookSecret(db, secrets, projectId), { id, at: now, body: built.body ?? '' })
    return safeFetch({ ...built, headers: { ...built.headers, ...signature }, timeoutMs: CALL_TIMEOUT_MS, mayRepeat: true })
  }

  return startCalls<DueHost, Leased>({
    name: 'call webhooks',
    log,
    isHeld,
    pollMs,
    isDue,
    maxOfKey: MAX_OF_HOST,
    find: (except) => findDueHosts(db, except),
    take: (hosts) => transact(db, (tx) => leaseWebhooks(tx, hosts)),
    work: request,
  })
}

/** Project and host, as keys of the loop and of exceptions. */
const HOST_KEY = sql.raw(`project_id || ' ' || webhook_host`)

/**
 * Hosts of projects with requests that are due. A skip scan: a host with many requests hides no other. One request of each host at a time
 * is taken, so that hosts take turns.
 */
function findDueHosts(db: Db, except: string[]): Promise<DueHost[]> {
  const due = sql`
    select h.project_id, h.webhook_host, h.due_at from hosts h join projects p on p.id = h.project_id
    where h.due_at <= now() and not p.disabled and p.deleted_at is null and not ${isWiped(sql`p.id`)}
      and ${HOST_KEY} <> all(${except}::text[])`
  return many<DueHost>(db)`
    with recursive ${skipScanCte('hosts', {
      table: 'workflow_executions',
      by: ['project_id', 'webhook_host'],
      columns: [sql`due_at`],
      order: ['project_id', 'webhook_host', 'due_at'],
      where: sql`webhook_host is not null and ${runsSince(sql`created_at`)}`,
    })}
    select project_id as "projectId", webhook_host as host, owner, ${HOST_KEY} as key from (${inTurnSql(due)}) as found
  `
}

/** One request of each host; none of a host whose requests other workers have taken. */
async function leaseWebhooks(tx: Tx, hosts: DueHost[]): Promise<Leased[]> {
  return many<Leased>(tx)`
    with chosen as materialized (
      select mine.*, h.owner, h.key
      from ${recordset('workflow_executions', hosts, ['projectId'], { host: 'text', owner: 'text', key: 'text' })} as h cross join lateral (
        select project_id, id from workflow_executions
        where project_id = h."projectId" and webhook_host = h.host and due_at <= now() and ${runsSince(sql`created_at`)}
        order by due_at limit 1 for update skip locked
      ) as mine
    )
    update workflow_executions e set due_at = now() + make_interval(secs => ${LEASE_SECONDS}), updated_at = now()
    from chosen c where e.project_id = c.project_id and e.id = c.id
    returning ${RUNNING_COLUMNS}, e.project_id as "projectId", e.webhook_host as host, e.due_at as "leasedUntil", c.owner, c.key
  `
}

const readWorkflowName = (db: Db, projectId: string, id: string) =>
  maybeOne<{ id: string; name: string }>(db)`select id, name from workflows where project_id = ${projectId} and id = ${id}`

type Settled = { execution: AtWebhook; leasedUntil: Date; result: WebhookAnswer }

/** Only while the lease is ours and the execution is still at the step: it may have been cancelled, or taken over. */
async function settle(tx: Tx, projectId: string, { execution, leasedUntil, result }: Settled) {
  const now = await maybeScalar<Date>(tx)`
    select now() from workflow_executions
    where project_id = ${projectId} and id = ${execution.id} and visits = ${execution.visits} and webhook_host is not null
      and date_trunc('milliseconds', due_at) = ${leasedUntil}
    for update
  `
  if (!now) return
  const outcome = decideWebhook(execution, result, now)
  await applyOutcomes(tx, { projectId, now, isLast: true }, [{ execution, outcome }])
  if (outcome.is !== 'wait') await notifyDue(tx)
}
