import { sql } from 'kysely'

/** Why an email has not been sent, or will not be: the class of its `error`. The value says whether a resend may help. */
export const ERROR_CODES = {
  // Skipped: not sent by decision.
  unsubscribed: false,
  suppressed: false,
  contact_deleted: false,
  invalid: false,
  project_deleted: false,
  cancelled: true,
  // Failed: sending was tried or given up.
  bounced: false,
  rejected: false,
  domain_not_verified: true,
  rendering: true,
  too_large: true,
  transient: true,
  expired: true,
  outcome_unknown: true,
  crashed: false,
  // Deferred: will be tried again. So is `transient`.
  provider_paused: true,
  domain_paused: true,
  throttled: true,
  project_disabled: true,
  verifying_refusal: true,
} as const

export type EmailErrorCode = keyof typeof ERROR_CODES

const [first, ...others] = Object.keys(ERROR_CODES) as EmailErrorCode[]
export const ERROR_CODE_LIST: [EmailErrorCode, ...EmailErrorCode[]] = [first!, ...others]

/** The error code of an email `e`. An email that was sent and came back has no code of its own. */
export const ERROR_CODE = sql`case
  when e.state = 'cancelled' then 'cancelled'
  when e.error_code is not null then e.error_code
  when e.bounced_at is not null then 'bounced'
  when e.state = 'failed' then 'rejected'
  when e.state = 'deferred' then 'transient' end`
