import type { Disposition } from './classify.ts'

/** A mail as it goes out: who, to whom, and every byte of it. */
export type OutgoingMessage = {
  /** Null for mails to account holders. */
  projectId: string | null
  id: string
  sender: string
  /** Where it comes back to, if that is not the sender. */
  returnPath?: string | undefined
  recipient: string
  subject: string
  /** CRLF line ends, header and body. */
  message: Buffer
}

/**
 * The command at which an attempt ended. `session`: connection, greeting, EHLO, STARTTLS or AUTH, which say something about us and nothing
 * about a recipient. `sender`: MAIL FROM. `recipient`: RCPT TO. `message`: DATA, the message and its final dot.
 */
export type Stage = 'session' | 'sender' | 'recipient' | 'message'

/** What happens to an email after it was accepted. `bounce` is a hard bounce, `soft-bounce` one whose reason may pass. */
export type Feedback = { is: 'delivery' | 'complaint'; at?: string } | { is: 'bounce' | 'soft-bounce'; reason: string; at?: string }

/**
 * What became of an attempt, as a value: each kind is dealt with differently, and none is an exception. `busy`: a session was refused while others
 * of this process were open, so the server may only limit their number.
 */
export type SendOutcome =
  /** With `feedback` when it is known at once what will become of it. */
  | { is: 'accepted'; response: string; providerId?: string; feedback?: Feedback[] }
  /** The other side said no. Nothing was taken. With `means` when it does not speak SMTP. */
  | { is: 'refused'; at: Stage; code: number; response: string; busy?: boolean; disposition?: Omit<Disposition, 'reason'> }
  /** It never came to the hand-over. */
  | { is: 'not-sent'; at: Stage; error: string; busy?: boolean }
  /** It was not let go: as if nobody had tried. */
  | { is: 'withheld' }
  /** Handed over, and no answer came. */
  | { is: 'unknown'; error: string }

/** Asked in the same breath as the last byte is written: false when the process slept since, and others may have sent it. */
export type Permit = () => boolean

/** A mark older than this may be void: others may have taken this process for dead. */
const MAX_MARK_AGE_MS = 2_000

/** For a mark that was asked for then. */
export const permitSince =
  (asked: number): Permit =>
  () =>
    performance.now() - asked < MAX_MARK_AGE_MS

/**
 * A way out. `handOver` must be called once, after everything but the last byte is on the wire: with a permit the hand-over is on
 * record and the last byte may follow while it holds; without one the mail must not leave.
 */
export type Transport = {
  send(mail: OutgoingMessage, handOver: () => Promise<Permit | undefined>): Promise<SendOutcome>
  /** What the other side lets us send, where it can be asked. */
  quota?(): Promise<ProviderQuota>
  close(): Promise<void>
}

/** Of the whole account, however many processes use it. `stopped` says why nothing may be sent at all. */
export type ProviderQuota = { perSecond: number; stopped: string | null }
