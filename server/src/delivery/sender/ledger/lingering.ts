import { createCounts } from '../../../lib/fair/counts.ts'
import { equalShare } from '../../../lib/fair/share.ts'
import { PRIORITIES } from '../../outbox/streams/stream-of.ts'
import { BULK_SHARE, type BuiltMessage, type OwnerOf } from '../limits/capacity.ts'
import type { createSlots } from '../limits/slots.ts'

/** Emails that may wait for a reply without a slot on the wire. Each keeps a connection to the provider. */
export const maxLingering = (slots: number) => 4 * slots + 16

export type StreamEmail = BuiltMessage['email'] & { streamId: string }
/** `inUse`: emails in hand that do not linger; read only while a stream is silent. */
type Held = { inUse: () => StreamEmail[]; priority: number }

/**
 * Emails without a reply in time. They linger: they give up their slot and keep their connection. Their stream is silent until a reply comes:
 * its emails are tried one at a time, and the streams of an owner take turns at it. So a relay that never replies to the emails of one owner
 * costs the others one slot, however many emails that owner has. A stream without an email on the wire or lingering is forgotten.
 */
export function createLingering(ownerOf: OwnerOf, slots: ReturnType<typeof createSlots>) {
  const most = maxLingering(slots.most)
  /** With their owners. */
  const lingering = new Map<StreamEmail, string>()
  const { counts, of: countOf, change } = createCounts()
  /** By key. The first of an owner is the next to be tried. */
  const silent = new Map<string, StreamEmail>()

  const ownerOfEmail = ({ projectId }: StreamEmail) => ownerOf(projectId)
  const isSilent = (email: StreamEmail) => silent.size > 0 && silent.has(keyOf(email))

  /**
   * Emails of an owner that may be on the wire or linger, once one of them lingers. The more owners have such emails, the fewer; the share of
   * one more owner stays free. Bulk leaves some to transactional emails.
   */
  function shareOf(owner: string, priority: number) {
    const owners = counts.size + (counts.has(owner) ? 0 : 1)
    return Math.floor(equalShare(most, owners + 1) * (priority === PRIORITIES.bulk ? BULK_SHARE : 1))
  }

  function slotsOf(owner: string, priority: number) {
    const count = countOf(owner)
    const { all } = slots.count()
    if (!count) return all
    return Math.max(0, Math.min(Math.max(all / 2, all - count), shareOf(owner, priority) - count))
  }

  /** Slots for emails of silent streams, of all owners together. */
  const maxTrying = () => Math.max(1, Math.floor(slots.count().all / 4))

  /** Half of the share: the other half is for streams of the owner that get replies. */
  const mayTry = (owner: string, priority: number) => countOf(owner) < Math.floor(shareOf(owner, priority) / 2)

  return {
    has: (email: StreamEmail) => lingering.has(email),
    isSilent,
    countOf,

    /** The email has no reply in time. False when too many linger already. */
    add(email: StreamEmail) {
      silent.delete(keyOf(email))
      silent.set(keyOf(email), email)
      if (lingering.size >= most) return false
      const owner = ownerOfEmail(email)
      lingering.set(email, owner)
      change(owner, 1)
      return true
    },
    /** The email has ended. A reply shows that its stream is not silent; so does the end of the last email that had none. */
    remove(email: StreamEmail, { onWire, hasReply }: { onWire: Set<StreamEmail>; hasReply: boolean }) {
      const owner = lingering.get(email)
      if (owner !== undefined) change(owner, -1)
      lingering.delete(email)
      if (!isSilent(email)) return
      const isOther = (other: StreamEmail) => other !== email && keyOf(other) === keyOf(email)
      if (hasReply || ![...onWire, ...lingering.keys()].some(isOther)) silent.delete(keyOf(email))
    },

    /** Slots that emails of an owner may have, apart from silent streams. With those that linger they stay within its share. */
    slotsOf,
    /** Owners that have used up their share: none of their emails may follow. */
    ownersWithoutSlots: (priority: number) => [...counts.keys()].filter((owner) => slotsOf(owner, priority) === 0),
    /** Whether an email of a silent stream may be sent: one per owner. */
    mayTryNow(email: StreamEmail, onWire: Iterable<StreamEmail>) {
      const trying = [...onWire].filter(isSilent)
      const owner = ownerOfEmail(email)
      return trying.length < maxTrying() && trying.every((each) => ownerOfEmail(each) !== owner) && mayTry(owner, email.priority)
    },
    /**
     * Silent streams of a priority, which a claim leaves out, and those of which it may take one email: one stream of each owner that has no
     * such email in hand. The next time it is another stream's turn.
     */
    streamsFor({ inUse, priority }: Held) {
      const inHand = new Set(silent.size ? inUse().filter(isSilent).map(ownerOfEmail) : [])
      const streams = [...silent.values()].filter((email) => email.priority === priority)
      const trying: StreamEmail[] = []
      for (const email of streams) {
        const owner = ownerOfEmail(email)
        if (inHand.has(owner) || !mayTry(owner, priority)) continue
        inHand.add(owner)
        trying.push(email)
        silent.delete(keyOf(email))
        silent.set(keyOf(email), email)
      }
      return { silent: streams.map(idOf), trying: trying.map(idOf) }
    },
  }
}

const keyOf = ({ priority, streamId }: StreamEmail) => `${priority}:${streamId}`
const idOf = ({ streamId }: StreamEmail) => streamId
