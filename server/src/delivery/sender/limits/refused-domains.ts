import { createCache } from '../../../lib/collections/cache.ts'
import { MINUTE, SECOND } from '../../../lib/text/units.ts'
import { MAX_EQUAL_REPLIES } from '../../outbox/refusals/hold.ts'

/** Emails of a sender domain on the wire while its last reply was a permanent refusal of a recipient. */
const MAX_AFTER_REFUSAL = 5
/** After this time an email on the wire no longer counts: its reply may take ten minutes. */
const MAX_AWAITED_MS = 10 * SECOND
const REMEMBERED = { maxEntries: 10_000 }

type Sender = { projectId: string; domain: string }
type OnWire = Sender & { beganAt: number }

/** `longSince`: when they became as many as pause a domain. */
type Refusals = { count: number; longSince: number }

const keyOf = ({ projectId, domain }: Sender) => `${projectId} ${domain}`

/**
 * Knowledge of this worker about sender domains, from the replies to its own emails. After a refusal that may be about us few emails of the domain leave at
 * once, and after as many as would pause it one at a time: those on the wire show whether it has to be paused. In memory.
 */
export function createRefusedDomains(now: () => number = () => performance.now()) {
  const acceptedAt = createCache<string, number>(REMEMBERED)
  const refusals = createCache<string, Refusals>(REMEMBERED)
  const onWire = new Map<object, OnWire>()

  const awaited = () => [...onWire.values()].filter(({ beganAt }) => now() - beganAt < MAX_AWAITED_MS)
  const countOnWire = (sender: Sender) =>
    awaited().filter(({ projectId, domain }) => projectId === sender.projectId && domain === sender.domain).length

  function mayLeave({ email: { projectId }, domain }: { email: { projectId: string }; domain: string }) {
    const sender = { projectId, domain }
    const before = refusals.get(keyOf(sender))
    return before === undefined || countOnWire(sender) < (before.count < MAX_EQUAL_REPLIES ? MAX_AFTER_REFUSAL : 1)
  }

  /** Later ones leave one after the other. If the pause waited for them, too, it would never begin. */
  const mayEndStreak = (email: OnWire) => email.beganAt <= (refusals.get(keyOf(email))?.longSince ?? Number.POSITIVE_INFINITY)
  /** Emails whose acceptance would show that a streak of refusals is not about us. */
  const streakEnders = () => awaited().filter(mayEndStreak)

  return {
    began: (email: object, { projectId, domain }: Sender) => void onWire.set(email, { projectId, domain, beganAt: now() }),
    /** The connection is free. Before the refusal is held. */
    ended: (email: object) => void onWire.delete(email),
    accepted(sender: Sender) {
      acceptedAt.set(keyOf(sender), now())
      refusals.delete(keyOf(sender))
    },
    /** `isKnown`: of an email whose refusal was held already. It does not count towards the number that pauses the domain. */
    refused(sender: Sender, isKnown: boolean) {
      const before = refusals.get(keyOf(sender)) ?? { count: 0, longSince: Number.POSITIVE_INFINITY }
      const count = isKnown ? Math.max(1, before.count) : before.count + 1
      const isLong = count >= MAX_EQUAL_REPLIES
      refusals.set(keyOf(sender), { count, longSince: isLong ? Math.min(before.longSince, now()) : before.longSince })
    },
    wasAcceptedLately: (sender: Sender) => now() - (acceptedAt.get(keyOf(sender)) ?? Number.NEGATIVE_INFINITY) < MINUTE,
    /** Whether another email of its domain may take a connection. Undefined while all may. */
    mayLeave: () => (refusals.size ? mayLeave : undefined),
    /** Whether a reply is awaited that may end a streak of refusals. */
    isOnWire: (sender: Sender) =>
      streakEnders().some(({ projectId, domain }) => projectId === sender.projectId && domain === sender.domain),
    /** Domains with such emails. */
    onWire: () => streakEnders().map(({ projectId, domain }) => ({ projectId, domain })),
  }
}

export type RefusedDomains = ReturnType<typeof createRefusedDomains>
