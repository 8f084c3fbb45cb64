import { sql } from 'kysely'
import { columns, type RowOf } from '../db/columns.ts'
import { countAffected, many, type Tx } from '../db/index.ts'
import { REPLACING_SUBJECTS } from './account-email.ts'

/** An account email that a worker is about to send. */
export type ClaimedAccountEmail = RowOf<typeof CLAIMED> & { sealed: Buffer; token: string }
const CLAIMED = columns('account_mails', '', ['id', 'recipient', 'subject', 'attempts', 'failures', 'createdAt'])
export type AccountEmailOutcome = {
  state: 'sent' | 'failed' | 'unknown' | 'queued'
  error: string | null
  waitSeconds?: number
  failed?: boolean
}

/** Bound of one pass. The next pass is a second later. */
const MAX_QUEUED_AT_ONCE = 100

/**
 * Queues emails that were kept while no worker could send, if their link is still valid. Only the latest confirmation and reset is sent,
 * because it invalidated the earlier links. Invitations are all sent: the rows do not say for which project.
 */
export const queueKeptAccountEmails = (tx: Tx) =>
  sql`
    update account_mails set state = 'queued', due_at = now()
    where id in (
      select id from account_mails kept
      where state = 'kept' and link_expires_at > now()
        and not (subject = any(${Object.values(REPLACING_SUBJECTS)}) and exists (select from account_mails newer
          where newer.recipient = kept.recipient and newer.subject = kept.subject and newer.created_at > kept.created_at))
      order by link_expires_at limit ${MAX_QUEUED_AT_ONCE} for update skip locked)
  `.execute(tx)

export const claimAccountEmails = (tx: Tx, worker: number, limit: number) =>
  many<ClaimedAccountEmail>(tx)`
    update account_mails set state = 'sending', worker = ${worker}, attempts = attempts + 1, handed_over_at = null
    where id in (
      select id from account_mails where state = 'queued' and due_at <= now() order by due_at limit ${limit} for update skip locked)
    returning ${CLAIMED}, sealed_text as sealed, message_token as token
  `

/** Emails claimed by dead workers, or by this one in a claim whose result it never received. */
export const releaseUnheldAccountEmails = (tx: Tx, worker: number, held: string[]) =>
  sql`
    update account_mails m set state = case when handed_over_at is null then 'queued' else 'unknown' end, worker = null
    where state = 'sending' and (worker = ${worker} and not (id = any(${held}::uuid[]))
      or not exists (select from senders s where s.worker = m.worker))
  `.execute(tx)

/** Records that the email is about to be handed over. False: it must not be. */
export async function markAccountEmail(tx: Tx, worker: number, { id, attempts }: ClaimedAccountEmail) {
  const marked = await countAffected(tx)`
    update account_mails set handed_over_at = clock_timestamp()
    where id = ${id} and worker = ${worker} and attempts = ${attempts} and state = 'sending'
  `
  return marked === 1
}

export async function settleAccountEmail(
  tx: Tx,
  worker: number,
  { id, attempts }: ClaimedAccountEmail,
  { state, error, waitSeconds = 0, failed = false }: AccountEmailOutcome,
) {
  await sql`
    update account_mails set state = ${state}, worker = null, error = ${error}, due_at = now() + make_interval(secs => ${waitSeconds}),
      failures = failures + ${failed ? 1 : 0}
    where id = ${id} and attempts = ${attempts} and (worker = ${worker} or state = 'unknown')
  `.execute(tx)
}
