import { createCache } from '../../../lib/cache.ts'
import { MINUTE, SECOND } from '../../../lib/text/units.ts'
import { MAX_EQUAL_REPLIES } from '../../outbox/refusals/hold.ts'

/** Emails of a sender domain on the wire while its last reply was a permanent refusal of a recipient. */
const MAX_AFTER_REFUSAL = 5
/** After this time an email on the wire no longer counts: its reply may take ten minutes. */
const MAX_AWAITED_MS = 10 * SECOND
const REMEMBERED = { maxEntries: 10_000 }

type Sender = { projectId: string; domain: string }
type OnWire = Sender & { beganAt: number }

const keyOf = ({ projectId, domain }: Sender) => `${projectId} ${domain}`

/**
 * What this worker knows of sender domains from the replies to its own emails. After a refusal that may be about us few emails of the domain leave at
 * once, and after as many as would pause it one at a time: those on the wire show whether it has to be paused. In memory.
 */
export function createRefusedDomains(now: () => number = () => performance.now()) {
  const acceptedAt = createCache<string, number>(REMEMBERED)
  const refusals = createCache<string, number>(REMEMBERED)
  const onWire = new Map<object, OnWire>()

  function countOnWire(sender: Sender) {
    let count = 0
    for (const { projectId, domain, beganAt } of onWire.values())
      if (projectId === sender.projectId && domain === sender.domain && now() - beganAt < MAX_AWAITED_MS) count++
    return count
  }

  function mayLeave({ email: { projectId }, domain }: { email: { projectId: string }; domain: string }) {
    const sender = { projectId, domain }
    const count = refusals.get(keyOf(sender))
    return count === undefined || countOnWire(sender) < (count < MAX_EQUAL_REPLIES ? MAX_AFTER_REFUSAL : 1)
  }

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
      const count = refusals.get(keyOf(sender)) ?? 0
      refusals.set(keyOf(sender), isKnown ? Math.max(1, count) : count + 1)
    },
    wasAcceptedLately: (sender: Sender) => now() - (acceptedAt.get(keyOf(sender)) ?? Number.NEGATIVE_INFINITY) < MINUTE,
    /** Whether another email of its domain may take a connection. Undefined while all may. */
    mayLeave: () => (refusals.size ? mayLeave : undefined),
    isOnWire: (sender: Sender) => countOnWire(sender) > 0,
    /** Domains with emails on the wire whose replies are awaited. */
    onWire: () =>
      [...onWire.values()]
        .filter(({ beganAt }) => now() - beganAt < MAX_AWAITED_MS)
        .map(({ projectId, domain }) => ({ projectId, domain })),
  }
}

export type RefusedDomains = ReturnType<typeof createRefusedDomains>
