import { createPrivateKey } from 'node:crypto'
import { type Db, one, type Pool, transact } from '../../db/index.ts'
import { urlOnHost } from '../../domains/link-hosts/link-host.ts'
import { createCache } from '../../lib/cache.ts'
import { crash } from '../../lib/crash-point.ts'
import { groupBy } from '../../lib/group-by.ts'
import type { Log } from '../../lib/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { storable } from '../../lib/text/storable.ts'
import { MAX_MESSAGE } from '../../mime/compose.ts'
import type { DkimKey } from '../../mime/dkim.ts'
import { unsubscribeHeaders } from '../../preferences/footer.ts'
import { preferenceLinks } from '../../preferences/link.ts'
import type { Recipient } from '../../templates/language/variables.ts'
import { outgoingHtml } from '../../templates/outgoing-html.ts'
import { renderEmails, StoppedError } from '../../templates/render.ts'
import type { Rendered, RenderedEmail } from '../../templates/rendered-email.ts'
import { recordFeedback } from '../feedback/record.ts'
import type { BuildRequest } from '../message/build.ts'
import { BuildError, createBuildPool } from '../message/build-pool.ts'
import { feedbackSenderOf, withFeedbackId } from '../message/feedback-id.ts'
import { returnPathOf } from '../message/return-path.ts'
import { createTimeouts } from '../message/timeouts.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import { type Content, createContents } from '../outbox/content.ts'
import { createMark } from '../outbox/mark.ts'
import { variablesFor } from '../outbox/own-variables.ts'
import type { RefusalTiming } from '../outbox/refusals/hold.ts'
import { createSettle, type Settlement } from '../outbox/settle.ts'
import { PRIORITIES } from '../outbox/streams/stream-of.ts'
import { needsConsent } from '../rules/may-send.ts'
import { classify, type Disposition } from '../transport/classify.ts'
import type { OutgoingMessage, Transport } from '../transport/transport.ts'
import { type Admitted, passGate, type Signer } from './gate.ts'
import type { OwnerOf } from './limits/capacity.ts'
import type { Health } from './limits/health.ts'
import { createRenderedSizes } from './limits/rendered-sizes.ts'
import { createSecondGate } from './second-gate.ts'
import {
  afterFailedRendering,
  afterTimeout,
  heldRefusalIn,
  holdBack,
  holdRefusal,
  idOf,
  retryLater,
  settlementOf,
  settlementOfRefused,
} from './settlements.ts'

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

type Hooks = {
  mayLeave: () => boolean
  /** True just before the mark is written: from here on the outcome may be unknown. False when the email did not leave after all. */
  handedOver: (isHandedOver: boolean) => void
  /** Called when the connection is free for another email, before the settlement is written. Undefined: the email was not tried. */
  offTheWire: (disposition?: Disposition) => void
}

/** No result: rendering itself failed, which is not the fault of the template. */
type RenderedFor = { admitted: Admitted; recipient: Recipient; result: Rendered | undefined }
/** Called once per prepared group of emails, with those of them that are ready. The others are settled. */
type OnPrepared = (emails: ClaimedEmail[], ready: ReadyEmail[]) => void
type PrepareContext = { probes: Set<ClaimedEmail>; checkedAt: number; isStopped: () => boolean; untilRoom: () => Promise<void> }
type PrepareOptions = {
  onPrepared: OnPrepared
  isStopped: () => boolean
  /** Sent although their sender domain is paused, to find out whether it works again. */
  asProbes?: boolean
  /** Backpressure: resolves when more may be rendered and built. Awaited between the groups of a content whose emails are large. */
  untilRoom?: () => Promise<void>
}
type BuiltEmail = Omit<ReadyEmail, 'checkedAt'> | { settlement: Settlement }

/** An email that passed the gate longer ago is checked again: a contact that unsubscribes must not get an email a second later. */
const FRESH_MS = 500

const TOO_LARGE = 'The message is larger than 40 MB.'

type Deps = {
  db: Pool
  /** For marks and settlement. */
  ownDb: Pool
  health: Health
  ownerOf: OwnerOf
  secrets: Secrets
  log: Log
  worker: number
  transport: Transport
  publicUrl: string
  signs: boolean
  /** Domain of return paths, where this installation receives bounces. Without it they go to the from address. */
  bounceDomain: string | undefined
  refusalTiming: RefusalTiming
  /** When aborted, settlements are no longer retried while the database is away. */
  until: AbortSignal
}

export type Pipeline = ReturnType<typeof createPipeline>

/** The steps of sending an email: gate, render, build, mark, transmit, settle. */
export function createPipeline(deps: Deps) {
  const { db, ownDb, health, ownerOf, secrets, log, worker, transport, publicUrl, signs, bounceDomain, refusalTiming, until } = deps
  const contentsOf = createContents(db)
  const keyOf = createSigningKeys(db, secrets)
  const sharedContent = createSharedContents()
  const mark = createMark(ownDb, worker)
  const feedbackSender = feedbackSenderOf(publicUrl)
  const buildPool = createBuildPool({ secrets, publicUrl, log, ownerOf })
  const timeouts = createTimeouts()
  const sizes = createRenderedSizes()
  const settle = createSettle(ownDb, until, refusalTiming)
  const passGateAgain = createSecondGate(db, contentsOf)

  /**
   * Everything before the wire. Emails that may not be sent or cannot be built are settled on the way. The gate is queried once for all of
   * them; then each content is rendered and built on its own, so that a slow template does not delay the others.
   */
  async function prepare(emails: ClaimedEmail[], { onPrepared, isStopped, asProbes = false, untilRoom = async () => {} }: PrepareOptions) {
    const checkedAt = performance.now()
    const { admitted, refused } = await passGate(db, emails, contentsOf)
    // In place, because the ledger knows an email by its object.
    for (const { email, address } of admitted) email.toAddress = address
    await health.meet([...new Set(admitted.map(({ email }) => email.projectId))])
    const { pass, heldBack, probes } = asProbes ? { pass: admitted, heldBack: [], probes: new Set(emails) } : await checkHealth(admitted)
    const passing = new Set(emailsOf(pass))
    const parts = [...groupBy(pass, ({ content }) => content).values()].map((part) =>
      prepareContent(part, { probes, checkedAt, isStopped, untilRoom }, onPrepared),
    )
    const refusing = Promise.all([...refused.map(settlementOfRefused), ...heldBack].map(settle)).then(() =>
      onPrepared(
        emails.filter((email) => !passing.has(email)),
        [],
      ),
    )
    // All of them end before a failure is thrown: onPrepared must not run for an email that the caller has given back.
    const failure = (await Promise.allSettled([...parts, refusing])).find((each) => each.status === 'rejected')
    if (failure) throw failure.reason
  }

  /** Renders the emails of one content together, unless they are large. Throws when the process stops: the emails are then given back. */
  async function prepareContent([...waiting]: Admitted[], context: PrepareContext, onPrepared: OnPrepared) {
    const { content } = waiting[0]!
    for (let isFirst = true; waiting.length; isFirst = false) {
      if (!isFirst) await context.untilRoom()
      const together = waiting.splice(0, sizes.countTogether(content))
      onPrepared(emailsOf(together), await prepareTogether(together, context))
    }
  }

  async function prepareTogether(admitted: Admitted[], { probes, checkedAt, isStopped }: PrepareContext): Promise<ReadyEmail[]> {
    const [{ content, email }] = admitted as [Admitted]
    const recipients = admitted.map(recipientOf)
    const options = { projectId: email.projectId, priority: email.priority, guard: timeouts.guardOf(content.id), isStopped }
    const results = await renderEmails(content, recipients, options).catch((err) => {
      if (err instanceof StoppedError) throw err
      log.error({ err, contentId: content.id, projectId: email.projectId }, 'could not render emails')
      return []
    })
    sizes.note(content, results)
    const built = await Promise.all(
      admitted.map((each, index) =>
        build({ admitted: each, recipient: recipients[index]!, result: results[index] }, probes.has(each.email)),
      ),
    )
    const unsent = built.flatMap((each) => ('settlement' in each ? [each.settlement] : []))
    for (const each of admitted)
      if (probes.has(each.email) && unsent.some(({ id }) => id === each.email.id))
        health.probed({ email: each.email, domain: each.signer.domain }, { domain: true, provider: false })
    await Promise.all(unsent.map(settle))
    crash('rendered')
    return built.flatMap((each) => ('outgoing' in each ? [{ ...each, checkedAt }] : []))
  }

  /** Defers emails of a paused sender domain, or to a domain that throttles, before any work is done for them. */
  async function checkHealth(admitted: Admitted[]) {
    const pass: Admitted[] = []
    const heldBack: Settlement[] = []
    const probes = new Set<ClaimedEmail>()
    for (const each of admitted) {
      const verdict = await health.admit(each.email, each.signer.domain)
      if ('code' in verdict) heldBack.push(holdBack(each.email, verdict))
      else pass.push(each)
      if ('probe' in verdict && verdict.probe) probes.add(each.email)
    }
    return { pass, heldBack, probes }
  }

  /** Never throws: an email that cannot be built is settled like one that was refused. */
  async function build({ admitted, recipient, result }: RenderedFor, probe: boolean): Promise<BuiltEmail> {
    const { email, signer, content } = admitted
    if (!result) return { settlement: { ...idOf(email), ...retryLater(email, 'The email could not be rendered.') } }
    if (!result.ok) return { settlement: { ...idOf(email), ...afterFailedRendering(email, result) } }
    const subject = result.subject === content.subject ? undefined : storable(result.subject)
    try {
      const outgoing = await buildMessage(admitted, recipient, result)
      if (outgoing.message.length > MAX_MESSAGE)
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
  const linkUrlOf = ({ linkHost }: Signer) => (linkHost === null ? undefined : urlOnHost(publicUrl, linkHost))

  const recipientOf = ({ email, contact, signer }: Admitted): Recipient =>
    Object.assign(
      preferenceLinks(secrets, linkUrlOf(signer) ?? publicUrl, { projectId: email.projectId, contactId: contact.id, emailId: email.id }),
      variablesFor(
        {
          id: contact.id,
          email: contact.email,
          subscribed: contact.subscribed,
          createdAt: contact.createdAt.toISOString(),
          data: contact.data,
        },
        email,
      ),
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
      html: outgoingHtml(content, recipient, rendered),
      headers: { ...withFeedbackId(email, content, feedbackSender), ...unsubscribeHeaders(type, recipient, content.headers) },
      tracking,
      linkUrl: linkUrlOf(signer),
      returnPath,
      signer: signs ? await keyOf(projectId, signer) : undefined,
    }
    const message = await buildPool.build(priority, request, timeouts.guardOf(content.id))
    // The name of a header may begin with a dot, nothing else at the start of a line that we compose.
    const isWireForm = !Object.keys(request.headers).some((name) => name.startsWith('.'))
    return { projectId, id, from: fromAddress, returnPath, recipient: toAddress, subject: rendered.subject, message, isWireForm }
  }

  /** The settlement of an email that may no longer leave; undefined when it may. */
  async function checkAgain({ email, domain, probe, checkedAt, needsConsent }: ReadyEmail): Promise<Settlement | undefined> {
    const heldBack = probe ? undefined : health.holdBack(email, domain)
    if (heldBack) return holdBack(email, heldBack)
    // The mark of such an email asks for contact, suppression, stream and project itself, under locks.
    const isCheckedByMark = needsConsent && email.priority === PRIORITIES.bulk
    return !isCheckedByMark && performance.now() - checkedAt > FRESH_MS ? passGateAgain(email) : undefined
  }

  /** Sends and settles an email. Never throws for an error on the wire: those are outcomes. */
  async function transmit(ready: ReadyEmail, { mayLeave, handedOver, offTheWire }: Hooks) {
    const { email, outgoing, domain, subject } = ready
    const ended = await checkAgain(ready)
    if (ended) {
      offTheWire()
      return void (await settle(ended))
    }
    const outcome = await transport.send(outgoing, async () => {
      if (!mayLeave()) return undefined
      handedOver(true)
      const permit = await mark({
        ...idOf(email),
        needsConsent: ready.needsConsent,
        streamId: email.priority === PRIORITIES.bulk ? email.streamId : null,
        subject,
      }).catch(() => undefined)
      if (!permit) handedOver(false)
      crash('handed-over')
      return permit
    })
    const disposition = classify(outcome, outgoing.recipient)
    health.attempted({ email, domain, disposition })
    offTheWire(disposition)
    crash('answered')
    const refusal = transport.refusesForGood ? undefined : heldRefusalIn(disposition)
    const settlement = refusal ? holdRefusal(email, refusal) : settlementOf(email, disposition, () => health.waitOfDomain(email, domain))
    await settle({ ...settlement, domain, subject, providerId: (outcome.is === 'accepted' && outcome.providerId) || null })
    // The sender domain may be paused now.
    if (refusal) health.syncSoon()
    crash('settled')
    const feedback = outcome.is === 'accepted' ? (outcome.feedback ?? []) : []
    for (const each of feedback) await transact(db, (tx) => recordFeedback(tx, idOf(email), each))
    if (disposition.action !== 'sent') log.debug({ emailId: email.id, projectId: email.projectId, reason: disposition.reason }, 'not sent')
  }

  return { prepare, transmit, settle, close: buildPool.close }
}

/** One object for all emails of a content: it crosses to a thread once per group. */
function createSharedContents() {
  const shared = new WeakMap<Content, BuildRequest['content']>()
  return (content: Content) => {
    const { id, type, fromAddress, replyTo, attachments } = content
    const known = shared.get(content) ?? { id, type, fromAddress, replyTo, attachments }
    shared.set(content, known)
    return known
  }
}

const emailsOf = (all: { email: ClaimedEmail }[]) => all.map(({ email }) => email)

const MAX_SIGNING_KEYS = 10_000

/** Caches the DKIM keys of domains: parsing a key takes four times as long as signing with it. One object for all emails, as with contents. */
function createSigningKeys(db: Db, secrets: Secrets) {
  const keys = createCache<string, Promise<DkimKey>>({ maxEntries: MAX_SIGNING_KEYS })
  const load = async (projectId: string, { domainId, domain, selector }: Signer) => {
    const { sealed } = await one<{ sealed: Buffer }>(db)`
      select dkim_private_key_sealed as sealed from domains where project_id = ${projectId} and id = ${domainId}
    `
    const key = createPrivateKey({ key: Buffer.from(secrets.open('dkim-key', sealed), 'base64'), format: 'der', type: 'pkcs8' })
    return { domain, selector, key }
  }
  return (projectId: string, signer: Signer) => {
    const cacheKey = [signer.domainId, signer.domain, signer.selector].join(' ')
    const known = keys.get(cacheKey)
    if (known) return known
    const key = load(projectId, signer)
    keys.set(cacheKey, key)
    key.catch(() => keys.delete(cacheKey))
    return key
  }
}
