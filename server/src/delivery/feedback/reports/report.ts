import { sql } from 'kysely'
import { columns, type RowOf } from '../../../db/columns.ts'
import { many, type Tx } from '../../../db/index.ts'
import { prepared } from '../../../db/prepared.ts'
import { recordset } from '../../../db/rows.ts'
import { failByEvidence, settleByEvidence } from '../../outbox/outcomes/evidence.ts'
import type { Feedback } from '../../transport/transport.ts'
import { recordFeedbacks } from './record.ts'

export type ReportedEmail = { projectId: string; emailId: string }

/** The statement of a provider or receiver about one email. */
export type EmailReport = {
  kind: string
  /** With the provider's own id of the email, where the report has it. */
  email: ReportedEmail & { providerId?: string }
  feedback?: Feedback
  /** Set when the provider accepted the email and then rejected it: the reason. */
  rejected?: string
  /** The receiver did not accept the email. */
  refused?: boolean
  /** For the timeline of the email. */
  details?: object
}

export type LockedEmail = RowOf<typeof ROW>
const ROW = columns('emails', 'e', ['projectId', 'id', 'providerId', 'messageId'])

/** Locks the emails in the order of their ids: consistent lock order avoids deadlocks. Returns them by `emailKey`. */
export async function lockReportedEmails(tx: Tx, emails: ReportedEmail[]) {
  const wanted = emails.map(({ projectId, emailId }) => ({ projectId, id: emailId }))
  const rows = await many(
    tx,
    prepared<LockedEmail>`
    select ${ROW} from emails e
    where (e.project_id, e.id) in (
      select "projectId", id from ${recordset('emails', wanted, ['projectId', 'id'])} as m)
    order by 1, 2 for no key update
  `,
  )
  return new Map(rows.map((row) => [emailKey(row.projectId, row.id), row]))
}

export const emailKey = (projectId: string, id: string) => `${projectId} ${id}`.toLowerCase()

/** Any report but a refusal is also evidence that the email was accepted. */
export async function applyReports(tx: Tx, reports: EmailReport[]) {
  const accepted = reports.flatMap(({ refused, email: { emailId: id, ...email } }) => (refused ? [] : [{ ...email, id }]))
  const feedbacks = reports.flatMap(({ email: { projectId, emailId: id }, feedback }) => (feedback ? [{ projectId, id, feedback }] : []))
  const rejections = reports.flatMap(({ email: { projectId, emailId: id }, rejected: reason }) =>
    reason ? [{ projectId, id, reason }] : [],
  )
  await settleByEvidence(tx, accepted)
  await recordFeedbacks(tx, feedbacks)
  await failByEvidence(tx, rejections)
}

/** Reports stored per email. Bounded, because the holder of a return path can write to it without end. */
const MAX_REPORTS = 20

/** Stores and applies a report that was already proven to be about this email. Returns false when the email does not exist. */
export async function storeAndApplyReport(tx: Tx, { id, message, report }: { id: string; message: string; report: EmailReport }) {
  const { kind, details, email } = report
  const locked = await lockReportedEmails(tx, [email])
  if (!locked.size) return false
  await sql`
    insert into provider_notifications (id, message, due_at, kind, project_id, email_id, details)
    select ${id}, ${message}, null, ${kind}, ${email.projectId}, ${email.emailId}, ${details ? JSON.stringify(details) : null}::jsonb
    where (select count(*) from provider_notifications where project_id = ${email.projectId} and email_id = ${email.emailId}) < ${MAX_REPORTS}
    on conflict do nothing
  `.execute(tx)
  await applyReports(tx, [report])
  return true
}
