import type { SafeOutcome } from '../lib/network/safe-fetch.ts'
import { HOUR, SECOND } from '../lib/text/units.ts'

/** Longest wait that a Retry-After header can ask for: a wrong one must not use up the whole day. */
const MAX_RETRY_AFTER_MS = HOUR

export const hasSucceeded = (outcome: SafeOutcome) => outcome.is === 'status' && outcome.status >= 200 && outcome.status < 300

/** Why an attempt failed. Never what the host said: it could be one of our own network. */
export const reasonOf = (outcome: SafeOutcome) =>
  outcome.is === 'status' ? `The host answered with status ${outcome.status}.` : outcome.reason

/** Milliseconds to the next attempt: those of the schedule, or more if the host asks for it. Undefined after the last one. */
export function waitAfter(waitsMs: readonly number[], attempts: number, outcome: SafeOutcome, now: Date): number | undefined {
  const wait = waitsMs[attempts - 1]
  if (wait === undefined) return undefined
  const asked = outcome.is === 'status' ? readRetryAfter(outcome.retryAfter, now) : 0
  return Math.max(wait, Math.min(asked, MAX_RETRY_AFTER_MS))
}

/** Milliseconds. The header is a number of seconds or a date; anything else counts as absent. */
function readRetryAfter(text: string | undefined, now: Date): number {
  if (text === undefined) return 0
  if (/^\d{1,9}$/.test(text)) return Number(text) * SECOND
  const ms = Date.parse(text) - now.getTime()
  return ms > 0 ? ms : 0
}
