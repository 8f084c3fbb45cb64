import type { z } from 'zod'
import type { AccountEmailDeps } from '../account-emails/account-email.ts'
import { type Pool, transact } from '../db/index.ts'
import type { LoopDeps } from '../ledger/project-loop.ts'
import { createCache } from '../lib/collections/cache.ts'
import { crash } from '../lib/crash-point.ts'
import { createSafeSession, type SafeFetch, type SafeOutcome } from '../lib/network/safe-fetch.ts'
import { isTracing, recordEmailStep } from '../lib/process/tracing.ts'
import type { Secrets } from '../lib/secrets.ts'
import { SECOND } from '../lib/text/units.ts'
import { CALL_TIMEOUT_MS, hasHung, MAX_OF_HOST, startCalls } from '../webhooks/calls.ts'
import { createWebhookSigner, openSecrets, type WebhookSigner } from '../webhooks/sign.ts'
import {
  type DueDelivery,
  type DueEndpoint,
  deliveriesOf,
  findDueEndpoints,
  type LeasedEndpoint,
  leaseEndpoints,
  readDueWork,
} from './due-deliveries.ts'
import { createMessageBodies } from './message-bodies.ts'
import { payloadOf, type WebhookPayload } from './payload.ts'
import { type Attempted, settleDeliveries } from './settle-deliveries.ts'

type Deps = LoopDeps & { db: Pool; secrets: Secrets; safeFetch: SafeFetch; accountEmails: AccountEmailDeps; pollMs?: number | undefined }

/** Deliveries that are read, made and settled together. */
const BATCH = 500
/** No request starts later than this in a batch: with the longest request, it ends within the lease. */
const BATCH_MS = 10 * SECOND
/** Endpoints of which it is remembered that they timed out. */
const MAX_SLOW = 10_000

/** Makes the requests of webhook endpoints. One worker at a time works on an endpoint, on up to eight requests at once. */
export function startDeliveries({ db, secrets, log, isHeld, safeFetch, accountEmails, pollMs, isDue }: Deps) {
  const slow = createCache<string, true>({ maxEntries: MAX_SLOW })
  const bodies = createMessageBodies(db)
  let stopped = false

  async function deliver(endpoint: LeasedEndpoint) {
    const limit = slow.has(endpoint.id) ? 1 : BATCH
    const works = await readDueWork(db, endpoint, limit)
    const due = works.flatMap((work) => deliveriesOf(endpoint.id, work))
    const attempted = await attempt(endpoint, due.slice(0, limit))
    crash('delivery-answered')
    await transact(db, (tx) => settleDeliveries(tx, accountEmails, endpoint, attempted))
    const hung = attempted.some(({ outcome }) => outcome && hasHung(outcome))
    if (hung) slow.set(endpoint.id, true)
    else if (attempted.length) slow.delete(endpoint.id)
    if (hung) return 'timed_out'
    return due.length >= limit || attempted.length < due.length ? 'more' : 'done'
  }

  /** Returns those that were tried. */
  async function attempt(endpoint: LeasedEndpoint, due: DueDelivery[]): Promise<Attempted[]> {
    const uncopied = due.flatMap(({ messageId, work }) => (work.copy ? [] : [messageId]))
    const read = uncopied.length ? await bodies.read(endpoint.projectId, uncopied) : new Map<string, Buffer | null>()
    const bodyOf = ({ messageId, work: { copy } }: DueDelivery) =>
      copy ? Buffer.from(JSON.stringify(payloadOf(endpoint.projectId, copy))) : read.get(messageId)!
    const readable = due.filter(({ messageId, work }) => work.copy || read.has(messageId))
    const sign = createWebhookSigner(openSecrets(secrets, endpoint))
    const session = createSafeSession()
    const send: Send = async (each, at) => {
      const body = bodyOf(each)
      if (!body) return each.work.tries === null ? undefined : NO_PAYLOAD
      const headers = headersOf(sign, { id: each.id, at, body })
      const startedAt = Date.now()
      const request = { url: endpoint.url, method: 'POST', headers, body, timeoutMs: CALL_TIMEOUT_MS, mayRepeat: true }
      const outcome = await safeFetch(request, session)
      if (isTracing()) traceDelivery(endpoint, body, outcome, startedAt)
      return outcome
    }
    return makeRequests(readable, send, () => stopped || !isHeld())
  }

  const loop = startCalls<DueEndpoint, LeasedEndpoint>({
    name: 'deliver webhooks',
    log,
    isHeld,
    pollMs,
    isDue,
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

/** In the trace of the email that it is about, else in one of what happened. */
function traceDelivery({ projectId, id }: LeasedEndpoint, body: Buffer, outcome: SafeOutcome, startedAt: number) {
  const { type, data } = JSON.parse(body.toString()) as z.output<typeof WebhookPayload>
  recordEmailStep(data.emailId ?? data.id, {
    name: 'webhook delivery',
    kind: 'client',
    startedAt,
    isError: outcome.is !== 'status' || outcome.status >= 300,
    attributes: {
      'sterna.project_id': projectId,
      'sterna.endpoint_id': id,
      'sterna.webhook_type': type,
      'http.response.status_code': outcome.is === 'status' ? outcome.status : undefined,
    },
  })
}

const NO_PAYLOAD: SafeOutcome = { is: 'refused', reason: 'The payload is no longer kept.', ms: 0 }

/** Of a signed request. */
export const headersOf = (sign: WebhookSigner, message: Parameters<WebhookSigner>[0]) => ({
  'content-type': 'application/json',
  'user-agent': 'Sterna-Webhooks',
  ...sign(message),
})

type Send = (due: DueDelivery, at: Date) => Promise<SafeOutcome | undefined>

/** Up to eight at a time. After one that hung none is started: the others would hang too, and hold the slot of this endpoint for long. */
async function makeRequests(due: DueDelivery[], send: Send, isStopped: () => boolean): Promise<Attempted[]> {
  const began = performance.now()
  const attempted: Attempted[] = []
  let next = 0
  let hung = false
  const sendInTurn = async () => {
    for (let elapsed = 0; !hung && !isStopped() && elapsed <= BATCH_MS; elapsed = performance.now() - began) {
      const each = due[next++]
      if (!each) return
      const at = new Date(each.work.now.getTime() + (performance.now() - began))
      const outcome = await send(each, at)
      hung ||= outcome !== undefined && hasHung(outcome)
      attempted.push({ due: each, outcome, at })
    }
  }
  await Promise.all(Array.from({ length: MAX_OF_HOST }, sendInTurn))
  return attempted
}
