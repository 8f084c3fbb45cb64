import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { one, type Pool, transact } from '../db/index.ts'
import { withSessionLock } from '../db/session-lock.ts'
import { sendTestEmail } from '../delivery/emails/test-email.ts'
import { removeSuppression } from '../delivery/feedback/reports/suppress.ts'
import { findDomainOwner } from '../domains/verified.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import type { Config, TransportKind } from '../lib/config.ts'
import { AppError } from '../lib/errors/errors.ts'
import { STERNA } from '../lib/process/command.ts'
import type { Secrets } from '../lib/secrets.ts'
import { readAddress } from '../lib/text/address.ts'
import { MINUTE, SECOND } from '../lib/text/units.ts'
import { readTransport } from '../nodes/instance.ts'
import { isHeldInFull } from '../nodes/sending-hold.ts'
import { type Check, failed, ok, warn } from './check.ts'

const NAME = 'return path'
/** Advisory lock of a running check; see ledger/locks.ts. */
const LOCK = 7_357_006
/** A relay that works delivers a bounce within seconds, and Amazon reports one as fast. `backMs` counts from when the message has left. */
const TIMING = { leaveMs: MINUTE, backMs: MINUTE, pollMs: SECOND / 2 }

/** Whether bounces come back to this installation, without a message: only what is configured. */
export function checkReturnPath(config: Config): Check[] {
  if (config.transportKind !== 'smtp' && config.transportKind !== 'ses') return []
  const why = whyNotChecked(config, config.transportKind)
  return [
    ok(NAME, why ? `not checked: ${why}` : `not checked; to send a message out and back run: ${STERNA} doctor --message <from address>`),
  ]
}

/** Undefined when bounces come back by a way that a message can test. */
function whyNotChecked({ bounceDomain, snsTopics }: Config, transport: TransportKind | undefined) {
  if (transport === 'smtp')
    return bounceDomain ? undefined : 'BOUNCE_DOMAIN is not set, so bounces go to the sender address and Sterna does not read them'
  if (transport === 'ses') return snsTopics.length ? undefined : 'SNS_TOPIC_ARNS is not set, so Amazon reports no bounces'
  return 'the sandbox sends nothing'
}

type Deps = { config: Config; db: Pool; url: string; secrets: Secrets }

/**
 * Sends an email to an address that does not exist, and waits until its bounce is back. With a relay the address is one of the bounce domain:
 * the relay delivers to our own listener, which refuses it, and reports that to the return path. With Amazon SES it is one of the mailbox
 * simulator. It is a test email of the project that has the domain of `from`: it takes the way of every other email, and is in no counts.
 */
export async function sendRoundTrip({ config, db, url, secrets }: Deps, from: string, timing = TIMING): Promise<Check> {
  const transport = config.transportKind ?? (await readTransport(db))
  const why = whyNotChecked(config, transport) ?? ((await isHeldInFull(db)) ? 'sending is held' : undefined)
  if (why) return warn(NAME, `not checked: ${why}`)
  const address = readAddress(from)
  const owner = address && (await findDomainOwner(db, address.split('@')[1]!))
  if (!owner) return failed(NAME, `not checked: ${from} is not an address at a verified domain; give one from which a project sends`)
  if (owner.isDisabled) return warn(NAME, `not checked: the project of ${from} is disabled`)
  const to = unknownAddress(config, transport)
  const email = { projectId: owner.projectId, from: address, to }
  const work = async () => followEmail(db, { ...email, id: await enqueue(db, secrets, email) }, { config, timing })
  try {
    return (await withSessionLock(url, LOCK, work)) ?? warn(NAME, 'not checked: another check is running')
  } catch (err) {
    if (err instanceof AppError) return failed(NAME, `not checked: ${err.message}`)
    throw err
  }
}

/** Random, so that it does not exist and no earlier bounce has suppressed it. */
function unknownAddress({ bounceDomain }: Config, transport: TransportKind | undefined) {
  const name = randomBytes(8).toString('hex')
  return transport === 'ses' ? `bounce+${name}@simulator.amazonses.com` : `doctor-${name}@${bounceDomain}`
}

async function enqueue(db: Pool, secrets: Secrets, { projectId, from, to }: { projectId: string; from: string; to: string }) {
  const text = 'Sent by `sterna doctor --message` to an address that does not exist, to see whether its bounce comes back.'
  const { emailId } = await sendTestEmail(
    { db, quotas: createQuotaCounter(db, secrets) },
    {
      projectId,
      to,
      content: {
        type: 'TRANSACTIONAL',
        subject: 'Return path check',
        body: `<p>${text}</p>`,
        fromAddress: from,
        fromName: null,
        replyTo: null,
        headers: {},
        templateId: null,
      },
      sourceType: 'TRANSACTIONAL',
      requestId: 'doctor',
    },
  )
  return emailId
}

type Followed = { projectId: string; id: string; to: string }
type Progress = {
  state: string
  error: string | null
  errorCode: string | null
  attempts: number
  leftMs: number | null
  backMs: number | null
}

/** Waits for the bounce, and says how far the email came. */
async function followEmail(db: Pool, email: Followed, { config, timing }: { config: Config; timing: typeof TIMING }): Promise<Check> {
  let progress = await readProgress(db, email)
  let until = performance.now() + timing.leaveMs
  while (progress.backMs === null && !ENDED.has(progress.state) && performance.now() < until) {
    await sleep(timing.pollMs)
    const hadLeft = progress.leftMs !== null
    progress = await readProgress(db, email)
    if (progress.leftMs !== null && !hadLeft) until = performance.now() + timing.backMs
  }
  // The address does not exist, so its suppression would only be one more line in the project's list.
  if (progress.backMs !== null) await transact(db, (tx) => removeSuppression(tx, email.projectId, email.to))
  return describeProgress(progress, email, { config, timing })
}

/** States after which nothing leaves. */
const ENDED = new Set(['failed', 'skipped', 'cancelled'])

/** By the clock of the database. */
const readProgress = (db: Pool, { projectId, id }: Followed) =>
  one<Progress>(db)`
    select e.state, e.error, e.error_code as "errorCode", e.attempts, (extract(epoch from e.sent_at - e.created_at) * 1000)::float8 as "leftMs",
      (select (extract(epoch from min(n.received_at) - e.created_at) * 1000)::float8 from provider_notifications n
        where n.project_id = e.project_id and n.email_id = e.id and n.kind = 'Bounce') as "backMs"
    from emails e where e.project_id = ${projectId} and e.id = ${id}
  `

function describeProgress(progress: Progress, { id, to }: Followed, { config, timing }: { config: Config; timing: typeof TIMING }): Check {
  const { state, error, errorCode, attempts, leftMs, backMs } = progress
  const seconds = (ms: number) => `${(ms / SECOND).toFixed(1)} s`
  const more = `more: ${STERNA} explain email ${id}`
  if (backMs !== null) {
    const left = leftMs === null ? '' : `a message left after ${seconds(leftMs)}, and `
    return ok(NAME, `${left}its bounce was back after ${seconds(backMs)}`)
  }
  if (errorCode === 'bounced') return warn(NAME, `${to} was refused at once (${error}), so no bounce comes back: that way was not tested`)
  if (ENDED.has(state)) return failed(NAME, `the message to ${to} did not leave: ${error ?? state}; ${more}`)
  if (leftMs !== null)
    return failed(
      NAME,
      `a message left after ${seconds(leftMs)}, and its bounce was not back ${seconds(timing.backMs)} later; ${adviceFor(config)}`,
    )
  if (attempts === 0)
    return failed(NAME, `no worker has taken the message in ${seconds(timing.leaveMs)}; check that one is running; ${more}`)
  return failed(NAME, `the message was not accepted in ${seconds(timing.leaveMs)}: ${error ?? 'no reply yet'}; ${more}`)
}

const adviceFor = ({ bounceDomain, ses }: Config) =>
  ses
    ? 'check the configuration set, its event destination and the subscription of the topic: docs/ses.md'
    : `check the MX record of ${bounceDomain}, that its port 25 leads to INBOUND_SMTP_PORT, and the log of the relay: docs/inbound.md`
