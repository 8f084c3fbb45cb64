import { groupBy } from '../../lib/group-by.ts'
import { MB } from '../../lib/units.ts'
import { type ClaimedEmail, PRIORITIES } from '../outbox/claim.ts'

type ClaimRef = Pick<ClaimedEmail, 'projectId' | 'priority'>

/** Emails that a worker may hold at once: on the wire, being built, being settled. */
export const CAPACITY = 128
/** The share of it that campaigns may have: the rest stays free for what cannot wait. */
export const BULK_SHARE = 0.7
/** The share that only projects with few emails in hand may have, so that a newcomer starts at once. */
const RESERVE = 0.25
/** Few emails in hand. */
const FEW = 8
/** Smallest claim while there is still something to send. */
export const WORTHWHILE = 32

/** How many emails to claim, and of which projects none. */
export type Room = { limit: number; except: string[] }

const capacityOf = (priority: number) => (priority === PRIORITIES.bulk ? Math.floor(CAPACITY * BULK_SHARE) : CAPACITY)

/**
 * Room for another claim, if any. While emails of several projects are held, one project has at most half of the capacity; alone it has
 * all but the reserve. `hasMore` says that the priority has something to send already, so that a small claim can wait.
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

const projectsWhere = (owners: Map<string, number>, isMeant: (count: number) => boolean) =>
  [...owners].filter(([, count]) => isMeant(count)).map(([projectId]) => projectId)

/** Emails that are prepared together; the first ones leave before the whole claim is prepared. */
const PORTION = 24
/** With fewer emails in a claim a project shares its portions: the gate asks once per portion, and tenants with one email are many. */
const OWN_PORTION = 6

/**
 * What is prepared at the same time: rows of portions, each row one portion after the other. A project with many emails has a row of its
 * own and delays only itself.
 */
export function buildBatches<Email extends { projectId: string }>(emails: Email[]): Email[][][] {
  const projects = [...groupBy(emails, ({ projectId }) => projectId).values()]
  const large = projects.filter((own) => own.length >= OWN_PORTION).map((own) => chunksOf(own, PORTION))
  const small = projects.filter((own) => own.length < OWN_PORTION).flat()
  return [...large, ...chunksOf(small, PORTION).map((portion) => [portion])]
}

function chunksOf<Item>(items: Item[], size: number) {
  const chunks: Item[][] = []
  for (let at = 0; at < items.length; at += size) chunks.push(items.slice(at, at + size))
  return chunks
}

/** Bytes that may lie ready: mails may have files of megabytes. One project may have half of them. */
const MAX_READY_BYTES = 32 * MB

export type BuiltMessage = { email: ClaimRef; outgoing: { message: Uint8Array } }

/** Whether a portion has to wait until some of what lies ready has left. A project with nothing ready does not wait for others. */
export function isTooMuchReady(ready: BuiltMessage[], portion: ClaimRef[]) {
  const bytes = new Map<string, number>()
  let all = 0
  for (const { email, outgoing } of ready) {
    all += outgoing.message.length
    bytes.set(email.projectId, (bytes.get(email.projectId) ?? 0) + outgoing.message.length)
  }
  return portion.every(({ projectId }) => {
    const own = bytes.get(projectId) ?? 0
    return own > MAX_READY_BYTES / 2 || (own > 0 && all > MAX_READY_BYTES)
  })
}

/** Index of the first ready email of a project with less than half of the lines, or else of the first. */
export function nextInTurn(ready: { email: ClaimRef }[], onTheWire: Iterable<ClaimRef>, lines: number) {
  const owners = countByProject(onTheWire)
  const index = ready.findIndex(({ email }) => (owners.get(email.projectId) ?? 0) < lines / 2)
  return Math.max(0, index)
}
