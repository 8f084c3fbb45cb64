import { type Composed, compose } from '../../mime/compose.ts'
import { type DkimKey, dkimSignature } from '../../mime/dkim.ts'
import { readHtml } from '../../mime/html-to-text.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { Content } from '../outbox/content.ts'
import { createTracking, type TrackingSetting } from './tracking.ts'

/** What a mail is made of, once it is rendered. Nothing but data: it is made in another thread. */
export type BuildRequest = {
  mail: Pick<ClaimedEmail, 'projectId' | 'id' | 'messageId' | 'createdAt' | 'toAddress' | 'toName'>
  content: Pick<Content, 'type' | 'fromAddress' | 'replyTo' | 'attachments'>
  sender: string
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
export function createBuild(means: Parameters<typeof createTracking>[0]) {
  const trackHits = createTracking(means)
  return ({ mail, content, sender, subject, html, headers, tracking, returnPath, signer }: BuildRequest): Composed => {
    const read = readHtml(html)
    const { head, body } = compose({
      id: mail.id,
      messageId: mail.messageId,
      // The row's time, so that a second attempt is the same mail to the byte.
      date: mail.createdAt,
      from: { name: sender, address: content.fromAddress },
      to: { name: mail.toName, address: mail.toAddress },
      replyTo: content.replyTo,
      returnPath,
      subject,
      html: trackHits({ mail, content, tracking }, html, read),
      text: read.text,
      headers,
      attachments: content.attachments,
    })
    return { head: (signer ? dkimSignature({ head, body }, signer, mail.createdAt) : '') + head, body }
  }
}
