import { PRIORITIES } from '../outbox/streams/stream-of.ts'
import { type BuiltMessage, isTooMuchReady, nextInTurn, type OwnerOf, type Room, roomFor } from './limits/capacity.ts'
import type { createSlots } from './limits/slots.ts'
import { createLingering, type StreamEmail } from './lingering.ts'

/** Slots beyond the others, for owners that have no email on the wire and none that lingers. Bulk leaves one of them to transactional emails. */
const EXTRA_SLOTS = 2

export type LedgerEmail = StreamEmail & { id: string }
type LedgerRoom = Room & ReturnType<ReturnType<typeof createLingering>['streamsFor']>
export type Ledger<Built extends BuiltMessage & { email: LedgerEmail }> = ReturnType<typeof createLedger<Built>>

/**
 * What this worker does with each email it has claimed, and how much room that leaves. Book-keeping only: no clock, no database.
 *
 * Invariants:
 * 1. An email is held from its claim until it is settled or given up. The database row of an email that is not held is released to other
 *    workers, so an email is held before its build starts and released only after its settlement.
 * 2. Emails that are held and do not linger take up the capacity of their priority; those of one owner at most half of it while others are held
 *    too.
 * 3. At most as many emails are on the wire as there are slots (`limits/slots.ts`), and a few more of owners that have none there. The owner
 *    with the fewest has the next turn.
 * 4. An email whose receiver does not reply gives up its slot and its capacity but stays held: it lingers (`lingering.ts`). Other emails of
 *    its stream that wait for a slot are given back.
 * 5. An email is handed over from just before its mark is written until it is settled: its outcome is unknown in between. A shutdown waits
 *    for these emails only, and releases all others at once.
 */
export function createLedger<Built extends BuiltMessage & { email: LedgerEmail }>(ownerOf: OwnerOf, slots: ReturnType<typeof createSlots>) {
  type Email = Built['email']
  const held = new Map<string, Email>()
  /** Per priority, the emails claimed and neither built nor settled yet. */
  const building = new Map<number, number>()
  const ready = new Map<number, Built[]>(Object.values(PRIORITIES).map((priority) => [priority, []]))
  const onWire = new Set<Email>()
  const lingering = createLingering(ownerOf, slots)
  const handedOver = new Set<Email>()

  const countBuilding = (priority: number) => building.get(priority) ?? 0
  const release = ({ id }: Email) => void held.delete(id)
  const inUse = () => [...held.values()].filter((email) => !lingering.has(email))

  function hasSlot(priority: number, extra = 0) {
    const { all, bulk } = slots.count()
    if (priority !== PRIORITIES.bulk) return onWire.size < all + extra
    const extraOfBulk = Math.min(extra, EXTRA_SLOTS - 1)
    return onWire.size < all + extraOfBulk && countBulk(onWire) < bulk + extraOfBulk
  }

  /** Whether an email may take a slot. `own`: the emails of its owner on the wire. */
  function maySend(email: Email, own: number) {
    if (lingering.isSilent(email)) return hasSlot(email.priority) && lingering.mayTryNow(email, onWire)
    const owner = ownerOf(email.projectId)
    const isNewcomer = own === 0 && lingering.countOf(owner) === 0
    return hasSlot(email.priority, isNewcomer ? EXTRA_SLOTS : 0) && own < lingering.slotsOf(owner, email.priority)
  }

  const hasNoSlots = ({ projectId, priority }: Email) => lingering.slotsOf(ownerOf(projectId), priority) === 0

  /** Gives back ready emails whose turn is far away: they take up capacity. A probe stays, the only one of its domain. */
  function giveBackReady() {
    const isGivenBack = ({ email, probe }: Built) => !probe && (lingering.isSilent(email) || hasNoSlots(email))
    for (const [priority, buffer] of ready) {
      for (const each of buffer) if (isGivenBack(each)) release(each.email)
      ready.set(
        priority,
        buffer.filter((each) => !isGivenBack(each)),
      )
    }
  }

  /** One email of the silent streams of an owner is enough to try whether there are replies again. */
  function isSurplus({ email, probe }: Built) {
    if (probe) return false
    if (hasNoSlots(email)) return true
    if (!lingering.isSilent(email)) return false
    const others = [...[...ready.values()].flat().map((each) => each.email), ...onWire]
    return others.some((other) => lingering.isSilent(other) && ownerOf(other.projectId) === ownerOf(email.projectId))
  }

  function findNext(preferred: (email: Email) => boolean = () => true) {
    for (const [priority, buffer] of ready) {
      if (!buffer.length || !hasSlot(priority, EXTRA_SLOTS)) continue
      const index = nextInTurn(buffer, { onWire, ownerOf, maySend: (email, own) => preferred(email) && maySend(email, own) })
      if (index >= 0) return { buffer, index }
    }
    return undefined
  }

  return {
    /** Holds an email that is sent outside the ready buffers. */
    hold: (email: Email) => void held.set(email.id, email),
    release,
    heldIds: () => [...held.keys()],

    startBuilding(priority: number, emails: Email[]) {
      for (const email of emails) held.set(email.id, email)
      building.set(priority, countBuilding(priority) + emails.length)
    },
    /** Ends the build of `emails`. Those without a message in `built` are settled already; those that would wait for long are given back. */
    addReady(priority: number, emails: Email[], built: Built[]) {
      const sendable = new Set(built.map(({ email }) => email))
      for (const email of emails) if (!sendable.has(email)) release(email)
      for (const each of built) {
        if (isSurplus(each)) release(each.email)
        else ready.get(priority)!.push(each)
      }
      building.set(priority, countBuilding(priority) - emails.length)
    },
    /** Ends the build of emails that failed or were stopped. No longer held, they are given back. */
    abandonBuild(priority: number, emails: Set<Email>) {
      for (const email of emails) release(email)
      building.set(priority, countBuilding(priority) - emails.size)
    },

    /** Room for another claim, if any. */
    roomFor(priority: number): LedgerRoom | undefined {
      const hasMore = countBuilding(priority) > 0 || ready.get(priority)!.some(({ email }) => !lingering.isSilent(email))
      const room = roomFor(priority, inUse(), { hasMore, ownerOf })
      if (!room) return undefined
      const except = [...room.except, ...lingering.ownersWithoutSlots(priority)]
      return { ...room, except, ...lingering.streamsFor({ inUse: inUse(), priority }) }
    },
    isTooMuchReady: (batch: Email[]) => isTooMuchReady([...ready.values()].flat(), batch, ownerOf),
    dropReady() {
      for (const buffer of ready.values()) buffer.splice(0)
    },

    /**
     * Removes the next email to send from its buffer: one that is `preferred`, if any; transactional before bulk; in turn. Undefined when none has
     * a free slot, or `mayTake` says no.
     */
    takeNext({ mayTake, preferred }: { mayTake?: () => boolean; preferred?: (email: Email) => boolean } = {}): Built | undefined {
      const next = (preferred && findNext(preferred)) ?? findNext()
      if (!next || mayTake?.() === false) return undefined
      return next.buffer.splice(next.index, 1)[0]
    },

    takeSlot: (email: Email) => void onWire.add(email),
    /** `hasReply`: the receiver replied, so that the stream of the email is not silent. */
    freeSlot(email: Email, hasReply = false) {
      const isOver = !onWire.delete(email) && !lingering.has(email)
      if (!isOver) lingering.remove(email, { onWire, hasReply })
    },
    isOnWire: (email: Email) => onWire.has(email),
    countOnWire: () => onWire.size,
    /** True for an email whose stream got no reply last. */
    isSilent: (email: Email) => lingering.isSilent(email),
    /** The email has no reply in time. False when too many emails linger already: then the email keeps its slot. */
    linger(email: Email) {
      const lingers = lingering.add(email)
      if (lingers) onWire.delete(email)
      giveBackReady()
      return lingers
    },

    handOver: (email: Email) => void handedOver.add(email),
    /** The email is settled, or did not leave after all. */
    endHandOver: (email: Email) => void handedOver.delete(email),
    isHandedOver: (email: Email) => handedOver.has(email),
    countHandedOver: () => handedOver.size,
    /** True when every held email is handed over or lingers: none of them is being built or waits for a slot. */
    isIdle: () => [...held.values()].every((email) => lingering.has(email) || handedOver.has(email)),
    releaseAllButHandedOver() {
      const kept = new Set([...handedOver].map(({ id }) => id))
      for (const id of held.keys()) if (!kept.has(id)) held.delete(id)
    },
    releaseAll: () => held.clear(),
  }
}

function countBulk(emails: Iterable<LedgerEmail>) {
  let count = 0
  for (const { priority } of emails) if (priority === PRIORITIES.bulk) count++
  return count
}
