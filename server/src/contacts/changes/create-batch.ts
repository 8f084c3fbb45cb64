import type { Pool, Tx } from '../../db/index.ts'
import type { CallerProject } from '../../http/auth/key-check.ts'
import { type BatchCall, type Commit, createOptimisticBatch } from '../../http/optimistic-batch.ts'
import { MB } from '../../lib/text/units.ts'
import type { ContactRow } from '../record/contact.ts'
import { type ContactUpsert, mergeUpserts, readUpsertedSql, upsertContacts, upsertSql } from './upsert.ts'

type CreateRequest = {
  project: CallerProject
  upsert: ContactUpsert
  /** Bytes of the request body. */
  size: number
}
type Call = BatchCall<CreateRequest, null>
type Created = { isNew: boolean; contact: ContactRow }

/** Limits of batches of requests about a contact each, by the bytes of their bodies. */
export const CONTACT_BATCH = {
  weigh: ({ size }: { size: number }) => size,
  maxWeight: 2 * MB,
  maxWaitMs: 4,
  lanes: 2,
  maxPending: 10_000,
  maxPendingWeight: 16 * MB,
}

/** Creates or updates the contacts of concurrent requests in one transaction. */
export const createContactBatch = (db: Pool) =>
  createOptimisticBatch<CreateRequest, null, Created>({
    db,
    // No request has a key.
    ttlHours: 0,
    endpoint: 'POST /contacts',
    newIds: () => null,
    keyResult: () => ({}),
    plain: ({ upsert }) => upsert.choices.length === 0,
    atOnce: createAtOnce,
    stepByStep: createInTx,
    // Few at a time, because the contacts are read back, and each may have 256 KB.
    limits: { ...CONTACT_BATCH, maxItems: 50 },
  })

async function createAtOnce(calls: Call[], commit: Commit) {
  const contacts = mergeUpserts(calls.map(({ request }) => request.upsert))
  const { rows } = await commit([upsertSql(contacts), readUpsertedSql(contacts)])
  const isNew = new Set(rows[0].filter((row) => row.isNew).map(({ id }) => id))
  return answersFor(calls, rows[1], isNew)
}

async function createInTx(tx: Tx, calls: Call[]) {
  const contacts = mergeUpserts(calls.map(({ request }) => request.upsert))
  const find = await upsertContacts(tx, contacts)
  const created = contacts.map(({ projectId, email }) => find(projectId, email)).filter(({ isNew }) => isNew)
  const { rows } = await readUpsertedSql(contacts).execute(tx)
  return answersFor(calls, rows, new Set(created.map(({ id }) => id)))
}

/** The first of several requests for a new contact has created it. */
function answersFor(calls: Call[], rows: ContactRow[], created: Set<string>) {
  const byName = new Map(rows.map((row) => [nameOf(row), row]))
  const answers = new Map<Call, Created>()
  for (const call of calls) {
    const contact = byName.get(nameOf(call.request.upsert))!
    answers.set(call, { isNew: created.delete(contact.id), contact })
  }
  return (call: Call) => answers.get(call)!
}

const nameOf = ({ projectId, email }: { projectId: string; email: string }) => `${projectId} ${email}`
