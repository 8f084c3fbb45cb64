import type { Result } from '@sterna/sdk'
import { RESENDABLE } from '../campaign/words.ts'

type Reasons = Result<'GET /campaigns/{id}/reasons'>['data']

/** Recipients that can be resent, by reason, and recipients whose outcome is unknown. */
export function resendableOf(reasons: Reasons) {
  const failed = reasons.filter(({ outcome }) => outcome === 'failed')
  const passing = failed.flatMap(({ reason, recipients }) => (reason && RESENDABLE.includes(reason) ? [{ reason, recipients }] : []))
  const unknown = failed.find(({ reason }) => reason === 'outcome_unknown')?.recipients ?? 0
  return { passing, count: passing.reduce((sum, { recipients }) => sum + recipients, 0), unknown }
}
