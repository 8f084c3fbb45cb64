import { MINUTE } from '../../lib/text/units.ts'
import { REFUSAL_TIMING } from '../outbox/refusals/hold.ts'
import { POLL_MS } from './intake.ts'
import { PAUSE_TIMING } from './limits/pauses.ts'

/**
 * `leaseMs`: how long a silent worker counts as alive. `unknownMs`: how long evidence about an unknown outcome is awaited before the policy
 * decides; `resolveMs`: how often that is checked. `lastRepliesMs`: on shutdown, time for replies to emails that are handed over. An email
 * without its reply may have to be sent twice. `lingerMs`: after this time without a reply an email gives up its slot on the wire. `pollMs`:
 * wait for a wake signal before the queue is asked again without one.
 */
export const SENDER_TIMING = {
  leaseMs: 15_000,
  unknownMs: 15 * MINUTE,
  resolveMs: 5_000,
  lastRepliesMs: 15_000,
  lingerMs: 15_000,
  pollMs: POLL_MS,
  refusals: REFUSAL_TIMING,
  pauses: PAUSE_TIMING,
}
export type SenderTiming = typeof SENDER_TIMING
