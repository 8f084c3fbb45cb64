import { type RawBuilder, sql } from 'kysely'
import { type Db, many, maybeOne, one, type Pool, type Tx, transact } from '../db/index.ts'
import { crash } from '../lib/crash-point.ts'
import type { Log } from '../lib/log.ts'
import { createRareWarning } from '../lib/rare-warning.ts'
import type { SafeFetch, SafeOutcome } from '../lib/safe-fetch.ts'
import type { Secrets } from '../lib/secrets.ts'
import { HOUR, MINUTE, SECOND } from '../lib/units.ts'
import { createWakeSignal } from '../lib/wake-signal.ts'
import { type Claimed, RUNNING_COLUMNS, withGraphs } from './advance.ts'
import { notifyDue } from './enrol.ts'
import type { StepConfigs } from './step-config.ts'
import { later, type Running, type StepOutcome } from './steps/step.ts'
import { webhookHostOf } from './steps/webhook.ts'
import { applyOutcomes } from './transition.ts'
import { buildWebhookRequest, readWebhookContact } from './webhook-request.ts'
import { getWebhookSecret, signWebhook } from './webhook-secret.ts'
import { isBeingWiped } from './wiped.ts'

type Deps = { db: Pool; secrets: Secrets; log: Log; isHeld: () => boolean; safeFetch: SafeFetch; pollMs?: number }

/** Requests of one worker at a time: altogether, of a project, and to a host of a project. */
const MAX_IN_FLIGHT = 64
const MAX_OF_PROJECT = 16
const MAX_OF_HOST = 8
const POLL_MS = 250
const TIMEOUT_MS = 10 * SECOND
/** After this time another worker takes over: longer than a request and its bookkeeping. */
const LEASE_SECONDS = 30
/** Waits before the second to the eighth attempt: together somewhat less than 24 hours. */
const WAITS_MS = [10 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 14 * HOUR]
/** Longest wait that a Retry-After header can ask for: a wrong one must not use up the whole day. */
const MAX_RETRY_AFTER_MS = HOUR

type Leased = Claimed & { projectId: string; host: string; leasedUntil: Date }

/**
 * Makes the requests of WEBHOOK steps, outside of transactions: a lease keeps other workers away, and expires if this one dies. So a request
 * is made at least once, and every attempt has the same `webhook-id`.
 */
export function startWebhooks({ db, secrets, log, isHeld, safeFetch, pollMs = POLL_MS }: Deps) {
  const warn = createRareWarning(log)
  const inFlight = new Set<Promise<void>>()
  const perProject = new Map<string, number>()
  const perHost = new Map<string, number>()
  const signal = createWakeSignal()
  let stopped = false

  async function run() {
    while (!stopped) {
      await look().catch((err) => warn({ err }, 'could not look for webhook requests; retrying'))
      await signal.wait(pollMs)
    }
  }

  async function look() {
    while (isHeld() && !stopped && inFlight.size < MAX_IN_FLIGHT) {
      const leased = await transact(db, (tx) => leaseWebhooks(tx, { perProject, perHost, free: MAX_IN_FLIGHT - inFlight.size }))
      for (const execution of leased) start(execution)
      if (!leased.length) return
    }
  }

  function start(execution: Leased) {
    const hostKey = `${execution.projectId} ${execution.host}`
    count(perProject, execution.projectId, 1)
    count(perHost, hostKey, 1)
    const work = request(execution)
      .catch((err) =>
        warn({ err, projectId: execution.projectId, execution: execution.id }, 'could not settle a webhook request; retrying'),
      )
      .finally(() => {
        inFlight.delete(work)
        count(perProject, execution.projectId, -1)
        count(perHost, hostKey, -1)
        // Another one may take its place.
        signal.wake()
      })
    inFlight.add(work)
  }

  async function request({ projectId, host: _host, leasedUntil, ...claimed }: Leased) {
    const [execution] = await withGraphs(db, projectId, [claimed])
    const result = await attempt(projectId, execution!).catch((err): Attempted => {
      warn({ err, projectId, execution: execution!.id }, 'could not make a webhook request; retrying')
      return { is: 'failed', reason: 'The request could not be made.', ms: 0 }
    })
    crash('webhook-answered')
    await transact(db, (tx) => settle(tx, projectId, { execution: execution!, leasedUntil, result }))
  }

  async function attempt(projectId: string, execution: Running): Promise<Attempted> {
    const contact = await readWebhookContact(db, projectId, execution.contactId)
    const workflow = await readWorkflowName(db, projectId, execution.workflowId)
    if (!contact || !workflow) return { is: 'gone' }
    const config = execution.step.config as StepConfigs['WEBHOOK']
    const built = await buildWebhookRequest({ ...execution, config, contact, workflow, projectId })
    if ('problem' in built) return { is: 'refused', reason: built.problem, ms: 0 }
    const { now } = await one(db, sql<{ now: Date }>`select clock_timestamp() as now`)
    const id = `msg_${execution.id}_${execution.visits}`
    const signature = signWebhook(await getWebhookSecret(db, secrets, projectId), { id, at: now, body: built.body ?? '' })
    return safeFetch({ ...built, headers: { ...built.headers, ...signature }, timeoutMs: TIMEOUT_MS })
  }

  const running = run()
  return {
    /** Starts no more, and waits for the requests under way: at most ten seconds. */
    async stop() {
      stopped = true
      signal.wake()
      await running
      await Promise.all(inFlight)
    },
  }
}

type Attempted = SafeOutcome | { is: 'gone' }

const count = (counts: Map<string, number>, key: string, by: number) => {
  const now = (counts.get(key) ?? 0) + by
  if (now) counts.set(key, now)
  else counts.delete(key)
}

type Busy = { perProject: Map<string, number>; perHost: Map<string, number>; free: number }

/**
 * At most one request of each host, so that hosts and projects take turns, within the limits that the requests under way leave. The hosts
 * are found by a skip scan: a host with many requests hides no other.
 */
async function leaseWebhooks(tx: Tx, { perProject, perHost, free }: Busy): Promise<Leased[]> {
  const next = sql`select project_id, webhook_host, due_at from workflow_executions where webhook_host is not null`
  const underWay = (counts: Map<string, number>, key: RawBuilder<unknown>) =>
    sql`coalesce((${JSON.stringify(Object.fromEntries(counts))}::jsonb ->> (${key}))::int, 0)`
  return many(
    tx,
    sql<Leased>`
      with recursive hosts as (
        (${next} order by project_id, webhook_host, due_at limit 1)
        union all
        select n.* from hosts h cross join lateral (
          ${next} and (project_id, webhook_host) > (h.project_id, h.webhook_host) order by project_id, webhook_host, due_at limit 1
        ) as n
      ), ranked as (
        select h.project_id, h.webhook_host, h.due_at, row_number() over (partition by h.project_id order by h.due_at) as rank
        from hosts h join projects p on p.id = h.project_id
        where h.due_at <= now() and not p.disabled and p.deleted_at is null and not ${isBeingWiped(sql`p.id`)}
          and ${underWay(perHost, sql`h.project_id || ' ' || h.webhook_host`)} < ${MAX_OF_HOST}
      ), due as materialized (
        select project_id, webhook_host from ranked
        where rank <= ${MAX_OF_PROJECT} - ${underWay(perProject, sql`project_id::text`)}
        order by due_at limit ${free}
      ), chosen as materialized (
        select mine.* from due d cross join lateral (
          select project_id, id from workflow_executions
          where project_id = d.project_id and webhook_host = d.webhook_host and due_at <= now()
          order by due_at limit 1 for update skip locked
        ) as mine
      )
      update workflow_executions e set due_at = now() + make_interval(secs => ${LEASE_SECONDS}), updated_at = now()
      from chosen c where e.project_id = c.project_id and e.id = c.id
      returning ${RUNNING_COLUMNS}, e.project_id as "projectId", e.webhook_host as host, e.due_at as "leasedUntil"
    `,
  )
}

const readWorkflowName = (db: Db, projectId: string, id: string) =>
  maybeOne(db, sql<{ id: string; name: string }>`select id, name from workflows where project_id = ${projectId} and id = ${id}`)

type Settled = { execution: Running; leasedUntil: Date; result: Attempted }

/** Only while the lease is ours and the execution is still at the step: it may have been cancelled, or taken over. */
async function settle(tx: Tx, projectId: string, { execution, leasedUntil, result }: Settled) {
  const held = await maybeOne(
    tx,
    sql<{ now: Date }>`
      select now() as now from workflow_executions
      where project_id = ${projectId} and id = ${execution.id} and visits = ${execution.visits} and webhook_host is not null
        and date_trunc('milliseconds', due_at) = ${leasedUntil}
      for update
    `,
  )
  if (!held) return
  const outcome = judge(execution, result, held.now)
  await applyOutcomes(tx, { projectId, now: held.now, isLast: true }, [{ execution, outcome }])
  if (outcome.is !== 'wait') await notifyDue(tx)
}

/** The output holds status and duration only: the reply could be one of our own network. */
export function judge(execution: Pick<Running, 'attempts' | 'deadlineAt' | 'step'>, result: Attempted, now: Date): StepOutcome {
  if (result.is === 'gone') return { is: 'cancelled', reason: 'contact_deleted' }
  const attempts = execution.attempts + 1
  const output = { ...(result.is === 'status' ? { status: result.status } : {}), durationMs: result.ms, attempts }
  if (result.is === 'refused') return { is: 'failed', error: result.reason, output }
  if (result.is === 'status' && result.status >= 200 && result.status < 300) return { is: 'done', output }
  const reason = result.is === 'status' ? `The host answered with status ${result.status}.` : result.reason
  const mayRetry = result.is === 'failed' || result.status === 429 || result.status >= 500
  const wait = WAITS_MS[attempts - 1]
  if (!mayRetry || wait === undefined) return { is: 'failed', error: reason, output }
  const asked = result.is === 'status' ? readRetryAfter(result.retryAfter, now) : 0
  const until = later(now, Math.max(wait, Math.min(asked, MAX_RETRY_AFTER_MS)))
  if (execution.deadlineAt && until > execution.deadlineAt) return { is: 'failed', error: reason, output }
  const webhookHost = webhookHostOf(execution.step.config as StepConfigs['WEBHOOK'])
  return { is: 'wait', as: 'WAITING', until, attempts, deadlineAt: execution.deadlineAt, webhookHost, output: { ...output, reason } }
}

/** Milliseconds. The header is a number of seconds or a date; anything else counts as absent. */
function readRetryAfter(text: string | undefined, now: Date): number {
  if (text === undefined) return 0
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND
  const ms = Date.parse(text) - now.getTime()
  return ms > 0 ? ms : 0
}
