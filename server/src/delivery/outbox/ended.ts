import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../db/index.ts'
import { recordEvents } from '../../events/record.ts'
import { CONTACT } from './contact-id.ts'
import { addEntries } from './email-ledger.ts'

/**
 * States in which evidence of acceptance still changes the outcome. Emails about to be sent again are among them, so that they are not sent
 * twice; also after a temporary refusal, since a server that fails midway may refuse a message that it has accepted.
 */
export const OPEN_TO_EVIDENCE = sql`(
  e.state = 'unknown'
  or e.state = 'sending' and (e.handed_over_at is not null or e.attempts > 1)
  or e.state in ('queued', 'deferred') and e.attempts > 0
  or e.state = 'failed' and e.error = 'outcome_unknown')`

/** Part of every event of an email `e` with its content `c`. */
export const FACTS = sql`jsonb_build_object('emailId', e.id, 'messageId', e.message_id, 'subject', coalesce(e.subject, c.subject), 'from', c.from_address,
  'templateId', c.template_id, 'campaignId', e.campaign_id, 'workflowExecutionId', e.workflow_execution_id, 'sourceType', e.source_type)`

export const isoTime = (time: RawBuilder<unknown>) => sql`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Columns that a statement ending emails `e` returns for `recordEnds`: a second query would cost as much again. */
export const END_COLUMNS = sql`e.project_id as "projectId", e.id, ${CONTACT} as "contactId", e.state, e.sent_at as "sentAt", e.error,
  e.campaign_id as "campaignId", e.test, e.metered,
  (select ${FACTS} from contents c where c.project_id = e.project_id and c.id = e.content_id) as facts`
export type EndedEmail = {
  projectId: string
  id: string
  contactId: string | null
  state: string
  sentAt: Date | null
  error: string | null
  campaignId: string | null
  test: boolean
  metered: boolean | null
  facts: object
}

/** Records `email.sent` and `email.failed` for the emails in these states, and counts them; ignores the others, and test emails. */
export async function recordEnds(tx: Tx, emails: EndedEmail[]) {
  const ended = emails.filter(({ state, test }) => !test && (state === 'sent' || state === 'failed'))
  await addEntries(
    tx,
    ended.map((email) =>
      email.state === 'sent' ? { ...email, kind: 'sent', countedAt: email.metered ? email.sentAt : null } : { ...email, kind: 'failed' },
    ),
  )
  await recordEvents(
    tx,
    ended.map(({ projectId, id, contactId, state, sentAt, error, facts }) => ({
      projectId,
      name: state === 'sent' ? 'email.sent' : 'email.failed',
      emailId: id,
      data: state === 'sent' ? { ...facts, sentAt: sentAt!.toISOString() } : { ...facts, reason: error },
      ...(contactId ? { contactId } : {}),
    })),
  )
}
