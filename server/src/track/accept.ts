import type { DataPatch } from '../contacts/data.ts'
import type { Source } from '../contacts/subscription.ts'
import { mergeWanted, upsertContacts, want } from '../contacts/upsert.ts'
import { type Pool, type Tx, transact } from '../db/index.ts'
import { type CallerProject, checkCallers } from '../http/key-check.ts'
import { claimKeys, lockTimeoutFor } from '../http/once.ts'
import { createBatcher, type Outcome } from '../lib/batch.ts'
import type { AppError } from '../lib/errors.ts'
import { newId } from '../lib/id.ts'

export type Tracking = {
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
export type Tracked = { contactId: string; eventId: string; at: Date }

const MB = 1024 * 1024
const REQUEST = 'POST /v1/track'

/** Many concurrent requests become one transaction: a seventh of the work of one each. */
export const createTracker = (db: Pool, { idempotencyTtlHours }: { idempotencyTtlHours: number }) =>
  createBatcher<Tracking, Tracked>({
    run: (batch) => transact(db, (tx) => track(tx, batch, idempotencyTtlHours)),
    isTheirFault,
    weigh: ({ size }) => size,
    maxItems: 200,
    maxWeight: 2 * MB,
    maxWaitMs: 4,
    lanes: 2,
    maxPending: 10_000,
    maxPendingWeight: 64 * MB,
  })

/** SQLSTATE classes of bad data, constraints and sizes; a key that a twin elsewhere holds; together, the time they take. */
const isTheirFault = (err: unknown) => /^(22|23|54|55P03|57014|40)/.test((err as { code?: string }).code ?? '')

/** All of them, in the order in which tables are always written: keys, contacts, events. */
async function track(tx: Tx, batch: Tracking[], ttlHours: number): Promise<Outcome<Tracked>[]> {
  const { refusals, now } = await checkCallers(
    tx,
    batch.map(({ project }) => project),
    lockTimeoutFor(batch.length),
  )
  const calls = batch.map((tracking, index) => ({ ...tracking, eventId: newId(), refusal: refusals[index] }))
  await refuseRepeats(tx, calls, ttlHours)

  // Whoever lost its key writes nothing.
  const admitted = calls.filter(({ refusal }) => !refusal)
  const find = await upsertContacts(tx, mergeWanted(admitted.map(wantContact)), admitted.map(deedOf))
  const contactOf = ({ project, email }: Tracking) => find(project.id, email).id
  return calls.map((call) =>
    call.refusal ? { error: call.refusal } : { value: { contactId: contactOf(call), eventId: call.eventId, at: now } },
  )
}

const wantContact = ({ project, email, subscribed, patch, source }: Tracking) =>
  want({ projectId: project.id, email, subscribed, subscribedIfNew: true, patch, source })

const deedOf = ({ project, email, eventId, event, patch }: Call) => ({
  projectId: project.id,
  email,
  id: eventId,
  name: event,
  data: { ...patch.set, ...patch.transient },
})

type Call = Tracking & { eventId: string; refusal: AppError | undefined }

async function refuseRepeats(tx: Tx, calls: Call[], ttlHours: number) {
  const keyed = calls.filter(({ key, refusal }) => key !== undefined && !refusal)
  const claims = keyed.map(({ project, key, eventId }) => ({
    projectId: project.id,
    key: key!,
    request: REQUEST,
    result: { event: eventId },
  }))
  const lost = await claimKeys(tx, claims, { ttlHours, alone: calls.length === 1 })
  for (const [index, call] of keyed.entries()) call.refusal = lost[index]
}
