import type { Log } from '../../../lib/process/log.ts'
import type { Secrets } from '../../../lib/secrets.ts'
import type { HtmlParts } from '../../../mime/compiled/compiled-html.ts'
import type { ClaimedEmail } from '../../outbox/claim.ts'
import type { Content } from '../../outbox/contents/content.ts'
import { TRAP, tokensFor } from './tracking-token.ts'

export type TrackingSetting = 'ENABLED' | 'DISABLED' | 'MARKETING_ONLY'
type Tracked = {
  email: Pick<ClaimedEmail, 'projectId' | 'id'>
  content: Pick<Content, 'type'>
  tracking: TrackingSetting
  /** Base of links, instead of that of the installation. */
  linkUrl?: string | undefined
}

/** Prefixes of links that are never tracked: unsubscribing must work without a redirect. */
export const untrackedPrefixes = (publicUrl: string, linkUrl?: string) =>
  [publicUrl, ...(linkUrl === undefined ? [] : [linkUrl])].flatMap((base) =>
    ['unsubscribe', 'subscribe', 'manage'].map((page) => `${base}/${page}/`),
  )

export const isTracked = (tracking: TrackingSetting, { type }: Tracked['content']) =>
  tracking === 'ENABLED' || (tracking === 'MARKETING_ONLY' && type !== 'TRANSACTIONAL')

/** Adds open and click tracking to an email, if its project has it enabled. If that fails, the email is sent without tracking. */
export function createTracking({ secrets, publicUrl, log }: { secrets: Secrets; publicUrl: string; log: Log }) {
  function addressesFor({ projectId, id: emailId }: Tracked['email'], linkUrl: string | undefined) {
    const tokens = tokensFor(secrets, { projectId, emailId })
    const base = linkUrl ?? publicUrl
    return {
      untracked: untrackedPrefixes(publicUrl, linkUrl),
      click: (position: number, target: string) => `${base}/t/c/${tokens.click(position, target)}`,
      trap: () => `${base}/t/c/${tokens.click(TRAP, '')}`,
      pixel: () => `${base}/t/o/${tokens.open()}`,
    }
  }

  return ({ email, content, tracking, linkUrl }: Tracked, { html, withTracking }: Pick<HtmlParts, 'html' | 'withTracking'>) => {
    if (!isTracked(tracking, content)) return html
    try {
      return withTracking(addressesFor(email, linkUrl))
    } catch (err) {
      log.error({ err, emailId: email.id, projectId: email.projectId }, 'could not track the links of an email')
      return html
    }
  }
}
