import { createCache } from '../../lib/cache.ts'
import { MB } from '../../lib/text/units.ts'
import { type CompiledHtml, compileHtml, readParts } from '../../mime/compiled-html.ts'
import { type ComposedMessage, compose } from '../../mime/compose.ts'
import { type DkimKey, dkimSignature } from '../../mime/dkim.ts'
import { joinSlots } from '../../mime/slotted-html.ts'
import type { FilledSkeleton, Skeleton } from '../../templates/outgoing-html.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { Content } from '../outbox/content.ts'
import { createTracking, type TrackingSetting } from './tracking.ts'

/** Input of a build, after rendering. Plain data, because it is sent to a thread. */
export type BuildRequest = {
  email: Pick<ClaimedEmail, 'projectId' | 'id' | 'messageId' | 'createdAt' | 'toAddress' | 'toName'>
  content: Pick<Content, 'type' | 'fromAddress' | 'replyTo' | 'attachments'>
  fromName: string
  subject: string
  html: string | FilledSkeleton
  headers: Record<string, string>
  tracking: TrackingSetting
  returnPath: string | undefined
  /** Undefined when the provider signs. */
  signer: DkimKey | undefined
}

/** Progress of a thread before the first and after the last email of a group; in between, the index of the current email. */
export const NOT_BEGUN = -2
export const ALL_BUILT = -1

/** Builds a message: text part, tracked links, MIME parts, DKIM signature. */
export function createMessageBuilder(deps: Parameters<typeof createTracking>[0]) {
  const track = createTracking(deps)
  const partsOf = createSkeletons()
  return ({ email, content, fromName, subject, html, headers, tracking, returnPath, signer }: BuildRequest): ComposedMessage => {
    const parts = typeof html === 'string' ? readParts(html) : partsOf(html)
    const { head, body } = compose({
      id: email.id,
      messageId: email.messageId,
      // The time of the row, so that a second attempt builds the same bytes.
      date: email.createdAt,
      from: { name: fromName, address: content.fromAddress },
      to: { name: email.toName, address: email.toAddress },
      replyTo: content.replyTo,
      returnPath,
      subject,
      html: track({ email, content, tracking }, parts),
      text: parts.text,
      headers,
      attachments: content.attachments,
    })
    return { head: (signer ? dkimSignature({ head, body }, signer, email.createdAt) : '') + head, body }
  }
}

/** Per thread: the contents of many streams at once, whatever their size. */
const MAX_COMPILED = 16 * MB
const MAX_SKELETONS = 500

/** Parses the HTML of a content with its first email, and fills in the values of the others. */
function createSkeletons() {
  const kept = createCache<number, { compiled: CompiledHtml | undefined }>({ maxEntries: MAX_SKELETONS, maxWeight: MAX_COMPILED })

  function compiledOf({ id, texts }: Skeleton) {
    const known = kept.get(id)
    if (known) return known.compiled
    const compiled = compileHtml(texts)
    kept.set(id, { compiled }, compiled?.bytes ?? 100)
    return compiled
  }

  return ({ skeleton, values }: FilledSkeleton) =>
    compiledOf(skeleton)?.partsFor(values) ?? readParts(joinSlots({ texts: skeleton.texts, values }))
}
