import { fail } from '../lib/errors.ts'
import { networkOf } from '../lib/network.ts'
import { createTally } from '../lib/tally.ts'

/** Of what a project may do in a minute: this much for one contact, and this much of it to change its subscription. */
const CONTACT_SHARE = 0.3
const CHOICE_SHARE = 0.03
const WINDOW = { windowMs: 60_000 }

/**
 * The public key is in everyone's hands. Beside the limit of its project these keep one visitor from spending it on one person,
 * from flipping somebody's subscription to and fro, and one address from spending the limits of many projects. Counted per node.
 */
export function createTrackLimits(perMinute: number) {
  if (perMinute === 0) return () => {}
  const share = (part: number) => Math.max(1, Math.ceil(perMinute * part))
  const networks = createTally({ limit: perMinute, ...WINDOW })
  const contacts = createTally({ limit: share(CONTACT_SHARE), ...WINDOW })
  const choices = createTally({ limit: share(CHOICE_SHARE), ...WINDOW })

  const take = (tally: typeof networks, subject: string, what: string) => {
    if (tally.hit(subject)) fail('RATE_LIMIT_EXCEEDED', { message: `Too many requests ${what}.`, retryAfter: tally.retryAfter(subject) })
  }

  return ({ projectId, email, ip, choosing }: { projectId: string; email: string; ip: string; choosing: boolean }) => {
    const contact = `${projectId} ${email}`
    take(networks, networkOf(ip), 'from your address')
    take(contacts, contact, 'for this contact')
    if (choosing) take(choices, contact, 'to change the subscription of this contact')
  }
}
