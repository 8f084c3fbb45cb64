import type { Log } from '../../lib/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import type { HtmlParts } from '../../mime/compiled/compiled-html.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { Content } from '../outbox/content.ts'
import { TRAP, tokensFor } from './tracking-token.ts'

export type TrackingSetting = 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY'
type Tracked = { email: Pick<ClaimedEmail, 'projectId' | 'id'>; content: Pick<Content, 'type'>; tracking: TrackingSetting }

/** Prefixes of links that are never tracked: unsubscribing must work without a redirect. */
export const untrackedPrefixes = (publicUrl: string) => ['unsubscribe', 'subscribe', 'manage'].map((page) => `${publicUrl}/${page}/`)

export const isTracked = (tracking: TrackingSetting, { type }: Tracked['content']) =>
  tracking === 'ENABLED' || (tracking === 'MARKETING_ONLY' && type !== 'TRANSACTIONAL')

/** Adds open and click tracking to an email, if its project has it enabled. If that fails, the email is sent without tracking. */
export function createTracking({ secrets, publicUrl, log }: { secrets: Secrets; publicUrl: string; log: Log }) {
  const untracked = untrackedPrefixes(publicUrl)

  function addressesFor({ projectId, id: emailId }: Tracked['email']) {
    const tokens = tokensFor(secrets, { projectId, emailId })
    return {
      untracked,
      click: (position: number, target: string) => `${publicUrl}/t/c/${tokens.click(position, target)}`,
      trap: () => `${publicUrl}/t/c/${tokens.click(TRAP, '')}`,
      pixel: () => `${publicUrl}/t/o/${tokens.open()}`,
    }
  }

  return ({ email, content, tracking }: Tracked, { html, withTracking }: Pick<HtmlParts, 'html' | 'withTracking'>) => {
    if (!isTracked(tracking, content)) return html
    try {
      return withTracking(addressesFor(email))
    } catch (err) {
      log.error({ err, emailId: email.id, projectId: email.projectId }, 'could not track the links of an email')
      return html
    }
  }
}
