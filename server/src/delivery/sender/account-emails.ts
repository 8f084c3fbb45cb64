import {
  type ClaimedAccountEmail,
  claimAccountEmails,
  markAccountEmail,
  queueKeptAccountEmails,
  releaseUnheldAccountEmails,
  settleAccountEmail,
} from '../../account-emails/queue.ts'
import { type Pool, transact } from '../../db/index.ts'
import { every } from '../../lib/every.ts'
import { escapeHtml } from '../../lib/html.ts'
import type { Log } from '../../lib/log.ts'
import type { Secrets } from '../../lib/secrets.ts'
import { DAY } from '../../lib/units.ts'
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
const AT_ONCE = 10
/** Time for the answers to what is handed over when this process stops. */
const LAST_ANSWERS_MS = 15_000
/** While the provider refuses us, which does not count against the email. */
const REFUSED_WAIT_SECONDS = 60
/** No link lives longer. */
const GIVE_UP_AFTER_MS = 7 * DAY

/**
 * Sends mails to account holders: few, sealed, and nobody's project, so beside the big queue. The same promise: on record before the
 * last byte. Of an unknown outcome nothing follows; whoever misses a link asks for another.
 */
export function startAccountEmails({ db, secrets, log, worker, isHeld, transport, from }: Options) {
  const inHand = new Map<string, Promise<void>>()
  const handedOver = new Map<string, Promise<void>>()
  let stopping = false

  async function pass() {
    if (!isHeld()) return
    await transact(db, (tx) => releaseUnheldAccountEmails(tx, worker, [...inHand.keys()]))
    await transact(db, (tx) => queueKeptAccountEmails(tx))
    const taken = await transact(db, (tx) => claimAccountEmails(tx, worker, AT_ONCE - inHand.size))
    for (const mail of taken) {
      const sending = send(mail)
        .catch((err) => log.warn({ err, mail: mail.id }, 'could not send or settle an account mail'))
        .finally(() => {
          inHand.delete(mail.id)
          handedOver.delete(mail.id)
        })
      inHand.set(mail.id, sending)
    }
  }

  async function send(mail: ClaimedAccountEmail) {
    const message = messageOf(mail, secrets.open('account-mail', mail.sealed), from)
    const outgoing = { projectId: null, id: mail.id, sender: from.address, recipient: mail.recipient, subject: mail.subject, message }
    const outcome = await transport.send(outgoing, async () => {
      const asked = performance.now()
      if (stopping) return undefined
      handedOver.set(mail.id, inHand.get(mail.id)!)
      const marked = await transact(db, (tx) => markAccountEmail(tx, worker, mail))
      return marked ? permitSince(asked) : undefined
    })
    await retryUntilWritten(
      () => transact(db, (tx) => settleAccountEmail(tx, worker, mail, endOf(mail, classify(outcome)))),
      () => stopping,
    )
  }

  const passing = every(POLL_MS, 'send account mails', pass, log)
  return {
    async stop() {
      stopping = true
      await passing.stop()
      let patience: NodeJS.Timeout | undefined
      const enough = new Promise((resolve) => (patience = setTimeout(resolve, LAST_ANSWERS_MS)))
      await Promise.race([Promise.all(handedOver.values()), enough])
      clearTimeout(patience)
    },
  }
}

function endOf({ failures, createdAt }: ClaimedAccountEmail, { action, reason, about }: Disposition) {
  if (action === 'sent' || action === 'unknown') return { state: action, error: reason }
  if (action === 'put-back') return { state: 'queued' as const, error: reason, waitSeconds: 0 }
  if (Date.now() - createdAt.getTime() > GIVE_UP_AFTER_MS) return { state: 'failed' as const, error: reason }
  if (about === 'provider' || about === 'sender-domain')
    return { state: 'queued' as const, error: reason, waitSeconds: REFUSED_WAIT_SECONDS }
  const waitSeconds = action === 'retry' ? waitBeforeRetry({ failures }) : null
  return waitSeconds === null
    ? { state: 'failed' as const, error: reason }
    : { state: 'queued' as const, error: reason, waitSeconds, failed: true }
}

const messageOf = (mail: ClaimedAccountEmail, text: string, from: Options['from']) =>
  bytesOf(
    compose({
      id: mail.id,
      messageId: `${mail.token}@${from.address.split('@')[1]}`,
      date: mail.createdAt,
      from,
      to: { address: mail.recipient },
      replyTo: null,
      subject: mail.subject,
      html: htmlOf(text),
      text,
      headers: { 'Auto-Submitted': 'auto-generated' },
      attachments: [],
    }),
  )

/** The same words, with links that can be followed. */
const htmlOf = (text: string) =>
  `<div style="font:16px/1.5 sans-serif">${escapeHtml(text)
    .replace(/https?:\/\/\S+/g, '<a href="$&">$&</a>')
    .replace(/\n/g, '<br>\n')}</div>`
