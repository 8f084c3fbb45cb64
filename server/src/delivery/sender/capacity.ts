import { groupBy } from '../../lib/group-by.ts'
import { MB } from '../../lib/units.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import { PRIORITIES } from '../outbox/stream-of.ts'

type ClaimRef = Pick<ClaimedEmail, 'projectId' | 'priority'>

/** Emails that a worker may hold at once: on the wire, being built, being settled. */
export const CAPACITY = 128
/** Share of the capacity and of the wire that bulk may use: the rest stays free for transactional emails. */
export const BULK_SHARE = 0.7
/** Share of the capacity reserved for projects that hold few emails, so that a newcomer starts at once. */
const RESERVE = 0.25
/** Below this number a project holds few emails. */
const FEW = 8
/** Smallest claim while emails are ready or being built. */
export const WORTHWHILE = 32

/** The size of the next claim, and the projects it must exclude. */
export type Room = { limit: number; except: string[] }

const capacityOf = (priority: number) => (priority === PRIORITIES.bulk ? Math.floor(CAPACITY * BULK_SHARE) : CAPACITY)

/**
 * Room for another claim, if any. While several projects hold emails, each may use at most half of the capacity; a single one may use all
 * but the reserve. `hasMore`: emails of that priority are ready or being built, so a small claim can wait.
 */
export function roomFor(priority: number, held: ClaimRef[], hasMore: boolean): Room | undefined {
  const counted = priority === PRIORITIES.bulk ? held.filter((each) => each.priority === priority) : held
  const capacity = capacityOf(priority)
  const open = Math.min(capacity - counted.length, CAPACITY - held.length)
  if (open < 1) return undefined
  const owners = countByProject(counted)
  const half = Math.floor(capacity / 2)
  const general = Math.min(open - Math.floor(capacity * RESERVE), owners.size > 1 ? WORTHWHILE : half)
  if (general >= (hasMore ? WORTHWHILE : 1)) {
    const share = owners.size > 1 ? half : capacity
    return { limit: general, except: projectsWhere(owners, (count) => count + general > share) }
  }
  const large = projectsWhere(owners, (count) => count >= FEW)
  return large.length ? { limit: Math.min(open, FEW), except: large } : undefined
}

function countByProject(held: Iterable<ClaimRef>) {
  const counts = new Map<string, number>()
  for (const { projectId } of held) counts.set(projectId, (counts.get(projectId) ?? 0) + 1)
  return counts
}

const projectsWhere = (owners: Map<string, number>, matches: (count: number) => boolean) =>
  [...owners].filter(([, count]) => matches(count)).map(([projectId]) => projectId)

/** Build in batches of 24, so that the first emails leave before the whole claim is built. */
const BATCH_SIZE = 24
/** A project with fewer emails in a claim shares its batches: the gate queries once per batch, and many projects have a single email. */
const MIN_OWN_BATCH = 6

/**
 * Splits a claim into rows of batches. Rows are built concurrently, the batches of a row one after the other. A project with many emails
 * gets a row of its own and delays only itself.
 */
export function buildBatches<Email extends { projectId: string }>(emails: Email[]): Email[][][] {
  const projects = [...groupBy(emails, ({ projectId }) => projectId).values()]
  const large = projects.filter((own) => own.length >= MIN_OWN_BATCH).map((own) => chunksOf(own, BATCH_SIZE))
  const small = projects.filter((own) => own.length < MIN_OWN_BATCH).flat()
  return [...large, ...chunksOf(small, BATCH_SIZE).map((batch) => [batch])]
}

function chunksOf<Item>(items: Item[], size: number) {
  const chunks: Item[][] = []
  for (let at = 0; at < items.length; at += size) chunks.push(items.slice(at, at + size))
  return chunks
}

/** Bytes of ready messages kept in memory: attachments may have megabytes. One project may use half. */
const MAX_READY_BYTES = 32 * MB

export type BuiltMessage = { email: ClaimRef; outgoing: { message: Uint8Array } }

/** Whether a batch has to wait until ready messages have left. A project without ready messages does not wait for others. */
export function isTooMuchReady(ready: BuiltMessage[], batch: ClaimRef[]) {
  const bytes = new Map<string, number>()
  let all = 0
  for (const { email, outgoing } of ready) {
    all += outgoing.message.length
    bytes.set(email.projectId, (bytes.get(email.projectId) ?? 0) + outgoing.message.length)
  }
  return batch.every(({ projectId }) => {
    const own = bytes.get(projectId) ?? 0
    return own > MAX_READY_BYTES / 2 || (own > 0 && all > MAX_READY_BYTES)
  })
}

/** Index of the first ready email of a project with less than half of the slots; 0 when there is none. */
export function nextInTurn(ready: { email: ClaimRef }[], onWire: Iterable<ClaimRef>, slots: number) {
  const owners = countByProject(onWire)
  const index = ready.findIndex(({ email }) => (owners.get(email.projectId) ?? 0) < slots / 2)
  return Math.max(0, index)
}
