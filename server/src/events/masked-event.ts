import type { CallingProject } from '../http/auth/key-lookup.ts'
import { hasScope } from '../http/auth/scopes.ts'
import { MASK } from '../lib/text/mask.ts'

/**
 * Values with `persistent: false` are for one email: passwords, codes, links to sign in. Without `send` they are masked where emails are shown.
 */
export const seesOneTimeValues = (caller: Pick<CallingProject, 'scopes'>) => hasScope(caller, 'send')

type Event = { name: string; data: Record<string, unknown> }

/** As rendered, both may have a one-time value in them. */
const RENDERED = ['subject', 'link']

/** An event of an email without what was rendered for it alone. Campaigns have no one-time values, and received emails were not rendered. */
export function maskEvent<Shown extends Event>(event: Shown): Shown {
  const { name, data } = event
  if (!name.startsWith('email.') || name === 'email.received' || typeof data.campaignId === 'string') return event
  const masked = RENDERED.filter((key) => Object.hasOwn(data, key)).map((key) => [key, MASK])
  return { ...event, data: { ...data, ...Object.fromEntries(masked) } }
}
