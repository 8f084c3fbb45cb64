import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AccountEmailOutcome,
  type ClaimedAccountEmail,
  claimAccountEmails,
  markAccountEmail,
  queueKeptAccountEmails,
  releaseUnheldAccountEmails,
  settleAccountEmail,
} from '../../account-emails/queue.ts'
import { type Pool, transact } from '../../db/index.ts'
import { every } from '../../lib/concurrency/every.ts'
import type { Log } from '../../lib/process/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { escapeHtml } from '../../lib/text/html.ts'
import { DAY } from '../../lib/text/units.ts'
import { bytesOf, compose } from '../../mime/compose.ts'
import { retryUntilWritten } from '../outbox/settle.ts'
import { classify, type Disposition, waitBeforeRetry } from '../transport/classify.ts'
import { permitSince, type Transport } from '../transport/transport.ts'

type Options = {
  db: Pool
  secrets: Secrets
  log: Log
  worker: number
  isHeld: () => boolean
  transport: Transport
  from: { name: string; address: string }
}

const POLL_MS = 1_000
const CONCURRENCY = 10
/** On shutdown, time for replies to emails that are handed over. */
const LAST_REPLIES_MS = 15_000
/** Wait after a refusal about the provider or the domain, which does not count against the email. */
const REFUSED_WAIT_SECONDS = 60
/** No link in an account email is valid for longer. */
const GIVE_UP_AFTER_MS = 7 * DAY

/**
 * Sends emails to account holders. They are few, encrypted and belong to no project, so they have a queue of their own. The same guarantee
 * holds: the mark is committed before the last byte. An unknown outcome is final; a user who misses a link requests another.
 */
export function startAccountEmails({ db, secrets, log, worker, isHeld, transport, from }: Options) {
  const held = new Map<string, Promise<void>>()
  const handedOver = new Map<string, Promise<void>>()
  let stopping = false

  async function sendDue() {
    if (!isHeld()) return
    await transact(db, (tx) => releaseUnheldAccountEmails(tx, worker, [...held.keys()]))
    await transact(db, (tx) => queueKeptAccountEmails(tx))
    const claimed = await transact(db, (tx) => claimAccountEmails(tx, worker, CONCURRENCY - held.size))
    for (const email of claimed) {
      const attempt = send(email)
        .catch((err) => log.warn({ err, accountEmailId: email.id }, 'could not send or settle an account email'))
        .finally(() => {
          held.delete(email.id)
          handedOver.delete(email.id)
        })
      held.set(email.id, attempt)
    }
  }

  async function send(email: ClaimedAccountEmail) {
    const message = buildMessage(email, secrets.open('account-mail', email.sealed), from)
    const outgoing = { projectId: null, id: email.id, from: from.address, recipient: email.recipient, subject: email.subject, message }
    const outcome = await transport.send(outgoing, async () => {
      const askedAt = performance.now()
      if (stopping) return undefined
      handedOver.set(email.id, held.get(email.id)!)
      const marked = await transact(db, (tx) => markAccountEmail(tx, worker, email))
      return marked ? permitSince(askedAt) : undefined
    })
    await retryUntilWritten(
      () => transact(db, (tx) => settleAccountEmail(tx, worker, email, endOf(email, classify(outcome, email.recipient)))),
      () => stopping,
    )
  }

  const sending = every(POLL_MS, 'send account emails', sendDue, log)
  return {
    async stop() {
      stopping = true
      await sending.stop()
      const answered = new AbortController()
      const timeout = sleep(LAST_REPLIES_MS, undefined, { signal: answered.signal }).catch(() => {})
      await Promise.race([Promise.all(handedOver.values()), timeout])
      answered.abort()
    },
  }
}

function endOf({ failures, createdAt }: ClaimedAccountEmail, { action, reason: error, about }: Disposition): AccountEmailOutcome {
  if (action === 'sent' || action === 'unknown') return { state: action, error }
  if (action === 'put-back') return { state: 'queued', error }
  if (Date.now() - createdAt.getTime() > GIVE_UP_AFTER_MS) return { state: 'failed', error }
  if (about === 'provider' || about === 'sender-domain') return { state: 'queued', error, waitSeconds: REFUSED_WAIT_SECONDS }
  const waitSeconds = action === 'retry' ? waitBeforeRetry({ failures }) : null
  return waitSeconds === null ? { state: 'failed', error } : { state: 'queued', error, waitSeconds, failed: true }
}

const buildMessage = (email: ClaimedAccountEmail, text: string, from: Options['from']) =>
  bytesOf(
    compose({
      id: email.id,
      messageId: `${email.token}@${from.address.split('@')[1]}`,
      date: email.createdAt,
      from,
      to: { address: email.recipient },
      replyTo: null,
      subject: email.subject,
      html: htmlOf(text),
      text,
      headers: { 'Auto-Submitted': 'auto-generated' },
      attachments: [],
    }),
  )

/** The same text, with clickable links. */
const htmlOf = (text: string) =>
  `<div style="font:16px/1.5 sans-serif">${escapeHtml(text)
    .replace(/https?:\/\/\S+/g, '<a href="$&">$&</a>')
    .replace(/\n/g, '<br>\n')}</div>`
