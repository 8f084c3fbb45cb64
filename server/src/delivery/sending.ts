import { createPrivateKey, type KeyObject } from 'node:crypto'
import { sql } from 'kysely'
import { type Db, one, type Pool, transact } from '../db/index.ts'
import { crash } from '../lib/crash.ts'
import { groupBy } from '../lib/group.ts'
import type { Log } from '../lib/log.ts'
import type { Secrets } from '../lib/secrets.ts'
import { unsubscribeHeaders, withFooter } from '../preferences/footer.ts'
import { linksOf } from '../preferences/link.ts'
import { languageFor } from '../preferences/texts.ts'
import type { Recipient } from '../templates/language/variables.ts'
import { renderMails } from '../templates/render.ts'
import { meaningOf, waitBeforeRetry } from './classify.ts'
import { MAX_MESSAGE } from './compose.ts'
import { createContents } from './content.ts'
import { recordFeedback } from './feedback.ts'
import { type Admitted, passGate, type Refused, type Signer } from './gate.ts'
import { createMaking } from './making.ts'
import { createMark } from './mark.ts'
import type { Taken } from './outbox.ts'
import { returnPathOf } from './return-path.ts'
import { createSettle, type Settlement } from './settle.ts'
import type { Outgoing, Transport } from './transport/transport.ts'

/** A mail that may leave, as of a moment ago. */
export type Ready = { mail: Taken; outgoing: Outgoing; domain: string; askedAt: number }
/** What an attempt tells about more than its own mail. */
export type Signal = { is: 'fine' | 'throttled' } | { is: 'paused'; domain: string | null; reason: string }

/** `offTheWire` is called when the line is free for another, with what the attempt tells, before it is written down. */
type Hooks = { mayLeave: () => boolean; offTheWire: (signal: Signal) => void }

type Content = { subject: string; html: string }
type RenderedFor = Awaited<ReturnType<typeof renderAll>>[number]
type Made = Omit<Ready, 'askedAt'> | { settlement: Settlement }

/** A mail may wait for its turn. Whoever unsubscribes meanwhile must not get it a second later. */
const FRESH_MS = 500

const TOO_LARGE = 'The mail has more than 40 MB.'

type Port = {
  db: Pool
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

/** The way of a mail: gate, render, compose, mark, transmit, settle. */
export function createSending({ db, secrets, log, worker, transport, publicUrl, signs, bounceDomain, until }: Port) {
  const contentsOf = createContents(db)
  const keyOf = createSigningKeys(db, secrets)
  const mark = createMark(db, worker)
  const making = createMaking({ secrets, publicUrl, log })
  const settling = createSettle(db, until)

  /** Everything up to the wire. What may not be sent, or cannot be made, is settled on the way. */
  async function prepare(mails: Taken[]): Promise<Ready[]> {
    const askedAt = performance.now()
    const { admitted, refused } = await passGate(db, mails, contentsOf)
    const made = await Promise.all((await renderAll(admitted, recipientOf, log)).map(make))
    const unsent = made.flatMap((each) => ('settlement' in each ? [each.settlement] : []))
    await Promise.all([...refused.map(settlementOfRefused), ...unsent].map(settling.submit))
    crash('rendered')
    return made.flatMap((each) => ('outgoing' in each ? [{ ...each, askedAt }] : []))
  }

  /** Never throws: a mail that cannot be made is settled like one that was refused. */
  async function make({ admitted, recipient, result }: RenderedFor): Promise<Made> {
    const { mail, signer } = admitted
    if (!result) return { settlement: { ...idOf(mail), ...tryLater(mail, 'The mail could not be rendered.') } }
    if (!result.ok) return { settlement: { ...idOf(mail), state: 'failed', error: result.reason } }
    try {
      const outgoing = await makeMessage(admitted, recipient, result)
      if (outgoing.message.length > MAX_MESSAGE) return { settlement: { ...idOf(mail), state: 'failed', error: TOO_LARGE } }
      return { mail, outgoing, domain: signer.domain }
    } catch (err) {
      log.error({ err, emailId: mail.id, projectId: mail.projectId }, 'could not compose a mail')
      return { settlement: { ...idOf(mail), ...tryLater(mail, 'The mail could not be composed.') } }
    }
  }

  const recipientOf = ({ mail, contact }: Admitted): Recipient =>
    Object.assign(linksOf(secrets, publicUrl, { projectId: mail.projectId, contactId: contact.id }), {
      id: contact.id,
      email: contact.email,
      subscribed: contact.subscribed,
      createdAt: contact.createdAt.toISOString(),
      data: { ...contact.data, ...mail.vars },
    })

  async function makeMessage({ mail, content, signer, tracking }: Admitted, recipient: Recipient, rendered: Content): Promise<Outgoing> {
    const { projectId, id, lane, messageId, createdAt, toAddress, toName } = mail
    const { type, fromAddress, replyTo, attachments } = content
    const sender = content.fromName ?? content.projectName
    const language = languageFor(recipient.data.locale, content.projectLanguage)
    const returnPath = bounceDomain && returnPathOf(secrets, { projectId, emailId: id }, bounceDomain)
    const message = await making.make(lane, {
      mail: { projectId, id, messageId, createdAt, toAddress, toName },
      content: { type, fromAddress, replyTo, attachments },
      sender,
      subject: rendered.subject,
      html: withFooter({ type, html: rendered.html, links: recipient, language, sender }),
      headers: { ...content.headers, ...unsubscribeHeaders(type, recipient, content.headers) },
      tracking,
      returnPath,
      signer: signs ? { ...signer, key: await keyOf(projectId, signer) } : undefined,
    })
    return { projectId, id, sender: fromAddress, returnPath, recipient: toAddress, subject: rendered.subject, message }
  }

  async function askAgain(mail: Taken) {
    const { refused } = await passGate(db, [mail], contentsOf)
    return refused.map(settlementOfRefused)[0]
  }

  /** From the wire to the row. Never throws for what happens on the wire. */
  async function transmit({ mail, outgoing, domain, askedAt }: Ready, { mayLeave, offTheWire }: Hooks) {
    const refusal = performance.now() - askedAt > FRESH_MS && (await askAgain(mail))
    if (refusal) return void (await settling.submit(refusal))
    const outcome = await transport.send(outgoing, async () => {
      const permit = mayLeave() ? await mark(idOf(mail)) : undefined
      crash('handed-over')
      return permit
    })
    const meaning = meaningOf(outcome)
    offTheWire(signalOf(meaning, domain))
    crash('answered')
    await settling.submit(settlementOf(mail, meaning, outcome.is === 'accepted' ? outcome.providerId : undefined))
    crash('settled')
    const feedback = outcome.is === 'accepted' ? (outcome.feedback ?? []) : []
    for (const each of feedback) await transact(db, (tx) => recordFeedback(tx, idOf(mail), each))
    if (meaning.action !== 'sent') log.debug({ emailId: mail.id, projectId: mail.projectId, reason: meaning.reason }, 'not sent')
  }

  return { prepare, transmit, settle: settling.submit, close: making.close }
}

const settlementOfRefused = ({ mail, ...how }: Refused): Settlement => ({ ...idOf(mail), ...how })

export const idOf = ({ projectId, id, attempts }: Taken) => ({ projectId, id, attempts })

function signalOf({ pause, throttled, reason }: ReturnType<typeof meaningOf>, domain: string): Signal {
  if (pause) return { is: 'paused', domain: pause === 'domain' ? domain : null, reason: reason ?? '' }
  return { is: throttled ? 'throttled' : 'fine' }
}

const THROTTLED_WAIT_SECONDS = 5
const PAUSED_WAIT_SECONDS = 60

function settlementOf(
  mail: Taken,
  { action, reason, nobody, throttled, pause }: ReturnType<typeof meaningOf>,
  providerId?: string,
): Settlement {
  const base = { ...idOf(mail), error: reason }
  if (action === 'sent') return { ...base, state: 'sent', providerId: providerId ?? null }
  if (action === 'unknown') return { ...base, state: 'unknown' }
  if (action === 'put-back') return { ...base, state: 'queued' }
  if (action === 'fail') return { ...base, state: 'failed', nobody: nobody ?? false }
  // What is our own fault does not count against the mail.
  if (throttled || pause) return { ...base, state: 'deferred', waitSeconds: throttled ? THROTTLED_WAIT_SECONDS : PAUSED_WAIT_SECONDS }
  return { ...base, ...tryLater(mail, reason) }
}

function tryLater(mail: Taken, error: string | null): Pick<Settlement, 'state' | 'error' | 'waitSeconds' | 'failed'> {
  const waitSeconds = waitBeforeRetry(mail)
  return waitSeconds === null ? { state: 'failed', error } : { state: 'deferred', error, waitSeconds, failed: true }
}

/** Mails of one content are rendered together. Undefined for those of a content for which that did not work at all. */
async function renderAll(admitted: Admitted[], recipientOf: (each: Admitted) => Recipient, log: Log) {
  const byContent = groupBy(admitted, ({ content }) => content)
  const groups = await Promise.all(
    [...byContent].map(async ([content, mails]) => {
      const recipients = mails.map(recipientOf)
      const results = await renderMails(content, recipients).catch((err) => {
        log.error({ err, contentId: content.id, projectId: content.projectId }, 'could not render mails')
        return []
      })
      return mails.map((each, index) => ({ admitted: each, recipient: recipients[index]!, result: results[index] }))
    }),
  )
  return groups.flat()
}

/** Opened once per domain and kept: reading one takes four times as long as signing with it. */
function createSigningKeys(db: Db, secrets: Secrets) {
  const keys = new Map<string, Promise<KeyObject>>()
  const load = async (projectId: string, domainId: string) => {
    const { sealed } = await one(
      db,
      sql<{ sealed: Buffer }>`select dkim_private_key_sealed as sealed from domains where project_id = ${projectId} and id = ${domainId}`,
    )
    return createPrivateKey({ key: Buffer.from(secrets.open('dkim-key', sealed), 'base64'), format: 'der', type: 'pkcs8' })
  }
  return (projectId: string, { domainId }: Signer) => {
    const key = keys.get(domainId) ?? load(projectId, domainId)
    keys.set(domainId, key)
    key.catch(() => keys.delete(domainId))
    if (keys.size > 10_000) keys.delete(keys.keys().next().value!)
    return key
  }
}
