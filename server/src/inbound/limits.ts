const MB = 1024 * 1024
const SECOND = 1_000
export const LIMITS = {
  messageBytes: 25 * MB,
  /** Of all messages that are on their way in. */
  heldBytes: 128 * MB,
  recipients: 100,
  /** Wrong ones in one connection: who knows none of our addresses tries them out. */
  refusals: 20,
  connections: 200,
  /** A relay that brings the bounces of a campaign has twenty. */
  connectionsOfOne: 30,
  idleMs: 60 * SECOND,
  /** Who sends a byte now and then is never idle. */
  connectionMs: 600 * SECOND,
  /** For one project; reports about mails do not count. */
  messagesPerMinute: 600,
  /** The part of those that may come from one client network. */
  messagesOfOneNetwork: 300,
  /** When this process stops, what has begun to arrive has so long. */
  closingMs: 3 * SECOND,
}

export type Limits = typeof LIMITS
