import { fail } from '../../lib/errors/errors.ts'

/** Longest statement that evaluates a condition over all contacts of a project. */
export const LONG_STATEMENT_MS = 10_000
/** Limits of such a statement without a condition of the caller. */
export const LONG_SEARCH = { ms: LONG_STATEMENT_MS, advice: 'Try again later.' }
const RETRY_SECONDS = 30

/** For a statement that took longer. */
export const failTooSlow = (): never =>
  fail('SERVICE_UNAVAILABLE', {
    message: 'This condition takes too long to evaluate over all contacts of the project.',
    suggestion: 'Try again later, or make the condition simpler.',
    retryAfter: RETRY_SECONDS,
  })
