import { type ComposedMessage, compose } from '../../mime/compose.ts'
import { type DkimKey, dkimSignature } from '../../mime/dkim.ts'
import { readHtml } from '../../mime/html-to-text.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { Content } from '../outbox/content.ts'
import { createTracking, type TrackingSetting } from './tracking.ts'

/** What a mail is made of, once it is rendered. Nothing but data: it is made in another thread. */
export type BuildRequest = {
  email: Pick<ClaimedEmail, 'projectId' | 'id' | 'messageId' | 'createdAt' | 'toAddress' | 'toName'>
  content: Pick<Content, 'type' | 'fromAddress' | 'replyTo' | 'attachments'>
  fromName: string
  subject: string
  html: string
  headers: Record<string, string>
  tracking: TrackingSetting
  returnPath: string | undefined
  /** Without one the other side signs. */
  signer: DkimKey | undefined
}

/** What a thread says before the first and after the last of a group; between them, the index of the one it is at. */
export const NOT_BEGUN = -2
export const ALL_BUILT = -1

/** How a mail is made: its words for those who read no HTML, its links, its parts, its signature. */
export function createMessageBuilder(means: Parameters<typeof createTracking>[0]) {
  const trackHits = createTracking(means)
  return ({ email, content, fromName, subject, html, headers, tracking, returnPath, signer }: BuildRequest): ComposedMessage => {
    const read = readHtml(html)
    const { head, body } = compose({
      id: email.id,
      messageId: email.messageId,
      // The row's time, so that a second attempt is the same mail to the byte.
      date: email.createdAt,
      from: { name: fromName, address: content.fromAddress },
      to: { name: email.toName, address: email.toAddress },
      replyTo: content.replyTo,
      returnPath,
      subject,
      html: trackHits({ email, content, tracking }, html, read),
      text: read.text,
      headers,
      attachments: content.attachments,
    })
    return { head: (signer ? dkimSignature({ head, body }, signer, email.createdAt) : '') + head, body }
  }
}
