import { BYTE_BUDGET_LIMITS } from '../lib/fair/byte-budget.ts'
import { MB, SECOND } from '../lib/text/units.ts'

export const LIMITS = {
  messageBytes: 25 * MB,
  /** Total size of the messages being received at once. */
  heldBytes: 128 * MB,
  budget: BYTE_BUDGET_LIMITS,
  recipients: 100,
  /** Unknown recipients per connection: a client that guesses addresses is disconnected. */
  refusals: 20,
  connections: 200,
  /** From one network. A relay that delivers the bounces of a campaign opens twenty. */
  connectionsOfOne: 30,
  idleMs: 60 * SECOND,
  /** Total duration: a client that sends a byte now and then is never idle. */
  connectionMs: 600 * SECOND,
  /** Per project, without reports about emails. */
  messagesPerMinute: 600,
  /** Share of these that one client network may use. */
  messagesOfOneNetwork: 300,
  /** Time for messages in progress when the process stops. */
  closingMs: 3 * SECOND,
}

export type Limits = typeof LIMITS
