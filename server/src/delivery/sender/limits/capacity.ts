import { groupBy } from '../../../lib/collections/group-by.ts'
import { type Counts, countBy, createCounts } from '../../../lib/fair/counts.ts'
import { chooseNext, excludedOwners, fits, isWithin } from '../../../lib/fair/share.ts'
import { MB } from '../../../lib/text/units.ts'
import type { ClaimedEmail } from '../../outbox/claim.ts'
import { PRIORITIES } from '../../outbox/streams/stream-of.ts'

type ClaimRef = Pick<ClaimedEmail, 'projectId' | 'priority'>
/** The owner of a project. Shares are those of an owner: otherwise a person with sixty projects would have sixty. */
export type OwnerOf = (projectId: string) => string

/**
 * Emails of a priority that a worker may hold at once: on the wire, being built, being settled; and the smallest claim while emails are ready or
 * being built. Bulk is claimed further ahead, for fewer statements. Not by far: if a process dies three times, all that it held are sent alone.
 */
const HELD = {
  [PRIORITIES.transactional]: { capacity: 128, worthwhile: 32 },
  [PRIORITIES.bulk]: { capacity: 256, worthwhile: 64 },
}
export const CAPACITY = Object.values(HELD).reduce((sum, { capacity }) => sum + capacity, 0)
export const limitsOf = (priority: number) => HELD[priority as keyof typeof HELD]

/** Share of the wire and of the emails that linger that bulk may use: the rest stays free for transactional emails. */
export const BULK_SHARE = 0.7
/** Share of the capacity reserved for owners that hold few emails, so that a newcomer starts at once. */
const RESERVE = 0.25
/** Below this number an owner holds few emails. */
const FEW = 8

/** The size of the next claim, and the owners whose projects it must exclude. */
export type Room = { limit: number; except: string[] }

/**
 * Room for another claim, if any. While several owners hold emails, each may use at most half of the capacity; a single one may use all
 * but the reserve. `held`: the emails of that priority, by project. `hasMore`: some of them are ready or being built, so a small claim can wait.
 */
export function roomFor(priority: number, held: Counts, { hasMore, ownerOf }: { hasMore: boolean; ownerOf: OwnerOf }): Room | undefined {
  const { capacity, worthwhile } = limitsOf(priority)
  const owners = countBy(held, ownerOf)
  const open = capacity - owners.sum()
  if (open < 1) return undefined
  const othersHold = owners.counts.size > 1
  const general = Math.min(open - Math.floor(capacity * RESERVE), othersHold ? worthwhile : Math.floor(capacity / 2))
  if (general >= (hasMore ? worthwhile : 1))
    return { limit: general, except: excludedOwners(owners, { size: capacity }, { othersWait: othersHold, amount: general }) }
  const large = excludedOwners(owners, { size: capacity, share: FEW })
  return large.length ? { limit: Math.min(open, FEW), except: large } : undefined
}

/** Build in batches, so that the first emails leave before the whole claim is built. */
const BATCH_SIZE = 48
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

/** Bytes of built messages kept in memory until they have left: attachments may have megabytes. One owner may use half. */
const MAX_READY_BYTES = 64 * MB

export type BuiltMessage = { email: ClaimRef; outgoing: { message: Uint8Array }; probe?: boolean }

/**
 * Whether a batch has to wait until messages have left that are ready or on the wire. An owner without such messages does not wait for others,
 * unless its own are large: many owners may have one.
 */
export function isTooMuchReady(
  ready: BuiltMessage[],
  { batch, ownerOf, isLarge }: { batch: ClaimRef[]; ownerOf: OwnerOf; isLarge: boolean },
) {
  const bytes = createCounts()
  for (const { email, outgoing } of ready) bytes.change(ownerOf(email.projectId), outgoing.message.length)
  const isFull = !fits(bytes, MAX_READY_BYTES, 0)
  return batch.every(({ projectId }) => {
    const owner = ownerOf(projectId)
    return !isWithin(bytes, owner, MAX_READY_BYTES / 2, 0) || (isFull && (isLarge || bytes.of(owner) > 0))
  })
}

/**
 * `maySend` also gets the number of emails on the wire of the email's owner. Its answer is the same for all emails of a stream; that of `mayLeave`,
 * which leaves emails out, is not.
 */
type WireUse<Built extends { email: unknown }> = {
  onWire: Counts
  ownerOf: OwnerOf
  maySend: (email: Built['email'], own: number) => boolean
  mayLeave?: ((built: Built) => boolean) | undefined
}

/**
 * Index of the next email to send; -1 when none may be. The owner with the fewest emails on the wire is next, inside an owner the project
 * with the fewest: so no owner has more than half of the slots while another waits.
 */
export function nextToSend<Built extends { email: ClaimRef & { streamId?: string } }>(
  ready: Built[],
  { onWire, ownerOf, maySend, mayLeave }: WireUse<Built>,
) {
  const owners = countBy(onWire, ownerOf)
  const countOf = ({ projectId }: Built['email']) => owners.of(ownerOf(projectId))
  let before: Built['email'] | undefined
  const rankOf = (built: Built) => {
    const { email } = built
    if (mayLeave && !mayLeave(built)) return undefined
    // Hundreds of emails of one stream are often ready in a row.
    if (before && email.streamId !== undefined && email.streamId === before.streamId && email.projectId === before.projectId)
      return undefined
    before = email
    return [countOf(email), onWire.get(email.projectId) ?? 0]
  }
  const next = chooseNext(ready, rankOf, ({ email }) => maySend(email, countOf(email)))
  return next ? ready.indexOf(next) : -1
}
