import { createPrivateKey, type KeyObject } from 'node:crypto'
import { sql } from 'kysely'
import { type Db, one, type Pool, transact } from '../../db/index.ts'
import { createCache } from '../../lib/cache.ts'
import { crash } from '../../lib/crash-point.ts'
import { groupBy } from '../../lib/group-by.ts'
import type { Log } from '../../lib/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { storable } from '../../lib/storable.ts'
import { MAX_MESSAGE } from '../../mime/compose.ts'
import { unsubscribeHeaders } from '../../preferences/footer.ts'
import { preferenceLinks } from '../../preferences/link.ts'
import type { Recipient } from '../../templates/language/variables.ts'
import { outgoingHtml } from '../../templates/outgoing-html.ts'
import { renderMails, StoppedError } from '../../templates/render.ts'
import type { Rendered } from '../../templates/rendered-email.ts'
import { recordFeedback } from '../feedback/record.ts'
import type { BuildRequest } from '../message/build.ts'
import { BuildError, createBuildPool } from '../message/build-pool.ts'
import { returnPathOf } from '../message/return-path.ts'
import { createTimeouts } from '../message/timeouts.ts'
import type { ClaimedEmail } from '../outbox/claim.ts'
import { createContents } from '../outbox/content.ts'
import { createMark } from '../outbox/mark.ts'
import { createSettle, type Settlement } from '../outbox/settle.ts'
import { classify, type Disposition, waitBeforeRetry } from '../transport/classify.ts'
import type { OutgoingMessage, Transport } from '../transport/transport.ts'
import { type Admitted, passGate, type RefusedByGate, type Signer } from './gate.ts'
import type { Health } from './health.ts'
import { createRenderedSizes } from './rendered-sizes.ts'

/** An email that may leave, as of a moment ago. */
export type ReadyEmail = {
  email: ClaimedEmail
  outgoing: OutgoingMessage
  /** The sender's. */
  domain: string
  /** Goes to find out whether its paused sender domain works again. */
  probe: boolean
  needsConsent: boolean
  /** As rendered, when it differs from the content's. */
  subject: string | undefined
  askedAt: number
}

type Hooks = {
  mayLeave: () => boolean
  /** The mark is being written, or holds: from here on the outcome may be unknown. False: the email did not leave after all. */
  handedOver: (is: boolean) => void
  /** Called when the connection is free for another email, before the outcome is written down. Undefined: the email was not tried. */
  offTheWire: (disposition?: Disposition) => void
}

type Content = { subject: string; html: string }
/** Without a result when rendering did not work at all. */
type RenderedFor = { admitted: Admitted; recipient: Recipient; result: Rendered | undefined }
/** Called for each part of what is prepared, as soon as it is: the emails of that part, and which of them are ready. The others are settled. */
type OnPrepared = (emails: ClaimedEmail[], ready: ReadyEmail[]) => void
type Circumstances = { probes: Set<ClaimedEmail>; askedAt: number; isStopped: () => boolean; untilRoom: () => Promise<void> }
type PrepareOptions = {
  onPrepared: OnPrepared
  isStopped: () => boolean
  /** Resolves when more may be rendered and built. Asked again between the parts of a content whose emails are large. */
  untilRoom?: () => Promise<void>
}
type BuiltEmail = Omit<ReadyEmail, 'askedAt'> | { settlement: Settlement }

/** An email may wait for its turn. Whoever unsubscribes meanwhile must not get it a second later. */
const FRESH_MS = 500

const TOO_LARGE = 'The message is larger than 40 MB.'

type Deps = {
  db: Pool
  /** For marks and settlement. */
  ownDb: Pool
  health: Health
  secrets: Secrets
  log: Log
  worker: number
  transport: Transport
  publicUrl: string
  signs: boolean
  /** Where bounces are read. Without it they go to the sender. */
  bounceDomain: string | undefined
  /** Then nobody waits any more for a database that is away. */
  until: AbortSignal
}

export type Pipeline = ReturnType<typeof createPipeline>

/** The way of an email: gate, render, compose, mark, transmit, settle. */
export function createPipeline({ db, ownDb, health, secrets, log, worker, transport, publicUrl, signs, bounceDomain, until }: Deps) {
  const contentsOf = createContents(db)
  const keyOf = createSigningKeys(db, secrets)
  const mark = createMark(ownDb, worker)
  const making = createBuildPool({ secrets, publicUrl, log })
  const timeouts = createTimeouts()
  const sizes = createRenderedSizes()
  const settling = createSettle(ownDb, until)

  /**
   * Everything up to the wire. What may not be sent, or cannot be made, is settled on the way. One question to the gate for all; then
   * each content on its own, because what one template takes must not delay the others.
   */
  async function prepare(emails: ClaimedEmail[], { onPrepared, isStopped, untilRoom = async () => {} }: PrepareOptions) {
    const askedAt = performance.now()
    const { admitted, refused } = await passGate(db, emails, contentsOf)
    const { pass, heldBack, probes } = await askHealth(admitted)
    const passing = new Set(emailsOf(pass))
    const parts = [...groupBy(pass, ({ content }) => content).values()].map((part) =>
      prepareContent(part, { probes, askedAt, isStopped, untilRoom }, onPrepared),
    )
    const refusing = Promise.all([...refused.map(settlementOfRefused), ...heldBack].map(settling.submit)).then(() =>
      onPrepared(
        emails.filter((email) => !passing.has(email)),
        [],
      ),
    )
    // All of them come to their end before a failure is reported: the caller must not hear of an email twice.
    const failure = (await Promise.allSettled([...parts, refusing])).find((each) => each.status === 'rejected')
    if (failure) throw failure.reason
  }

  /** Emails of one content are rendered together, unless they are large. Throws when the process stops meanwhile: then they are given back. */
  async function prepareContent([...waiting]: Admitted[], circumstances: Circumstances, onPrepared: OnPrepared) {
    const { content } = waiting[0]!
    for (let isFirst = true; waiting.length; isFirst = false) {
      if (!isFirst) await circumstances.untilRoom()
      const together = waiting.splice(0, sizes.countTogether(content))
      onPrepared(emailsOf(together), await prepareTogether(together, circumstances))
    }
  }

  async function prepareTogether(admitted: Admitted[], { probes, askedAt, isStopped }: Circumstances): Promise<ReadyEmail[]> {
    const [{ content, email }] = admitted as [Admitted]
    const recipients = admitted.map(recipientOf)
    const options = { projectId: email.projectId, priority: email.priority, guard: timeouts.guardOf(content.id), isStopped }
    const results = await renderMails(content, recipients, options).catch((err) => {
      if (err instanceof StoppedError) throw err
      log.error({ err, contentId: content.id, projectId: email.projectId }, 'could not render emails')
      return []
    })
    sizes.note(content, results)
    const made = await Promise.all(
      admitted.map((each, index) =>
        make({ admitted: each, recipient: recipients[index]!, result: results[index] }, probes.has(each.email)),
      ),
    )
    const unsent = made.flatMap((each) => ('settlement' in each ? [each.settlement] : []))
    for (const each of admitted)
      if (probes.has(each.email) && unsent.some(({ id }) => id === each.email.id))
        health.probed({ email: each.email, domain: each.signer.domain }, { domain: true, provider: false })
    await Promise.all(unsent.map(settling.submit))
    crash('rendered')
    return made.flatMap((each) => ('outgoing' in each ? [{ ...each, askedAt }] : []))
  }

  /** Emails of a paused sender domain, or to a domain that throttles, are put off before any work is done for them. */
  async function askHealth(admitted: Admitted[]) {
    const pass: Admitted[] = []
    const heldBack: Settlement[] = []
    const probes = new Set<ClaimedEmail>()
    for (const each of admitted) {
      const verdict = await health.admit(each.email, each.signer.domain)
      if ('code' in verdict) heldBack.push({ ...idOf(each.email), state: 'deferred', ...verdict })
      else pass.push(each)
      if ('probe' in verdict && verdict.probe) probes.add(each.email)
    }
    return { pass, heldBack, probes }
  }

  /** Never throws: an email that cannot be made is settled like one that was refused. */
  async function make({ admitted, recipient, result }: RenderedFor, probe: boolean): Promise<BuiltEmail> {
    const { email, signer, content } = admitted
    if (!result) return { settlement: { ...idOf(email), ...tryLater(email, 'The email could not be rendered.') } }
    if (!result.ok) return { settlement: { ...idOf(email), state: 'failed', error: result.reason, code: 'rendering' } }
    const subject = result.subject === content.subject ? undefined : storable(result.subject)
    try {
      const outgoing = await makeMessage(admitted, recipient, result)
      if (outgoing.message.length > MAX_MESSAGE)
        return { settlement: { ...idOf(email), state: 'failed', error: TOO_LARGE, code: 'too_large', subject } }
      return { email, outgoing, domain: signer.domain, probe, needsConsent: content.type !== 'TRANSACTIONAL', subject }
    } catch (err) {
      if (err instanceof BuildError)
        return { settlement: { ...idOf(email), state: 'failed', error: err.message, code: 'rendering', subject } }
      log.error({ err, emailId: email.id, projectId: email.projectId }, 'could not compose an email')
      return { settlement: { ...idOf(email), ...tryLater(email, 'The email could not be composed.'), subject } }
    }
  }

  const recipientOf = ({ email, contact }: Admitted): Recipient =>
    Object.assign(preferenceLinks(secrets, publicUrl, { projectId: email.projectId, contactId: contact.id }), {
      id: contact.id,
      email: contact.email,
      subscribed: contact.subscribed,
      createdAt: contact.createdAt.toISOString(),
      data: { ...contact.data, ...email.vars },
    })

  async function makeMessage(
    { email, content, signer, tracking }: Admitted,
    recipient: Recipient,
    rendered: Content,
  ): Promise<OutgoingMessage> {
    const { projectId, id, priority, messageId, createdAt, toAddress, toName } = email
    const { type, fromAddress, replyTo, attachments } = content
    const returnPath = bounceDomain && returnPathOf(secrets, { projectId, emailId: id }, bounceDomain)
    const order: BuildRequest = {
      email: { projectId, id, messageId, createdAt, toAddress, toName },
      content: { type, fromAddress, replyTo, attachments },
      sender: content.fromName,
      subject: rendered.subject,
      html: outgoingHtml(content, recipient, rendered.html),
      headers: { ...content.headers, ...unsubscribeHeaders(type, recipient, content.headers) },
      tracking,
      returnPath,
      signer: signs ? { ...signer, key: await keyOf(projectId, signer) } : undefined,
    }
    const message = await making.build(priority, order, timeouts.guardOf(content.id))
    return { projectId, id, sender: fromAddress, returnPath, recipient: toAddress, subject: rendered.subject, message }
  }

  async function askAgain(email: ClaimedEmail) {
    const { refused } = await passGate(db, [email], contentsOf)
    return refused.map(settlementOfRefused)[0]
  }

  /** Why it may not leave after all; undefined when it may. */
  async function checkAgain({ email, domain, probe, askedAt }: ReadyEmail): Promise<Settlement | undefined> {
    const heldBack = probe ? undefined : health.holdBack(email, domain)
    if (heldBack) return { ...idOf(email), state: 'deferred', ...heldBack }
    return performance.now() - askedAt > FRESH_MS ? askAgain(email) : undefined
  }

  /** From the wire to the row. Never throws for what happens on the wire. */
  async function transmit(ready: ReadyEmail, { mayLeave, handedOver, offTheWire }: Hooks) {
    const { email, outgoing, domain, needsConsent, subject } = ready
    const refusal = await checkAgain(ready)
    if (refusal) {
      offTheWire()
      return void (await settling.submit(refusal))
    }
    const outcome = await transport.send(outgoing, async () => {
      if (!mayLeave()) return undefined
      handedOver(true)
      const permit = await mark({ ...idOf(email), needsConsent, subject }).catch(() => undefined)
      if (!permit) handedOver(false)
      crash('handed-over')
      return permit
    })
    const disposition = classify(outcome)
    health.attempted({ email, domain, disposition })
    offTheWire(disposition)
    crash('answered')
    const settlement = settlementOf(email, disposition, () => health.waitOfDomain(email, domain))
    await settling.submit({ ...settlement, subject, providerId: (outcome.is === 'accepted' && outcome.providerId) || null })
    crash('settled')
    const feedback = outcome.is === 'accepted' ? (outcome.feedback ?? []) : []
    for (const each of feedback) await transact(db, (tx) => recordFeedback(tx, idOf(email), each))
    if (disposition.action !== 'sent') log.debug({ emailId: email.id, projectId: email.projectId, reason: disposition.reason }, 'not sent')
  }

  return { prepare, transmit, settle: settling.submit, close: making.close }
}

const emailsOf = (all: { email: ClaimedEmail }[]) => all.map(({ email }) => email)

const settlementOfRefused = ({ email, error, ...how }: RefusedByGate): Settlement => ({ ...idOf(email), error, code: error, ...how })

export const idOf = ({ projectId, id, attempts }: ClaimedEmail) => ({ projectId, id, attempts })

const THROTTLED_WAIT_SECONDS = 5

/** What is said about the provider or the sender's domain does not count against the email. */
function settlementOf(
  email: ClaimedEmail,
  { action, reason, about, unknownRecipient, throttled }: Disposition,
  waitOfDomain: () => number,
): Settlement {
  const base = { ...idOf(email), error: reason }
  if (action === 'sent') return { ...base, state: 'sent' }
  if (action === 'unknown') return { ...base, state: 'unknown' }
  if (action === 'put-back') return { ...base, state: 'queued' }
  if (action === 'fail')
    return { ...base, state: 'failed', unknownRecipient: unknownRecipient ?? false, code: unknownRecipient ? 'bounced' : 'rejected' }
  if (about === 'provider' && throttled) return { ...base, state: 'deferred', code: 'throttled', waitSeconds: THROTTLED_WAIT_SECONDS }
  if (about === 'provider') return { ...base, state: 'queued', code: 'provider_paused' }
  if (about === 'sender-domain') return { ...base, state: 'deferred', code: 'domain_paused', waitSeconds: waitOfDomain() }
  return { ...base, ...tryLater(email, reason) }
}

function tryLater(email: ClaimedEmail, error: string | null): Pick<Settlement, 'state' | 'error' | 'code' | 'waitSeconds' | 'failed'> {
  const waitSeconds = waitBeforeRetry(email)
  return waitSeconds === null
    ? { state: 'failed', error, code: 'transient' }
    : { state: 'deferred', error, code: 'transient', waitSeconds, failed: true }
}

const MAX_SIGNING_KEYS = 10_000

/** Opened once per domain and kept: reading one takes four times as long as signing with it. */
function createSigningKeys(db: Db, secrets: Secrets) {
  const keys = createCache<string, Promise<KeyObject>>({ maxEntries: MAX_SIGNING_KEYS })
  const load = async (projectId: string, domainId: string) => {
    const { sealed } = await one(
      db,
      sql<{ sealed: Buffer }>`select dkim_private_key_sealed as sealed from domains where project_id = ${projectId} and id = ${domainId}`,
    )
    return createPrivateKey({ key: Buffer.from(secrets.open('dkim-key', sealed), 'base64'), format: 'der', type: 'pkcs8' })
  }
  return (projectId: string, { domainId }: Signer) => {
    const known = keys.get(domainId)
    if (known) return known
    const key = load(projectId, domainId)
    keys.set(domainId, key)
    key.catch(() => keys.delete(domainId))
    return key
  }
}
