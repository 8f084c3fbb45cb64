import { createCounts } from '../../../lib/fair/counts.ts'
import { PRIORITIES } from '../../outbox/streams/stream-of.ts'
import { type BuiltMessage, type OwnerOf, type Room, roomFor } from '../limits/capacity.ts'
import type { createSlots } from '../limits/slots.ts'
import { createLingering, type StreamEmail } from './lingering.ts'
import { createReadyBuffers } from './ready-buffers.ts'
import { createWire } from './wire.ts'

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
  /** Held emails that do not linger; their number by priority and project. */
  const inUse = new Set<Email>()
  const inUseBy = new Map<number, ReturnType<typeof createCounts>>(Object.values(PRIORITIES).map((priority) => [priority, createCounts()]))
  /** Per priority, the emails claimed and neither built nor settled yet. */
  const building = new Map<number, number>()
  const lingering = createLingering(ownerOf, slots)
  const wire = createWire<Email>(ownerOf, { slots, lingering })
  const ready = createReadyBuffers<Built>(ownerOf, { lingering, wire })
  const handedOver = new Set<Email>()

  const countBuilding = (priority: number) => building.get(priority) ?? 0

  /** Called whenever an email is held or no longer held, lingers or no longer lingers. */
  function count(email: Email) {
    const isInUse = held.get(email.id) === email && !lingering.has(email)
    if (isInUse === inUse.has(email)) return
    if (isInUse) inUse.add(email)
    else inUse.delete(email)
    inUseBy.get(email.priority)!.change(email.projectId, isInUse ? 1 : -1)
  }

  function hold(email: Email) {
    const earlier = held.get(email.id)
    if (earlier) release(earlier)
    held.set(email.id, email)
    count(email)
  }

  /** Not a later attempt of the same email, which this worker may have claimed after it lost this one. */
  function release(email: Email) {
    if (held.get(email.id) !== email) return
    held.delete(email.id)
    count(email)
  }

  return {
    /** Holds an email that is sent outside the ready buffers. */
    hold,
    release,
    heldIds: () => [...held.keys()],

    startBuilding(priority: number, emails: Email[]) {
      for (const email of emails) hold(email)
      building.set(priority, countBuilding(priority) + emails.length)
    },
    /** Ends the build of `emails`. Those without a message in `built` are settled already; those that would wait for long are given back. */
    addReady(priority: number, emails: Email[], built: Built[]) {
      const sendable = new Set(built.map(({ email }) => email))
      for (const email of emails) if (!sendable.has(email)) release(email)
      for (const each of built) if (!ready.add(priority, each)) release(each.email)
      building.set(priority, countBuilding(priority) - emails.length)
    },
    /** Ends the build of emails that failed or were stopped. No longer held, they are given back. */
    abandonBuild(priority: number, emails: Set<Email>) {
      for (const email of emails) release(email)
      building.set(priority, countBuilding(priority) - emails.size)
    },

    /** Room for another claim, if any. */
    roomFor(priority: number): LedgerRoom | undefined {
      const hasMore = countBuilding(priority) > 0 || ready.hasAnswering(priority)
      const room = roomFor(priority, inUseBy.get(priority)!.counts, { hasMore, ownerOf })
      if (!room) return undefined
      const except = [...room.except, ...lingering.ownersWithoutSlots(priority)]
      return { ...room, except, ...lingering.streamsFor({ inUse: () => [...inUse], priority }) }
    },
    isTooMuchReady: ready.isTooMuch,
    dropReady: ready.drop,
    takeNext: ready.takeNext,

    takeSlot: wire.takeSlot,
    freeSlot(email: Email, hasReply?: boolean) {
      wire.freeSlot(email, hasReply)
      ready.left(email)
      count(email)
    },
    isOnWire: wire.has,
    countOnWire: () => wire.emails.size,
    /** True for an email whose stream got no reply last. */
    isSilent: (email: Email) => lingering.isSilent(email),
    /** The email has no reply in time. False when too many emails linger already: then the email keeps its slot. */
    linger(email: Email) {
      const lingers = wire.linger(email)
      count(email)
      for (const given of ready.takeBack()) release(given)
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
      for (const email of [...held.values()]) if (!kept.has(email.id)) release(email)
    },
    releaseAll() {
      for (const email of [...held.values()]) release(email)
    },
  }
}
