import { fail } from '../lib/errors.ts'
import { isPublic, networkOf } from '../lib/network.ts'
import { createTally } from '../lib/tally.ts'

/** Parts of what a project may do in a minute. */
const SHARES = { contact: 0.3, choice: 0.03, network: 5 }
const WINDOW = { windowMs: 60_000 }

type Call = { projectId: string; email: string; ip: string; choosing: boolean }

/**
 * The public key is in everyone's hands. Beside the limit of its project these keep a visitor from spending it on one person,
 * from flipping somebody's subscription to and fro, and one network from spending the limits of many projects. Counted per node.
 */
export function createTrackLimits(perMinute: number): (call: Call) => void {
  if (perMinute === 0) return () => {}
  const tallyOf = (share: number) => createTally({ limit: Math.max(1, Math.ceil(perMinute * share)), ...WINDOW })
  const contacts = tallyOf(SHARES.contact)
  const choices = tallyOf(SHARES.choice)
  const networks = tallyOf(SHARES.network)

  const take = (tally: typeof networks, subject: string, what: string) => {
    if (tally.hit(subject)) fail('RATE_LIMIT_EXCEEDED', { message: `Too many requests ${what}.`, retryAfter: tally.retryAfter(subject) })
  }

  return ({ projectId, email, ip, choosing }) => {
    const contact = `${projectId} ${email}`
    take(contacts, contact, 'for this contact')
    if (choosing) take(choices, contact, 'to change the subscription of this contact')
    // A proxy we were not told of speaks for everyone: better no limit than one for all together.
    if (isPublic(ip)) take(networks, networkOf(ip), 'from your network')
  }
}
