import { CONTACT_BATCH } from '../contacts/changes/create-batch.ts'
import { mergeUpserts, toUpsert, upsertAtOnce, upsertContacts } from '../contacts/changes/upsert.ts'
import type { DataPatch } from '../contacts/record/data.ts'
import type { Source } from '../contacts/record/subscription.ts'
import type { Pool, Tx } from '../db/index.ts'
import type { CallerProject } from '../http/auth/key-check.ts'
import { type BatchCall, type Commit, createOptimisticBatch } from '../http/optimistic-batch.ts'
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
  bodyHash: string | null
  /** Bytes of the request body. */
  size: number
}
export type Tracked = { contactId: string; eventId: string; at: string }

export const createTracker = (db: Pool, { idempotencyTtlHours }: { idempotencyTtlHours: number }) =>
  createOptimisticBatch<TrackRequest, EventId, Tracked>({
    db,
    ttlHours: idempotencyTtlHours,
    endpoint: 'POST /v1/track',
    newIds: () => newId(),
    keyResult: (event) => ({ event }),
    plain: ({ subscribed }) => subscribed === undefined,
    atOnce: trackAtOnce,
    stepByStep: track,
    limits: { ...CONTACT_BATCH, maxItems: 200 },
  })

type EventId = string
type Call = BatchCall<TrackRequest, EventId>

async function trackAtOnce(calls: Call[], commit: Commit) {
  const { query, finder } = upsertAtOnce(mergeUpserts(calls.map(contactOf)), { events: calls.map(eventOf) })
  const { now, rows } = await commit([query])
  const find = finder(rows[0])
  const at = now.toISOString()
  return ({ request: { project, email }, ids }: Call) => ({ contactId: find(project.id, email), eventId: ids, at })
}

async function track(tx: Tx, calls: Call[], now: Date) {
  const find = await upsertContacts(tx, mergeUpserts(calls.map(contactOf)), calls.map(eventOf))
  const at = now.toISOString()
  return ({ request: { project, email }, ids }: Call) => ({ contactId: find(project.id, email).id, eventId: ids, at })
}

const contactOf = ({ request: { project, email, subscribed, patch, source } }: Call) =>
  toUpsert({ projectId: project.id, email, subscribed, subscribedIfNew: true, patch, source })

const eventOf = ({ request: { project, email, event, patch }, ids }: Call) => ({
  projectId: project.id,
  email,
  id: ids,
  name: event,
  data: eventData(patch),
})

/** Copies only if there is something to add. */
const eventData = ({ set, transient }: DataPatch) => (Object.keys(transient).length ? { ...set, ...transient } : set)
