import { sql } from 'kysely'
import { many, type Pool, type Tx, transact } from '../db/index.ts'
import type { Log } from '../lib/log.ts'
import { every } from '../lib/recurring.ts'
import type { Secrets } from '../lib/secrets.ts'
import { meaningOf, waitBeforeRetry } from './classify.ts'
import { compose } from './compose.ts'
import type { Transport } from './transport/transport.ts'

type Options = { db: Pool; secrets: Secrets; log: Log; worker: number; transport: Transport; from: { name: string; address: string } }
type Taken = {
  id: string
  recipient: string
  subject: string
  sealed: Buffer
  token: string
  attempts: number
  failures: number
  createdAt: Date
}

const POLL_MS = 1_000
const AT_ONCE = 10
/** When this process stops, what is handed over has so long to be answered. */
const LAST_ANSWERS_MS = 3_000

/**
 * Sends mails to account holders: few, sealed, and nobody's project, so beside the big queue. The same promise: on record before the
 * last byte. Of an unknown outcome nothing follows; whoever misses a link asks for another.
 */
export function startAccountMails({ db, secrets, log, worker, transport, from }: Options) {
  const inHand = new Map<string, Promise<void>>()
  let stopping = false

  async function pass() {
    await transact(db, (tx) => letGo(tx, worker, [...inHand.keys()]))
    const taken = await transact(db, (tx) => take(tx, worker, AT_ONCE - inHand.size))
    for (const mail of taken) {
      const sending = send(mail)
        .catch((err) => log.warn({ err, mail: mail.id }, 'could not send or settle an account mail'))
        .finally(() => inHand.delete(mail.id))
      inHand.set(mail.id, sending)
    }
  }

  async function send(mail: Taken) {
    const message = messageOf(mail, secrets.open('account-mail', mail.sealed), from)
    const outgoing = { projectId: null, id: mail.id, sender: from.address, recipient: mail.recipient, subject: mail.subject, message }
    const outcome = await transport.send(outgoing, async () => !stopping && (await transact(db, (tx) => mark(tx, worker, mail))))
    await transact(db, (tx) => settle(tx, worker, mail, meaningOf(outcome)))
  }

  const passing = every(POLL_MS, 'send account mails', pass, log)
  return {
    async stop() {
      stopping = true
      await passing.stop()
      let patience: NodeJS.Timeout | undefined
      const enough = new Promise((resolve) => (patience = setTimeout(resolve, LAST_ANSWERS_MS)))
      await Promise.race([Promise.all(inHand.values()), enough])
      clearTimeout(patience)
    },
  }
}

const take = (tx: Tx, worker: number, limit: number) =>
  many(
    tx,
    sql<Taken>`
      update account_mails set state = 'sending', worker = ${worker}, attempts = attempts + 1, handed_over_at = null
      where id in (
        select id from account_mails where state = 'queued' and due_at <= now() order by due_at limit ${limit} for update skip locked)
      returning id, recipient, subject, sealed_text as sealed, message_token as token, attempts, failures, created_at as "createdAt"
    `,
  )

/** What the dead had, and what this process has without knowing. */
const letGo = (tx: Tx, worker: number, inHand: string[]) =>
  sql`
    update account_mails m set state = case when handed_over_at is null then 'queued' else 'unknown' end, worker = null
    where state = 'sending' and (worker = ${worker} and not (id = any(${inHand}::uuid[]))
      or not exists (select from senders s where s.worker = m.worker))
  `.execute(tx)

async function mark(tx: Tx, worker: number, { id, attempts }: Taken) {
  const { numAffectedRows } = await sql`
    update account_mails set handed_over_at = clock_timestamp()
    where id = ${id} and worker = ${worker} and attempts = ${attempts} and state = 'sending'
  `.execute(tx)
  return numAffectedRows === 1n
}

async function settle(tx: Tx, worker: number, mail: Taken, { action, reason }: ReturnType<typeof meaningOf>) {
  const wait = action === 'retry' ? waitBeforeRetry({ failures: mail.failures, firstFailedAt: mail.createdAt }) : 0
  const states = { sent: 'sent', unknown: 'unknown', fail: 'failed', 'put-back': 'queued', retry: wait === null ? 'failed' : 'queued' }
  await sql`
    update account_mails set state = ${states[action]}, worker = null, error = ${reason}, due_at = now() + make_interval(secs => ${wait ?? 0}),
      failures = failures + ${action === 'retry' ? 1 : 0}
    where id = ${mail.id} and attempts = ${mail.attempts} and (worker = ${worker} or state = 'unknown')
  `.execute(tx)
}

function messageOf(mail: Taken, text: string, from: Options['from']) {
  const { head, body } = compose({
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
  })
  return `${head}\r\n${body}`
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** The same words, with links that can be followed. */
const htmlOf = (text: string) =>
  `<div style="font:16px/1.5 sans-serif">${text
    .replace(/[&<>"]/g, (character) => ENTITIES[character]!)
    .replace(/https?:\/\/\S+/g, '<a href="$&">$&</a>')
    .replace(/\n/g, '<br>\n')}</div>`
