import type { CamelRow } from '../../../db/columns.ts'
import type { EmailErrorCode } from './error-code.ts'

/**
 * A refusal whose consequences are written once it is known that it is not about us. `plain`: its words leave no doubt (`plain-refusal.ts`).
 * `acceptedBefore`: another recipient of the sender domain was accepted within the minute before.
 */
export type HeldRefusal = { fingerprint: string; reply: string; unknownRecipient: boolean; plain: boolean; acceptedBefore: boolean }

/** Outcome of an attempt, as written to the row. */
export type Settlement = Pick<CamelRow<'emails'>, 'projectId' | 'id' | 'attempts'> & {
  /** Bulk waits longer for a larger batch. */
  priority?: number
  state: 'sent' | 'failed' | 'skipped' | 'deferred' | 'queued' | 'unknown'
  error: string | null
  code?: EmailErrorCode | null
  /** The rendered subject, if it differs from the content's. */
  subject?: string | undefined
  providerId?: string | null
  /** For `deferred`. */
  waitSeconds?: number | null
  /** Counts as a failure; after enough of them the email fails permanently. */
  failed?: boolean
  /** The address does not exist: a hard bounce. */
  unknownRecipient?: boolean
  /** The address that was tried. */
  toAddress?: string
  /** The email was not permitted to leave: not counted among the attempts that are shown. */
  putBack?: boolean
  /** Rendering or building it ran out of time. */
  timedOut?: boolean
  /** The sender domain. An accepted recipient ends its streaks of equal refusals. */
  domain?: string
  /** Its refusal was held: with any other outcome than a further refusal it is not any more. */
  wasHeld?: boolean
  /** A refusal that is held. */
  refusal?: HeldRefusal
  /** When the dialogue with the server began, by the monotonic clock of this process. */
  beganAt?: number
}
