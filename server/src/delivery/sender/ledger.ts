import { PRIORITIES } from '../outbox/stream-of.ts'
import { BULK_SHARE, type BuiltMessage, isTooMuchReady, nextInTurn, type Room, roomFor } from './capacity.ts'

/** Emails on the wire at once. */
export const CONCURRENCY = 16
const BULK_CONCURRENCY = Math.ceil(CONCURRENCY * BULK_SHARE)
/** Emails that may wait for a reply without a slot on the wire. */
export const MAX_LINGERING = 100

export type LedgerEmail = BuiltMessage['email'] & { id: string }
export type Ledger<Built extends BuiltMessage & { email: LedgerEmail }> = ReturnType<typeof createLedger<Built>>

/**
 * What this worker does with each email it has claimed, and how much room that leaves. Book-keeping only: no clock, no database.
 *
 * Invariants:
 * 1. An email is held from its claim until it is settled or given up. The database row of an email that is not held is released to other
 *    workers, so an email is held before its build starts and released only after its settlement.
 * 2. Emails that are held and do not linger take up capacity: at most CAPACITY, bulk at most its share, one project at most half of it while
 *    others are held too.
 * 3. At most CONCURRENCY emails are on the wire, BULK_CONCURRENCY of them bulk; a project with half of the slots lets the others pass.
 * 4. An email whose receiver does not reply gives up its slot and its capacity but stays held: it lingers. At most MAX_LINGERING do, so
 *    that a receiver that never replies cannot make a worker hold emails without bound.
 * 5. An email is handed over from just before its mark is written until it is settled: its outcome is unknown in between. A shutdown waits
 *    for these emails only, and releases all others at once.
 */
export function createLedger<Built extends BuiltMessage & { email: LedgerEmail }>() {
  type Email = Built['email']
  const held = new Map<string, Email>()
  /** Per priority, the emails claimed and neither built nor settled yet. */
  const building = new Map<number, number>()
  const ready = new Map<number, Built[]>(Object.values(PRIORITIES).map((priority) => [priority, []]))
  const onWire = new Set<Email>()
  const lingering = new Set<Email>()
  const handedOver = new Set<Email>()

  const countBuilding = (priority: number) => building.get(priority) ?? 0
  const release = ({ id }: Email) => void held.delete(id)

  function hasSlot(priority: number) {
    if (onWire.size >= CONCURRENCY) return false
    return priority !== PRIORITIES.bulk || countBulk(onWire) < BULK_CONCURRENCY
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
    /** Ends the build of `emails`. Those without a message in `built` are settled already. */
    addReady(priority: number, emails: Email[], built: Built[]) {
      const sendable = new Set(built.map(({ email }) => email))
      for (const email of emails) if (!sendable.has(email)) release(email)
      ready.get(priority)!.push(...built)
      building.set(priority, countBuilding(priority) - emails.length)
    },
    /** Ends the build of emails that failed or were stopped. No longer held, they are given back. */
    abandonBuild(priority: number, emails: Set<Email>) {
      for (const email of emails) release(email)
      building.set(priority, countBuilding(priority) - emails.size)
    },

    /** Room for another claim, if any. */
    roomFor(priority: number): Room | undefined {
      const inUse = [...held.values()].filter((email) => !lingering.has(email))
      return roomFor(priority, inUse, ready.get(priority)!.length + countBuilding(priority) > 0)
    },
    isTooMuchReady: (batch: Email[]) => isTooMuchReady([...ready.values()].flat(), batch),
    dropReady() {
      for (const buffer of ready.values()) buffer.splice(0)
    },

    /** Whether an email is ready and has a free slot. */
    hasNext: () => firstSendable() !== undefined,
    /**
     * Removes the next email to send from its buffer, transactional before bulk. The first that is `preferred`; without that, the first of a
     * project with less than half of the slots; otherwise the first.
     */
    takeNext(preferred?: (email: Email) => boolean): Built {
      const buffer = firstSendable()!
      const index = preferred ? buffer.findIndex(({ email }) => preferred(email)) : nextInTurn(buffer, onWire, CONCURRENCY)
      return buffer.splice(Math.max(0, index), 1)[0]!
    },

    takeSlot: (email: Email) => void onWire.add(email),
    freeSlot(email: Email) {
      onWire.delete(email)
      lingering.delete(email)
    },
    /** False when too many emails linger already: then the email keeps its slot. */
    linger(email: Email) {
      if (lingering.size >= MAX_LINGERING) return false
      onWire.delete(email)
      lingering.add(email)
      return true
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

  function firstSendable() {
    for (const [priority, buffer] of ready) if (buffer.length && hasSlot(priority)) return buffer
    return undefined
  }
}

function countBulk(emails: Iterable<LedgerEmail>) {
  let count = 0
  for (const { priority } of emails) if (priority === PRIORITIES.bulk) count++
  return count
}
