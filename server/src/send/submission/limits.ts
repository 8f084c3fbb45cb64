import { HOUR, KB, MINUTE, SECOND } from '../../lib/text/units.ts'
import { MAX_MESSAGE } from '../../mime/compose.ts'

export const SUBMISSION_LIMITS = {
  messageBytes: MAX_MESSAGE,
  recipients: 1_000,
  /** Refused recipients of one message, too many or no addresses; a client that goes on regardless is disconnected. */
  refusedRecipients: 1_000,
  connections: 1_000,
  /** From one network: a few application servers behind one address. */
  connectionsOfOne: 200,
  /** Connections of one owner, from all networks. */
  connectionsOfOwner: 200,
  /** Wrong keys per connection. */
  failedLogins: 3,
  /** Time to log in: a connection without a project is bound to no limit of one. */
  loginMs: MINUTE,
  /** Time in which the only connection of its network is expected to log in: before, it makes no room for others. */
  freshMs: 5 * SECOND,
  idleMs: 2 * MINUTE,
  /** Time for one message: a client that sends a byte now and then is never idle. */
  messageMs: 10 * MINUTE,
  connectionMs: HOUR,
  /** Time for messages in progress when the process stops. */
  closingMs: 5 * SECOND,
  /** Longest command: one with a key and a user name. */
  commandBytes: 4 * KB,
}

export type SubmissionLimits = typeof SUBMISSION_LIMITS
