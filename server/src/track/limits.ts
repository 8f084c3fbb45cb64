import { createWindowCounter } from '../lib/concurrency/window-counter.ts'
import { fail } from '../lib/errors/errors.ts'
import { MINUTE } from '../lib/text/units.ts'

/** Requests per minute that may set the subscription of one contact. */
export const SUBSCRIPTION_CHANGES_PER_MINUTE = 30

/**
 * The public key is public. This keeps a visitor from toggling another person's subscription; all other requests are bounded by the rate
 * limit of the project only. Counted per node.
 */
export function createSubscriptionLimit(perMinute: number): (call: { projectId: string; email: string }) => void {
  if (perMinute === 0) return () => {}
  const changes = createWindowCounter({ limit: SUBSCRIPTION_CHANGES_PER_MINUTE, windowMs: MINUTE })
  return ({ projectId, email }) => {
    const contact = `${projectId} ${email}`
    if (changes.count(contact))
      fail('RATE_LIMIT_EXCEEDED', {
        message: 'Too many requests to change the subscription of this contact.',
        retryAfter: changes.retryAfter(contact),
      })
  }
}
