import type { Means } from './classify.ts'

/** A message to be sent, with its envelope. */
export type OutgoingMessage = {
  /** Null for emails to account holders. */
  projectId: string | null
  id: string
  from: string
  /** Address for bounces, if not the from address. */
  returnPath?: string | undefined
  recipient: string
  subject: string
  /** Header and body with CRLF line ends. */
  message: Buffer
  /** No line begins with a dot, as in every message that we compose: nothing has to be escaped. */
  isWireForm?: boolean
  /** Extension that a submitted message needs: 8BITMIME for its body, or SMTPUTF8 for its headers. */
  form?: '8bit' | 'utf8'
  /** The same message for a server without 8BITMIME. */
  to7bit?: () => Promise<Buffer>
}

/**
 * The command at which an attempt ended. `session`: connection, greeting, EHLO, STARTTLS or AUTH, which say something about us and nothing
 * about a recipient. `sender`: MAIL FROM. `recipient`: RCPT TO. `message`: DATA, the message and its final dot.
 */
export type Stage = 'session' | 'sender' | 'recipient' | 'message'

/** A report about an accepted email. `bounce` is a hard bounce. */
export type Feedback = { is: 'delivery' | 'complaint'; at?: string } | { is: 'bounce' | 'soft-bounce'; reason: string; at?: string }

/**
 * Outcome of an attempt, as a value: each kind is handled differently, and none is an exception. `busy`: a session was refused while others of
 * this process were open, so the server may only limit their number.
 */
export type SendOutcome =
  /** `feedback`: reports that are known at once. */
  | { is: 'accepted'; response: string; providerId?: string; feedback?: Feedback[] }
  /** Refused, nothing was accepted. `disposition` is set by transports that do not speak SMTP. */
  | { is: 'refused'; at: Stage; code: number; response: string; busy?: boolean; disposition?: Means }
  /** Failed before the hand-over. */
  | { is: 'not-sent'; at: Stage; error: string; busy?: boolean }
  /** Not permitted to leave: as if it had not been tried. */
  | { is: 'withheld' }
  /** Handed over without a reply that says whether it was accepted. `aboutProvider`: several in a row are a reason to pause all sending. */
  | { is: 'unknown'; error: string; aboutProvider?: boolean }

/** Called synchronously with writing the last byte: false when the process was suspended since the mark, and others may have sent the email. */
export type Permit = () => boolean

/** Age after which a mark may be void: other workers may have declared this one dead. */
const MAX_MARK_AGE_MS = 2_000

/** Permit for a mark that was requested at that time. */
export const permitSince =
  (askedAt: number): Permit =>
  () =>
    performance.now() - askedAt < MAX_MARK_AGE_MS

/**
 * Sends messages. `send` calls `handOver` once, when everything but the last byte is on the wire. With a permit the hand-over is marked, and
 * the last byte may follow while the permit holds; without one the message must not leave. From then on `outgoing.message` may be empty: a
 * transport that has written it keeps no copy while it waits for the reply.
 */
export type Transport = {
  send(outgoing: OutgoingMessage, handOver: () => Promise<Permit | undefined>): Promise<SendOutcome>
  /** Refusals are final at once: no other server decides, so none of them can be about us. */
  refusesForGood?: boolean
  /** The sending quota, for providers that report one. */
  quota?(): Promise<ProviderQuota>
  close(): Promise<void>
}

/** Quota of the whole account, shared by all workers. `stopped`: why nothing may be sent at all; `isUsedUp` if that is the quota itself. */
export type ProviderQuota = { perSecond: number; stopped: string | null; isUsedUp: boolean }
