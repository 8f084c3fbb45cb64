import type { DataPatch } from '../contacts/data.ts'
import type { Source } from '../contacts/subscription.ts'
import { mergeWanted, upsertAtOnce, upsertContacts, want } from '../contacts/upsert.ts'
import { type Pool, type Tx, transact, transactAtOnce } from '../db/index.ts'
import { mayBeOneRequest } from '../db/sql-state.ts'
import { claimKeys, explainRepeats, nameOf as keyName, lockTimeoutFor, requireKeys } from '../http/idempotency.ts'
import { type CallerProject, checkCallers, requireCallers } from '../http/key-check.ts'
import { type BatchOutcome, createBatcher } from '../lib/batch.ts'
import type { AppError } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'

export type TrackRequest = {
  project: CallerProject
  email: string
  event: string
  subscribed?: boolean | undefined
  patch: DataPatch
  source: Source
  /** Idempotency-Key */
  key?: string | undefined
  /** Bytes of the request body. */
  size: number
}
export type Tracked = { contactId: string; eventId: string; at: string }

const MB = 1024 * 1024
const REQUEST = 'POST /v1/track'

/** Many concurrent requests become one transaction: a seventh of the work of one each. */
export const createTracker = (db: Pool, { idempotencyTtlHours }: { idempotencyTtlHours: number }) =>
  createBatcher<TrackRequest, Tracked>({
    run: (batch) => trackBatch(db, batch, idempotencyTtlHours),
    mayBeOneItem: mayBeOneRequest,
    weigh: ({ size }) => size,
    maxItems: 200,
    maxWeight: 2 * MB,
    maxWaitMs: 4,
    lanes: 2,
    maxPending: 10_000,
    maxPendingWeight: 16 * MB,
  })

/**
 * In one go when nothing stands against it, and nearly always nothing does. What that refuses has not happened, and is done again
 * step by step, to tell who is refused and why. A key alone waits for its twin there.
 */
async function trackBatch(db: Pool, batch: TrackRequest[], ttlHours: number) {
  const keys = batch.filter(({ key }) => key !== undefined).map(({ project, key }) => keyName({ projectId: project.id, key: key! }))
  const isPlain = batch.every(({ subscribed }) => subscribed === undefined) && new Set(keys).size === keys.length
  if (isPlain && !(keys.length && batch.length === 1)) {
    try {
      return await trackAtOnce(db, batch)
    } catch (err) {
      if (!mayBeOneRequest(err)) throw err
    }
  }
  return transact(db, (tx) => track(tx, batch, ttlHours))
}

async function trackAtOnce(db: Pool, batch: TrackRequest[]): Promise<BatchOutcome<Tracked>[]> {
  const eventIds = batch.map(() => newId())
  const claims = batch.flatMap((tracking, index) => (tracking.key === undefined ? [] : [claimOf(tracking, eventIds[index]!)]))
  const { query, finder } = upsertAtOnce(mergeWanted(batch.map(wantContact)), {
    deeds: batch.map((tracking, index) => deedOf(tracking, eventIds[index]!)),
  })
  const callers = requireCallers(
    batch.map(({ project }) => project),
    lockTimeoutFor(batch.length),
  )
  const [[checked], rows] = claims.length
    ? await transactAtOnce(db, [callers, requireKeys(claims), query]).then(([first, , last]) => [first, last] as const)
    : await transactAtOnce(db, [callers, query])
  const find = finder(rows)
  const at = checked!.now.toISOString()
  return batch.map(({ project, email }, index) => ({ value: { contactId: find(project.id, email), eventId: eventIds[index]!, at } }))
}

/** All of them, in the order in which tables are always written: keys, contacts, events. */
async function track(tx: Tx, batch: TrackRequest[], ttlHours: number): Promise<BatchOutcome<Tracked>[]> {
  const { refusals, now } = await checkCallers(
    tx,
    batch.map(({ project }) => project),
    lockTimeoutFor(batch.length),
  )
  const calls = batch.map((tracking, index) => ({ ...tracking, eventId: newId(), refusal: refusals[index] }))
  await claimCallKeys(tx, calls, ttlHours)

  // Whoever lost its key writes nothing.
  const admitted = calls.filter(({ refusal }) => !refusal)
  const find = await upsertContacts(
    tx,
    mergeWanted(admitted.map(wantContact)),
    admitted.map((call) => deedOf(call, call.eventId)),
  )
  const contactOf = ({ project, email }: TrackRequest) => find(project.id, email).id
  const at = now.toISOString()
  return calls.map((call) =>
    call.refusal ? { error: call.refusal } : { value: { contactId: contactOf(call), eventId: call.eventId, at } },
  )
}

const wantContact = ({ project, email, subscribed, patch, source }: TrackRequest) =>
  want({ projectId: project.id, email, subscribed, subscribedIfNew: true, patch, source })

const deedOf = ({ project, email, event, patch }: TrackRequest, id: string) => ({
  projectId: project.id,
  email,
  id,
  name: event,
  data: eventData(patch),
})

/** What an event carries. Copied only where there is something to add. */
const eventData = ({ set, transient }: DataPatch) => (Object.keys(transient).length ? { ...set, ...transient } : set)

type Call = TrackRequest & { eventId: string; refusal: AppError | undefined }

async function claimCallKeys(tx: Tx, calls: Call[], ttlHours: number) {
  const keyed = calls.filter(({ key, refusal }) => key !== undefined && !refusal)
  const claimed = await claimKeys(
    tx,
    keyed.map((call) => claimOf(call, call.eventId)),
    { ttlHours, alone: calls.length === 1 },
  )
  const lost = keyed.filter((_, index) => !claimed[index])
  const refusals = await explainRepeats(
    tx,
    lost.map((call) => claimOf(call, call.eventId)),
  )
  for (const [index, call] of lost.entries()) call.refusal = refusals[index]
}

const claimOf = ({ project, key }: TrackRequest, eventId: string) => ({
  projectId: project.id,
  key: key!,
  request: REQUEST,
  result: { event: eventId },
})
