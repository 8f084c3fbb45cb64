import { createCache } from '../../lib/collections/cache.ts'
import { KB, MB } from '../../lib/text/units.ts'
import { type BodyTracking, type CompiledBody, compileBody, isSimpleValue, shapeOf } from '../../mime/compiled/compiled-body.ts'
import { type CompiledHtml, compileHtml, readParts, unescapeHtml } from '../../mime/compiled/compiled-html.ts'
import { joinSlots, withoutSlots } from '../../mime/compiled/slotted-html.ts'
import { type ComposedMessage, compose, composeAround } from '../../mime/compose.ts'
import { type DkimKey, dkimSignature } from '../../mime/dkim.ts'
import type { FilledSkeleton, Skeleton } from '../../templates/outgoing-html.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { Content, RawContent } from '../outbox/contents/content.ts'
import { composeRaw } from './build-raw.ts'
import { createTracking, isTracked, type TrackingSetting, untrackedPrefixes } from './links/tracking.ts'
import { sharedEmailToken, sharedTargetToken, TOKEN_LENGTHS, tokensFor } from './links/tracking-token.ts'

/** Input of a build, after rendering. Plain data, because it is sent to a thread. */
export type BuildRequest = {
  email: Pick<ClaimedEmail, 'projectId' | 'id' | 'messageId' | 'createdAt' | 'toAddress' | 'toName'>
  content: Pick<Content, 'id' | 'type' | 'fromAddress' | 'replyTo' | 'attachments'> & { raw?: Content['raw'] }
  fromName: string
  subject: string
  html: string | FilledSkeleton
  headers: Record<string, string>
  tracking: TrackingSetting
  /** Base of links and images, instead of that of the installation. */
  linkUrl?: string | undefined
  returnPath: string | undefined
  /** For a server without 8BITMIME. Only messages of others need it. */
  as7bit?: boolean
  /** Undefined when the provider signs. */
  signer: DkimKey | undefined
}

/** Messages one after the other in one buffer, with the end of each; instead of a message, why there is none. */
export type BuiltGroup = { bytes: Uint8Array; ends: number[]; errors: (Error | undefined)[] }

/** Progress of a thread before the first and after the last email of a group; in between, the index of the current email. */
export const NOT_BEGUN = -2
export const ALL_BUILT = -1

type Deps = Parameters<typeof createTracking>[0]

/** Builds a message: text part, tracked links, MIME parts, DKIM signature. */
export function createMessageBuilder(deps: Deps) {
  const track = createTracking(deps)
  const skeletons = createSkeletons(deps)
  const bodyOf = createBodies(deps, skeletons)

  /** In advance if possible. An error there is ours, and the email is built like any other. */
  function copiedBody(request: BuildRequest) {
    try {
      return bodyOf(request)
    } catch (err) {
      deps.log.error({ err, emailId: request.email.id, projectId: request.email.projectId }, 'could not copy the body of an email')
      return undefined
    }
  }

  /** Tracked only if its sender asked for it, and the project allows it. */
  function composeSubmitted(request: BuildRequest, raw: RawContent) {
    const { email, content, tracking, linkUrl } = request
    const mayTrack = raw.isTracked && isTracked(tracking, content)
    return composeRaw(request, raw, mayTrack ? (html) => track({ email, content, tracking, linkUrl }, readParts(html)) : undefined)
  }

  function composeMessage(request: BuildRequest): ComposedMessage {
    const { email, content, fromName, subject, html, headers, tracking, linkUrl, returnPath } = request
    if (content.raw) return composeSubmitted(request, content.raw)
    const fields = {
      id: email.id,
      messageId: email.messageId,
      // The time of the row, so that a second attempt builds the same bytes.
      date: email.createdAt,
      from: { name: fromName, address: content.fromAddress },
      to: { name: email.toName, address: email.toAddress },
      replyTo: content.replyTo,
      returnPath,
      subject,
      headers,
    }
    const encoded = copiedBody(request)
    if (encoded) return composeAround(fields, encoded)
    const parts = typeof html === 'string' ? readParts(skeletons.moveImages(html, linkUrl)) : skeletons.partsOf(html, linkUrl)
    const tracked = track({ email, content, tracking, linkUrl }, parts)
    return compose({ ...fields, html: tracked, text: parts.text, attachments: content.attachments })
  }

  return (request: BuildRequest): ComposedMessage => {
    const message = composeMessage(request)
    const signature = request.signer ? dkimSignature(message, request.signer, request.email.createdAt) : ''
    return { ...message, head: signature + message.head }
  }
}

/** Per thread: the contents of many streams at once, whatever their size. */
const MAX_COMPILED = 8 * MB
const MAX_SKELETONS = 500

/** Parses the HTML of a content with its first email, and fills in the values of the others. */
function createSkeletons({ publicUrl }: Deps) {
  const kept = createCache<string, { compiled: CompiledHtml | undefined }>({ maxEntries: MAX_SKELETONS, maxWeight: MAX_COMPILED })

  /** Uploaded images are served by the link host too. */
  const moveImages = (html: string, linkUrl: string | undefined) =>
    linkUrl === undefined ? html : html.replaceAll(`${publicUrl}/uploads/`, `${linkUrl}/uploads/`)

  /** `emptyAt`: slots without a value are part of the text around them. */
  function compiledOf({ id, texts }: Skeleton, { emptyAt = [], linkUrl }: { emptyAt?: number[]; linkUrl: string | undefined }) {
    const key = [id, linkUrl ?? '', ...emptyAt].join(' ')
    const known = kept.get(key)
    if (known) return known.compiled
    const moved = linkUrl === undefined ? texts : texts.map((text) => moveImages(text, linkUrl))
    const compiled = compileHtml(emptyAt.length ? withoutSlots(moved, emptyAt) : moved)
    kept.set(key, { compiled }, compiled?.bytes ?? 100)
    return compiled
  }

  return {
    moveImages,
    compiledOf,
    partsOf: ({ skeleton, values }: FilledSkeleton, linkUrl: string | undefined) =>
      compiledOf(skeleton, { linkUrl })?.partsFor(values) ?? readParts(moveImages(joinSlots({ texts: skeleton.texts, values }), linkUrl)),
  }
}

/** Slots of a skeleton that may be empty: with more of them there would be too many bodies to encode in advance. */
const MAX_EMPTY = 2
/** Longer HTML, filled in, is built as if it were the only one: copying it is no longer what takes the time. */
const LONGEST_COPIED = 512 * KB

/** Encodes the body of a content with its first email, and copies it for the others. */
function createBodies({ secrets, publicUrl }: Deps, { compiledOf }: ReturnType<typeof createSkeletons>) {
  const bodies = createCache<string, { body: CompiledBody | undefined }>({ maxEntries: MAX_SKELETONS, maxWeight: MAX_COMPILED })

  const trackingOf = (contentId: string, linkUrl: string | undefined): BodyTracking => ({
    publicUrl: linkUrl ?? publicUrl,
    untracked: untrackedPrefixes(publicUrl, linkUrl),
    targetToken: (position, target) => sharedTargetToken(secrets, contentId, position, target),
    tokenLengths: TOKEN_LENGTHS,
  })

  function bodyFor(key: string, compile: () => CompiledBody | undefined) {
    const known = bodies.get(key)
    if (known) return known.body
    const body = compile()
    bodies.set(key, { body }, body?.bytes ?? 100)
    return body
  }

  /** Undefined when the content or these values need another way. */
  return ({ email, content, html, tracking, linkUrl }: BuildRequest): Buffer | undefined => {
    if (typeof html === 'string' || html.length > LONGEST_COPIED || content.attachments.length) return undefined
    const emptyAt = html.values.flatMap((value, slot) => (value === '' ? [slot] : []))
    if (emptyAt.length > MAX_EMPTY) return undefined
    const escaped = html.values.filter((value) => value !== '')
    const plain = escaped.map(unescapeHtml)
    if (!plain.every(isSimpleValue)) return undefined
    const compiled = compiledOf(html.skeleton, { emptyAt, linkUrl })
    const tracked = isTracked(tracking, content) ? trackingOf(content.id, linkUrl) : undefined
    const shape = compiled && shapeOf(compiled, plain, tracked)
    if (!shape) return undefined
    const { isShort, targets } = shape
    const trackedLinks = targets.map((target) => (target === undefined ? 0 : 1)).join('')
    const key = [html.skeleton.id, linkUrl ?? '', tracked ? content.id : '', ...emptyAt, isShort, trackedLinks].join(' ')
    const ref = { projectId: email.projectId, emailId: email.id, contentId: content.id }
    const tokens = tracked && { email: sharedEmailToken(secrets, ref), open: tokensFor(secrets, ref).open() }
    return bodyFor(key, () => compileBody(compiled, tracked, shape))?.write({ id: email.id, escaped, plain, targets, tokens })
  }
}
