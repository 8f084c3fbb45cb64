import { sql } from 'kysely'
import { columns, type RowOf } from '../../db/columns.ts'
import { maybeOne, type Tx } from '../../db/index.ts'
import { assertVerified } from '../../domains/verified.ts'
import { fail } from '../../lib/errors/errors.ts'
import { newId } from '../../lib/id.ts'
import { checkLockedCaps, lockCaps } from '../../projects/caps.ts'
import { METERED } from '../../projects/email-counts.ts'
import { KEPT_DAYS } from '../outbox/clear-vars.ts'
import { emailOfMessageId, newMessageId } from '../outbox/enqueue.ts'
import { CONTACT } from '../outbox/outcomes/contact-id.ts'
import { insertAcceptedSql } from '../outbox/outcomes/email-ledger.ts'
import { notifyQueued } from '../outbox/streams/queue-notifications.ts'
import { PRIORITIES } from '../outbox/streams/stream-of.ts'

const ROW = columns('emails', 'e', ['state', 'sourceType', 'test', 'messageId'])
type FailedEmail = RowOf<typeof ROW> & {
  fromAddress: string
  /** By SMTP. */
  isSubmitted: boolean
  hasContact: boolean
  hasRequestData: boolean
  /** Its message, of SMTP submission, was deleted. */
  lacksMessage: boolean
  /** The id of a resend that has not failed. */
  resentAs: string | null
}

/** Enqueues a copy of a failed transactional email. Returns its id; undefined when the email does not exist. */
export async function resendEmail(tx: Tx, { projectId, id }: { projectId: string; id: string }): Promise<string | undefined> {
  const capped = await lockCaps(tx, [projectId], 'transactional')
  // One resend at a time. The lock is a statement of its own, so that the next statement sees the resend before it.
  await sql`select 1 from emails where project_id = ${projectId} and id = ${id} for update`.execute(tx)
  const email = await maybeOne<FailedEmail>(tx)`
    select ${ROW}, c.raw_form is not null as "isSubmitted", c.from_address as "fromAddress", ${CONTACT} is not null as "hasContact",
      e.vars is not null and e.updated_at > now() - make_interval(days => ${KEPT_DAYS}) as "hasRequestData",
      c.raw_form is not null and c.raw is null as "lacksMessage",
      (select r.id from emails r where r.project_id = e.project_id and r.resent_from = e.id and r.state <> 'failed' limit 1) as "resentAs"
    from emails e join contents c on c.project_id = e.project_id and c.id = e.content_id
    where e.project_id = ${projectId} and e.id = ${id}
  `
  if (!email) return undefined
  assertResendable(email)
  await assertVerified(tx, projectId, email.fromAddress)
  const [refusal] = await checkLockedCaps(tx, 'transactional', [{ projectId, emails: 1 }], capped)
  if (refusal) throw refusal
  return enqueueCopy(tx, { projectId, id, fromDomain: email.fromAddress.split('@')[1]!, givenMessageId: givenMessageIdOf(email) })
}

function assertResendable({ state, sourceType, test, hasContact, hasRequestData, lacksMessage, resentAs }: FailedEmail) {
  if (sourceType !== 'TRANSACTIONAL') fail('CONFLICT', { message: 'Only transactional emails can be resent.' })
  if (test) fail('CONFLICT', { message: 'A test email cannot be resent. Send another one.' })
  if (state !== 'failed') fail('CONFLICT', { message: 'Only failed emails can be resent.' })
  if (resentAs) fail('CONFLICT', { message: 'This email was already resent.', details: { emailId: resentAs } })
  if (!hasContact) fail('CONFLICT', { message: 'The contact was deleted.' })
  if (lacksMessage) fail('CONFLICT', { message: `The message was deleted ${KEPT_DAYS} days after the failure.` })
  if (!hasRequestData) fail('CONFLICT', { message: `The data of the request was cleared ${KEPT_DAYS} days after the failure.` })
}

/** A message of SMTP submission keeps the Message-ID that its client gave it. */
const givenMessageIdOf = ({ messageId, isSubmitted }: FailedEmail) =>
  isSubmitted && emailOfMessageId(messageId) === undefined ? messageId : undefined

type Copied = { projectId: string; id: string; fromDomain: string; givenMessageId: string | undefined }

async function enqueueCopy(tx: Tx, { projectId, id, fromDomain, givenMessageId }: Copied) {
  const copyId = newId()
  const messageId = givenMessageId ?? newMessageId(copyId, fromDomain)
  await sql`
    with queued as (
      insert into emails (project_id, id, content_id, contact_id, to_address, to_name, vars, source_type, message_id, lane, stream_id, resent_from,
        metered)
      select project_id, ${copyId}, content_id, contact_id, to_address, to_name, vars, source_type, ${messageId}, lane, stream_id, id, ${METERED}
      from emails where project_id = ${projectId} and id = ${id}
      returning project_id, source_type, metered
    )
    ${insertAcceptedSql(sql`select project_id, source_type from queued where metered`)}
  `.execute(tx)
  await notifyQueued(tx, PRIORITIES.transactional)
  return copyId
}
