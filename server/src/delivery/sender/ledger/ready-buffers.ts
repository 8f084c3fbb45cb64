import { PRIORITIES } from '../../outbox/streams/stream-of.ts'
import { type BuiltMessage, isTooMuchReady, nextToSend, type OwnerOf } from '../limits/capacity.ts'
import type { createLingering, StreamEmail } from './lingering.ts'
import type { createWire } from './wire.ts'

type NextOptions<Built extends { email: unknown }> = {
  mayTake?: () => boolean
  mayLeave?: ((built: Built) => boolean) | undefined
  preferred?: (email: Built['email']) => boolean
  only?: (email: Built['email']) => boolean
}

/** Emails whose messages are built, by priority, and which of them is sent next. */
export function createReadyBuffers<Built extends BuiltMessage & { email: StreamEmail }>(
  ownerOf: OwnerOf,
  { lingering, wire }: { lingering: ReturnType<typeof createLingering>; wire: ReturnType<typeof createWire<Built['email']>> },
) {
  type Email = Built['email']
  const buffers = new Map<number, Built[]>(Object.values(PRIORITIES).map((priority) => [priority, []]))
  /** Emails on the wire whose messages are in memory until they have left. */
  const leaving = new Map<Email, Built>()

  /** One email of the silent streams of an owner is enough to try whether there are replies again. */
  function isSurplus({ email, probe }: Built) {
    if (probe) return false
    if (wire.hasNoSlots(email)) return true
    if (!lingering.isSilent(email)) return false
    const others = [...[...buffers.values()].flat().map((each) => each.email), ...wire.emails]
    return others.some((other) => lingering.isSilent(other) && ownerOf(other.projectId) === ownerOf(email.projectId))
  }

  function findNext(mayLeave: NextOptions<Built>['mayLeave'], isWanted: (email: Email) => boolean) {
    for (const [priority, buffer] of buffers) {
      if (!buffer.length || !wire.mayHaveSlot(priority)) continue
      const index = nextToSend(buffer, {
        onWire: wire.projects,
        ownerOf,
        mayLeave,
        maySend: (email, own) => isWanted(email) && wire.maySend(email, own),
      })
      if (index >= 0) return { buffer, index }
    }
    return undefined
  }

  return {
    /** False when the email would wait for long: it is given back. */
    add(priority: number, built: Built) {
      if (isSurplus(built)) return false
      buffers.get(priority)!.push(built)
      return true
    },
    /** Removes emails whose turn is far away: they take up capacity. A probe stays, the only one of its domain. */
    takeBack(): Email[] {
      const isKept = ({ email, probe }: Built) => probe || !(lingering.isSilent(email) || wire.hasNoSlots(email))
      const all = [...buffers.values()].flat()
      for (const [priority, buffer] of buffers) buffers.set(priority, buffer.filter(isKept))
      return all.filter((each) => !isKept(each)).map(({ email }) => email)
    },
    /** Whether there is an email whose stream gets replies. */
    hasAnswering: (priority: number) => buffers.get(priority)!.some(({ email }) => !lingering.isSilent(email)),
    isTooMuch: (batch: Email[], isLarge = false) =>
      isTooMuchReady([...[...buffers.values()].flat(), ...leaving.values()], { batch, ownerOf, isLarge }),
    /** The email is on the wire no longer. */
    left: (email: Email) => void leaving.delete(email),
    drop() {
      for (const buffer of buffers.values()) buffer.splice(0)
    },
    /**
     * Removes the next email to send from its buffer: one that is `preferred`, if any; transactional before bulk; in turn. Undefined when none has
     * a free slot, `only` allows none, or `mayTake` says no. Those that may not leave now keep their places.
     */
    takeNext({ mayTake, mayLeave, preferred, only = () => true }: NextOptions<Built> = {}): Built | undefined {
      const next = (preferred && findNext(mayLeave, (email) => only(email) && preferred(email))) ?? findNext(mayLeave, only)
      if (!next || mayTake?.() === false) return undefined
      const [built] = next.buffer.splice(next.index, 1) as [Built]
      leaving.set(built.email, built)
      return built
    },
  }
}
