import { HOUR, SECOND } from '../../lib/text/units.ts'
import { RENDER_FAILURES, type Rendered } from '../../templates/rendering/rendered-email.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { HeldRefusal, Settlement } from '../outbox/outcomes/settlement.ts'
import { HELD } from '../outbox/refusals/hold.ts'
import { type Disposition, waitBeforeRetry } from '../transport/classify.ts'
import type { RefusedByGate } from './gate.ts'
import type { HeldBack } from './limits/health.ts'

// The meaning of the outcome of each step of sending for the row of the email. Pure.

export const settlementOfRefused = ({ email, address, error, ...outcome }: RefusedByGate): Settlement => ({
  ...idOf(email),
  toAddress: address,
  error,
  code: error,
  ...outcome,
})

/** The attempt that a mark or a settlement is about, with the address that it uses. */
export const idOf = ({ projectId, id, priority, attempts, toAddress, wasHeld }: ClaimedEmail) => ({
  projectId,
  id,
  priority,
  attempts,
  toAddress,
  ...(wasHeld ? { wasHeld } : {}),
})

/** As if the email had not been tried. */
export const PUT_BACK = { state: 'queued', putBack: true } as const

const WAITS_FOR_VERDICT = { state: 'deferred', error: HELD, code: HELD } as const

/** An email whose refusal is held goes back to where it was. */
export const holdBack = (email: ClaimedEmail, heldBack: HeldBack): Settlement => ({
  ...idOf(email),
  ...(email.wasHeld ? { ...WAITS_FOR_VERDICT, waitSeconds: heldBack.waitSeconds } : { state: 'deferred', ...heldBack }),
})

/** After the last of the waits between attempts. */
const LONGEST_WAIT_SECONDS = (6 * HOUR) / SECOND

/**
 * A plain refusal waits for its verdict. With any other one the email is also tried again from time to time: where nothing else is sent, only that
 * shows whether the relay has refused us.
 */
export const holdRefusal = (email: ClaimedEmail, refusal: HeldRefusal): Settlement => ({
  ...idOf(email),
  ...WAITS_FOR_VERDICT,
  refusal,
  waitSeconds: refusal.plain && !email.wasHeld ? null : (waitBeforeRetry({ failures: email.attempts - 1 }) ?? LONGEST_WAIT_SECONDS),
})

/**
 * The refusal, if it ends the email because of its recipient. Servers also say such things about us, so it is held until other emails show which it
 * is. A message that is too large, or a sender address with a wrong syntax, concerns that email alone.
 */
export const heldRefusalIn = (
  { action, about, reason, fingerprint, unknownRecipient = false, plain = false }: Disposition,
  acceptedBefore: boolean,
): HeldRefusal | undefined =>
  action === 'fail' && about === 'recipient' && reason !== null && fingerprint !== undefined
    ? { fingerprint, reply: reason, unknownRecipient, plain, acceptedBefore }
    : undefined

const THROTTLED_WAIT_SECONDS = 5

/** A refusal about the provider or the sender domain does not count against the email. */
export function settlementOf(
  email: ClaimedEmail,
  { action, reason, about, unknownRecipient, throttled }: Disposition,
  waitOfDomain: () => number,
): Settlement {
  const base = { ...idOf(email), error: reason }
  if (action === 'sent') return { ...base, state: 'sent' }
  if (action === 'unknown') return { ...base, state: 'unknown' }
  if (action === 'put-back') return { ...base, ...PUT_BACK }
  if (action === 'fail')
    return { ...base, state: 'failed', unknownRecipient: unknownRecipient ?? false, code: unknownRecipient ? 'bounced' : 'rejected' }
  if (about === 'provider' && throttled) return { ...base, state: 'deferred', code: 'throttled', waitSeconds: THROTTLED_WAIT_SECONDS }
  if (about === 'provider') return { ...base, state: 'queued', code: 'provider_paused' }
  if (about === 'sender-domain') return { ...base, state: 'deferred', code: 'domain_paused', waitSeconds: waitOfDomain() }
  return { ...base, ...retryLater(email, reason) }
}

type Unsent = Pick<Settlement, 'state' | 'error' | 'code' | 'waitSeconds' | 'failed' | 'timedOut'>

/** Time-outs of one email after which it fails. The first ones may be the fault of the machine, and a failed email is never sent. */
const MAX_TIMEOUTS = 3

export const afterTimeout = (email: ClaimedEmail, error: string): Unsent =>
  email.timeouts + 1 < MAX_TIMEOUTS
    ? { ...retryLater(email, error), timedOut: true }
    : { state: 'failed', error, code: 'rendering', timedOut: true }

export function afterFailedRendering(email: ClaimedEmail, { reason, untried }: Rendered & { ok: false }): Unsent {
  if (untried) return retryLater(email, reason)
  return reason === RENDER_FAILURES.time ? afterTimeout(email, reason) : { state: 'failed', error: reason, code: 'rendering' }
}

export function retryLater(email: ClaimedEmail, error: string | null): Unsent {
  const waitSeconds = waitBeforeRetry(email)
  return waitSeconds === null
    ? { state: 'failed', error, code: 'transient' }
    : { state: 'deferred', error, code: 'transient', waitSeconds, failed: true }
}
