import type { Pool } from '../../db/index.ts'
import { urlOnHost } from '../../domains/link-hosts/link-host.ts'
import type { SenderDomain } from '../../domains/verified.ts'
import type { Log } from '../../lib/process/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { storable } from '../../lib/text/storable.ts'
import { MAX_MESSAGE } from '../../mime/compose.ts'
import { unsubscribeHeaders } from '../../preferences/footer.ts'
import { preferenceLinks } from '../../preferences/link.ts'
import type { Recipient } from '../../templates/language/variables.ts'
import { outgoingHtml } from '../../templates/outgoing-html.ts'
import type { Rendered, RenderedEmail } from '../../templates/rendering/rendered-email.ts'
import type { BuildRequest } from '../message/build.ts'
import { BuildError, createBuildPool } from '../message/build-pool.ts'
import { feedbackSenderOf, withFeedbackId } from '../message/feedback-id.ts'
import { listHeaders } from '../message/list-headers.ts'
import { returnPathOf } from '../message/return-path.ts'
import type { createTimeouts } from '../message/timeouts.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import type { Content } from '../outbox/contents/content.ts'
import type { Settlement } from '../outbox/outcomes/settlement.ts'
import { variablesFor } from '../outbox/own-variables.ts'
import { needsConsent } from '../rules/may-send.ts'
import type { OutgoingMessage } from '../transport/transport.ts'
import type { Admitted } from './gate.ts'
import type { OwnerOf } from './limits/capacity.ts'
import { afterFailedRendering, afterTimeout, idOf, retryLater } from './settlements.ts'
import { createSigningKeys } from './signing-keys.ts'

/** An email that has passed the gate and whose message is built. */
export type ReadyEmail = {
  email: ClaimedEmail
  outgoing: OutgoingMessage
  /** Domain of the from address. */
  domain: string
  /** Sent to find out whether its paused sender domain works again. */
  probe: boolean
  needsConsent: boolean
  /** The rendered subject, if it differs from the content's. */
  subject: string | undefined
  /** When it passed the gate. */
  checkedAt: number
}

/** No result: rendering itself failed, which is not the fault of the template. */
type RenderedFor = { admitted: Admitted; recipient: Recipient; result: Rendered | undefined }
type BuiltEmail = Omit<ReadyEmail, 'checkedAt'> | { settlement: Settlement }

const TOO_LARGE = 'The message is larger than 40 MB.'

export type BuilderDeps = {
  db: Pool
  secrets: Secrets
  log: Log
  publicUrl: string
  signs: boolean
  /** Domain of return paths, where this installation receives bounces. Without it they go to the from address. */
  bounceDomain: string | undefined
  ownerOf: OwnerOf
  timeouts: ReturnType<typeof createTimeouts>
}

/** Makes the message of an email: links, headers and signature around its rendered content. */
export function createEmailBuilder({ db, secrets, log, publicUrl, signs, bounceDomain, ownerOf, timeouts }: BuilderDeps) {
  const keyOf = createSigningKeys(db, secrets)
  const sharedContent = createSharedContents()
  const feedbackSender = feedbackSenderOf(publicUrl)
  const host = new URL(publicUrl).hostname
  const headersOf = createSharedHeaders(({ projectId, campaignId, sourceType }, { type, headers }) => ({
    ...withFeedbackId({ projectId, campaignId }, { type, headers }, feedbackSender),
    ...listHeaders({ projectId, sourceType, type, headers }, host),
  }))
  const buildPool = createBuildPool({ secrets, publicUrl, log, ownerOf })

  /** Never throws: an email that cannot be built is settled like one that was refused. */
  async function build({ admitted, recipient, result }: RenderedFor, probe: boolean): Promise<BuiltEmail> {
    const { email, signer, content } = admitted
    if (!result) return { settlement: { ...idOf(email), ...retryLater(email, 'The email could not be rendered.') } }
    if (!result.ok) return { settlement: { ...idOf(email), ...afterFailedRendering(email, result) } }
    const subject = result.subject === content.subject ? undefined : storable(result.subject)
    try {
      const outgoing = await buildMessage(admitted, recipient, result)
      // The limit of a message of others was checked when it arrived, without our headers.
      if (outgoing.message.length > MAX_MESSAGE && !content.raw)
        return { settlement: { ...idOf(email), state: 'failed', error: TOO_LARGE, code: 'too_large', subject } }
      return { email, outgoing, domain: signer.domain, probe, needsConsent: needsConsent(content.type) && !email.test, subject }
    } catch (err) {
      if (err instanceof BuildError)
        return { settlement: { ...idOf(email), ...(err.untried ? retryLater : afterTimeout)(email, err.message), subject } }
      log.error({ err, emailId: email.id, projectId: email.projectId }, 'could not compose an email')
      return { settlement: { ...idOf(email), ...retryLater(email, 'The email could not be composed.'), subject } }
    }
  }

  /** Undefined without a link host of the sender domain. */
  const linkUrlOf = ({ linkHost }: SenderDomain) => (linkHost === null ? undefined : urlOnHost(publicUrl, linkHost))

  const recipientOf = ({ email, contact, signer }: Admitted): Recipient =>
    Object.assign(
      preferenceLinks(secrets, linkUrlOf(signer) ?? publicUrl, { projectId: email.projectId, contactId: contact.id, emailId: email.id }),
      variablesFor(contact, email),
    )

  async function buildMessage(
    { email, content, signer, tracking }: Admitted,
    recipient: Recipient,
    rendered: RenderedEmail,
  ): Promise<OutgoingMessage> {
    const { projectId, id, priority, messageId, createdAt, toAddress, toName } = email
    const { type, fromAddress } = content
    const returnPath = bounceDomain && returnPathOf(secrets, { projectId, emailId: id }, bounceDomain)
    const request: BuildRequest = {
      email: { projectId, id, messageId, createdAt, toAddress, toName },
      content: sharedContent(content),
      fromName: content.fromName,
      subject: rendered.subject,
      html: content.raw ? '' : outgoingHtml(content, recipient, rendered),
      headers: { ...headersOf(email, content), ...unsubscribeHeaders(type, recipient, content.headers) },
      tracking,
      linkUrl: linkUrlOf(signer),
      returnPath,
      signer: signs ? await keyOf(projectId, signer) : undefined,
    }
    const message = await buildPool.build(priority, request, timeouts.guardOf(content.id))
    const envelope = { projectId, id, from: fromAddress, returnPath, recipient: toAddress, subject: rendered.subject, message }
    if (content.raw) {
      const { form } = content.raw
      const to7bit = () => buildPool.build(priority, { ...request, as7bit: true })
      return { ...envelope, isWireForm: !message.includes('\r\n.'), ...(form === '7bit' ? {} : { form, to7bit }) }
    }
    // The name of a header may begin with a dot, nothing else at the start of a line that we compose.
    const isWireForm = !Object.keys(request.headers).some((name) => name.startsWith('.'))
    return { ...envelope, isWireForm }
  }

  return { recipientOf, build, close: buildPool.close }
}

type MadeHeaders = (
  email: Pick<ClaimedEmail, 'projectId' | 'campaignId' | 'sourceType'>,
  content: Pick<Content, 'type' | 'headers'>,
) => Record<string, string>

/** The headers of a content are made once for each campaign and source: they are the same for all of its emails. */
function createSharedHeaders(make: MadeHeaders) {
  const shared = new WeakMap<Content, Map<string, Record<string, string>>>()
  return (email: ClaimedEmail, content: Content) => {
    const key = `${email.sourceType} ${email.campaignId}`
    const known = shared.get(content) ?? new Map<string, Record<string, string>>()
    shared.set(content, known)
    const headers = known.get(key) ?? make(email, content)
    known.set(key, headers)
    return headers
  }
}

/** One object for all emails of a content: it crosses to a thread once per group. */
function createSharedContents() {
  const shared = new WeakMap<Content, BuildRequest['content']>()
  return (content: Content) => {
    const { id, type, fromAddress, replyTo, attachments, raw } = content
    const known = shared.get(content) ?? { id, type, fromAddress, replyTo, attachments, raw }
    shared.set(content, known)
    return known
  }
}
