import { type RawBuilder, sql } from 'kysely'
import { columns, type RowOf } from '../../../db/columns.ts'
import type { Tx } from '../../../db/index.ts'
import { type NewEvent, recordEvents } from '../../../events/record.ts'
import { CONTACT } from './contact-id.ts'
import { addEntries, type LedgerEntry } from './email-ledger.ts'

/**
 * States in which evidence of acceptance still changes the outcome. Emails about to be sent again are among them, so that they are not sent
 * twice; also after a temporary refusal, since a server that fails midway may refuse a message that it has accepted.
 */
export const OPEN_TO_EVIDENCE = sql`(
  e.state = 'unknown'
  or e.state = 'sending' and (e.handed_over_at is not null or e.attempts > 1)
  or e.state in ('queued', 'deferred') and e.attempts > 0
  or e.state = 'failed' and e.error = 'outcome_unknown')`

/** An email that has not left after this time fails, whatever the reason: its content is stale. */
export const EXPIRES_AFTER_DAYS = 7

/** Part of every event of an email `e` with its content `c`. */
export const FACTS = sql`jsonb_build_object('emailId', e.id, 'messageId', e.message_id, 'subject', coalesce(e.subject, c.subject), 'from', c.from_address,
  'templateId', c.template_id, 'campaignId', e.campaign_id, 'workflowExecutionId', e.workflow_execution_id, 'sourceType', e.source_type)`

export const isoTime = (time: RawBuilder<unknown>) => sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const ROW = columns('emails', 'e', ['projectId', 'id', 'state', 'sentAt', 'error', 'campaignId', 'test', 'metered'])

/** Columns that a statement ending emails `e` returns for `recordEnds`: a second query would cost as much again. */
export const END_COLUMNS = sql`${ROW}, ${CONTACT} as "contactId",
  (select ${FACTS} from contents c where c.project_id = e.project_id and c.id = e.content_id) as facts`
export type EndedEmail = RowOf<typeof ROW> & { contactId: string | null; facts: object }

/** Records `email.sent` and `email.failed` for the emails in these states, and counts them; ignores the others, and test emails. */
export async function recordEnds(tx: Tx, emails: EndedEmail[]) {
  const ended = emails.filter(({ state, test }) => !test && (state === 'sent' || state === 'failed'))
  await addEntries(tx, ended.map(entryOf))
  await recordEvents(tx, ended.map(eventOf))
}

const entryOf = (email: EndedEmail): LedgerEntry =>
  email.state === 'sent' ? { ...email, kind: 'sent', countedAt: email.metered ? email.sentAt : null } : { ...email, kind: 'failed' }

const eventOf = ({ projectId, id: emailId, contactId, state, sentAt, error, facts }: EndedEmail): NewEvent =>
  state === 'sent'
    ? { projectId, name: 'email.sent', emailId, contactId, data: { ...facts, sentAt: sentAt!.toISOString() } }
    : { projectId, name: 'email.failed', emailId, contactId, data: { ...facts, reason: error } }
