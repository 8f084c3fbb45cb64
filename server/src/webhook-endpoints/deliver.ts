import { sql } from 'kysely'
import type { AccountEmailDeps } from '../account-emails/account-email.ts'
import { type Db, many, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { inTurnSql } from '../ledger/owner-sql.ts'
import { skipScanCte } from '../ledger/skip-scan.ts'
import type { WaitingWork } from '../ledger/turns.ts'
import { createCache } from '../lib/cache.ts'
import { crash } from '../lib/crash-point.ts'
import type { Log } from '../lib/log.ts'
import { createSafeSession, type SafeFetch, type SafeOutcome, type SafeSession } from '../lib/network/safe-fetch.ts'
import type { Secrets } from '../lib/secrets.ts'
import { HOUR, MINUTE, SECOND } from '../lib/text/units.ts'
import { CALL_TIMEOUT_MS, hasHung, LEASE_SECONDS, MAX_OF_HOST, startCalls } from '../webhooks/calls.ts'
import { hasSucceeded, reasonOf, waitAfter } from '../webhooks/retry.ts'
import { type SigningSecrets, signWebhook } from '../webhooks/sign.ts'
import { isBeingWiped } from '../workflows/executions/wiped.ts'
import { MESSAGE_OF_DELIVERY } from './deliveries.ts'
import { type EndpointRow, openSecrets, SECRET_COLUMNS } from './endpoint.ts'
import { payloadOf, type WebhookMessage } from './payload.ts'
import { switchOff } from './switch-off.ts'

type Deps = {
  db: Pool
  secrets: Secrets
  log: Log
  isHeld: () => boolean
  safeFetch: SafeFetch
  accountEmails: AccountEmailDeps
  pollMs?: number | undefined
}

/** Waits before the second to the eighth attempt. */
const WAITS_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]
/** Deliveries that are read, made and settled together. */
const BATCH = 64
/** No request starts later than this in a batch: with the longest request, it ends within the lease. */
const BATCH_MS = 10 * SECOND
/** Endpoints of which it is remembered that they timed out. */
const MAX_SLOW = 10_000

type DueEndpoint = WaitingWork & { id: string }
type Leased = DueEndpoint & Pick<EndpointRow, 'url' | 'secret' | 'previous'> & { leasedUntil: Date }
type Due = { id: string; tries: number; now: Date; message: WebhookMessage | null }
type Result = { due: Due; outcome: SafeOutcome; at: Date }

/** Makes the requests of webhook endpoints. One worker at a time works on an endpoint, on up to eight requests at once. */
export function startDeliveries({ db, secrets, log, isHeld, safeFetch, accountEmails, pollMs }: Deps) {
  const slow = createCache<string, true>({ maxEntries: MAX_SLOW })
  let stopped = false

  async function deliver(endpoint: Leased) {
    const limit = slow.has(endpoint.id) ? 1 : BATCH
    const due = await readDue(db, endpoint, limit)
    const signing = openSecrets(secrets, endpoint)
    const session = createSafeSession()
    const send = (each: Due) => request(endpoint, signing, each, session)
    const results = await makeRequests(due, send, () => stopped).finally(session.close)
    crash('delivery-answered')
    await transact(db, (tx) => settle(tx, accountEmails, endpoint, results))
    const hung = results.some(({ outcome }) => hasHung(outcome))
    if (hung) slow.set(endpoint.id, true)
    else if (results.length) slow.delete(endpoint.id)
    if (hung) return 'timed_out'
    return due.length === limit ? 'more' : 'done'
  }

  async function request({ projectId, url }: Leased, signing: SigningSecrets, { id, now, message }: Due, session: SafeSession) {
    if (!message) return { is: 'refused' as const, reason: 'The payload is no longer kept.', ms: 0 }
    const body = JSON.stringify(payloadOf(projectId, message))
    const headers = { 'content-type': 'application/json', 'user-agent': USER_AGENT, ...signWebhook(signing, { id, at: now, body }) }
    return safeFetch({ url, method: 'POST', headers, body, timeoutMs: CALL_TIMEOUT_MS }, session)
  }

  const loop = startCalls<DueEndpoint, Leased>({
    name: 'deliver webhooks',
    log,
    isHeld,
    pollMs,
    find: (except) => findDueEndpoints(db, except),
    take: (endpoints) => transact(db, (tx) => leaseEndpoints(tx, endpoints)),
    work: deliver,
  })
  return {
    wake: loop.wake,
    /** Starts no more requests, and waits for those under way. The rest of their batches is due. */
    stop() {
      stopped = true
      return loop.stop()
    },
  }
}

export const USER_AGENT = 'Sterna-Webhooks'

/** Up to eight at a time. After one that hung none is started: the others would hang too, and hold the slot of this endpoint for long. */
async function makeRequests(due: Due[], send: (due: Due) => Promise<SafeOutcome>, isStopped: () => boolean): Promise<Result[]> {
  const began = performance.now()
  const results: Result[] = []
  const waiting = [...due]
  let hung = false
  const sendNext = async (): Promise<void> => {
    const elapsed = performance.now() - began
    const next = hung || isStopped() || elapsed > BATCH_MS ? undefined : waiting.shift()
    if (!next) return
    const at = new Date(next.now.getTime() + elapsed)
    const outcome = await send({ ...next, now: at })
    hung ||= hasHung(outcome)
    results.push({ due: next, outcome, at })
    return sendNext()
  }
  await Promise.all(Array.from({ length: MAX_OF_HOST }, sendNext))
  return results
}

/** Looked at first: most looks find nothing, and planning the search takes longer than this. */
const ANY_PENDING = sql`select from webhook_deliveries where status = 'pending' order by project_id, endpoint_id, due_at limit 1`

const findDueEndpoints = async (db: Db, except: string[]) => ((await maybeOne(db, ANY_PENDING)) ? many(db, dueEndpointsSql(except)) : [])

/** Endpoints with deliveries that are due. A skip scan: an endpoint with many deliveries hides no other. */
function dueEndpointsSql(except: string[]) {
  const due = sql`
    select d.project_id, d.endpoint_id, d.due_at
    from due d join webhook_endpoints e on e.project_id = d.project_id and e.id = d.endpoint_id join projects p on p.id = d.project_id
    where d.due_at <= now() and e.enabled and (e.leased_until is null or e.leased_until <= now())
      and p.deleted_at is null and not ${isBeingWiped(sql`p.id`)} and d.endpoint_id <> all(${except}::uuid[])`
  return sql<DueEndpoint>`
    with recursive ${skipScanCte('due', {
      table: 'webhook_deliveries',
      by: ['project_id', 'endpoint_id'],
      columns: [sql`due_at`],
      order: ['project_id', 'endpoint_id', 'due_at'],
      where: sql`status = 'pending'`,
    })}
    select project_id as "projectId", endpoint_id as id, endpoint_id as key, owner from (${inTurnSql(due)}) as found
  `
}

async function leaseEndpoints(tx: Tx, endpoints: DueEndpoint[]): Promise<Leased[]> {
  const chosen = endpoints.map(({ projectId, id, owner }) => ({ project_id: projectId, id, owner }))
  return many<Leased>(tx)`
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
  `
}

const readDue = (db: Db, { projectId, id }: DueEndpoint, limit: number) =>
  many<Due>(db)`
    select d.id, d.tries, clock_timestamp() as now, ${MESSAGE_OF_DELIVERY} as message
    from (
      select * from webhook_deliveries
      where project_id = ${projectId} and endpoint_id = ${id} and status = 'pending' and due_at <= now() order by due_at limit ${limit}
    ) as d left join webhook_messages m on m.project_id = d.project_id and m.id = d.message_id
  `

const GONE = 410

/** Moves what succeeded, plans the next attempts of the rest, and gives the endpoint back: one statement. */
async function settle(tx: Tx, accountEmails: AccountEmailDeps, { projectId, id, leasedUntil }: Leased, results: Result[]) {
  const rows = results.map(({ due, outcome, at }) => ({
    id: due.id,
    tries: due.tries,
    ok: hasSucceeded(outcome),
    attempt: attemptOf(outcome, at),
    waitMs: outcome.is === 'status' && outcome.status === GONE ? null : (waitAfter(WAITS_MS, due.tries + 1, outcome, at) ?? null),
  }))
  const succeeded = rows.filter(({ ok }) => ok).length
  const durationMs = results.reduce((sum, { outcome }) => sum + outcome.ms, 0)
  const endpoint = await maybeOne<{ isDead: boolean | null }>(tx)`
    with results as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(id uuid, tries int, ok boolean, attempt jsonb, "waitMs" float8)
    ), done as (
      delete from webhook_deliveries d using results r
      where d.project_id = ${projectId} and d.id = r.id and d.status = 'pending' and r.ok
      returning d.id, d.endpoint_id, d.message_id, d.type, ${withAttempt} as attempts, d.payload, d.created_at
    ), stored as (
      insert into webhook_delivered (project_id, id, endpoint_id, message_id, type, attempts, payload, created_at)
      select ${projectId}, id, endpoint_id, message_id, type, attempts, payload, created_at from done
    ), missed as (
      update webhook_deliveries d set tries = d.tries + 1, attempts = ${withAttempt},
        status = case when r."waitMs" is null then 'failed' else 'pending' end,
        due_at = now() + make_interval(secs => coalesce(r."waitMs", 0) / 1000)
      from results r
      where d.project_id = ${projectId} and d.id = r.id and d.status = 'pending' and d.tries = r.tries and not r.ok
    ), counted as (
      insert into webhook_hours as h (project_id, endpoint_id, hour, succeeded, failed, duration_ms)
      select ${projectId}, ${id}, date_trunc('hour', now(), 'UTC'), ${succeeded}, ${rows.length - succeeded}, ${durationMs} where ${rows.length > 0}
      on conflict (project_id, endpoint_id, hour) do update set succeeded = h.succeeded + excluded.succeeded,
        failed = h.failed + excluded.failed, duration_ms = h.duration_ms + excluded.duration_ms
    )
    update webhook_endpoints set
      -- Another worker may have taken over.
      leased_until = case when date_trunc('milliseconds', leased_until) = ${leasedUntil} then null else leased_until end,
      failing_since = case when ${succeeded > 0} then null when ${rows.length > 0} then coalesce(failing_since, now()) else failing_since end
    where project_id = ${projectId} and id = ${id}
    returning ${rows.length > 0} and failing_since < now() - interval '5 days' as "isDead"
  `
  const isGone = results.some(({ outcome }) => outcome.is === 'status' && outcome.status === GONE)
  if (endpoint && (isGone || endpoint.isDead)) await switchOff(tx, accountEmails, { projectId, id }, isGone ? 'gone' : 'failing')
}

/** Attempts that are kept: several replays. */
const withAttempt = sql.raw(`jsonb_path_query_array(d.attempts || r.attempt, '$[last - 49 to last]')`)

const attemptOf = (outcome: SafeOutcome, at: Date) => ({
  at: at.toISOString(),
  status: outcome.is === 'status' ? outcome.status : null,
  durationMs: outcome.ms,
  error: hasSucceeded(outcome) ? null : reasonOf(outcome),
})
