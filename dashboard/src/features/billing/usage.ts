import type { Result } from '@sterna/sdk'

export type Limits = Result<'GET /users/@me/projects/{id}/billing-limits'>
export const CATEGORIES = ['transactional', 'campaigns', 'workflows', 'inbound'] as const
export type Category = (typeof CATEGORIES)[number]

export const CATEGORY_WORDS: Record<Category, { name: string; what: string; whenReached: string }> = {
  transactional: { name: 'Transactional', what: 'Emails by the API', whenReached: '/v1/send answers 402.' },
  campaigns: { name: 'Campaigns', what: 'Emails of campaigns', whenReached: 'Campaigns do not start; scheduled ones pause.' },
  workflows: { name: 'Workflows', what: 'Emails of workflows', whenReached: 'Steps that send an email fail.' },
  inbound: { name: 'Received', what: 'Emails to your domains', whenReached: 'Senders are asked to try again later.' },
}

const DAY_MS = 86_400_000

/** The day on which a cap will be reached if usage goes on like this. Undefined: not in this period, or unknown. */
export function reachedOn(
  { limit, usage }: { limit: number | null; usage: number },
  period: { start: string; end: string },
  now: number,
): string | undefined {
  if (limit === null || usage >= limit) return undefined
  const elapsed = now - Date.parse(period.start)
  // The first hours say little about a month.
  if (usage === 0 || elapsed < DAY_MS) return undefined
  const at = now + ((limit - usage) * elapsed) / usage
  return at < Date.parse(period.end) ? new Date(at).toISOString() : undefined
}

/** A cap as typed: a positive whole number, or nothing for no cap. Undefined: neither. */
export function readCap(text: string): number | null | undefined {
  const digits = text.trim().replace(/[\s,._']/g, '')
  if (digits === '') return null
  return /^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined
}
