import { type RawBuilder, sql } from 'kysely'
import { prepared, type Tx } from '../../db/index.ts'
import { randomDigits } from '../../lib/id.ts'

export type EmailType = 'TRANSACTIONAL' | 'MARKETING' | 'HEADLESS'
type SourceType = 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW'

export type NewContent = {
  projectId: string
  id: string
  type: EmailType
  subject: string
  body: string
  fromAddress: string
  fromName: string | null
  replyTo: string | null
  headers: Record<string, string>
  templateId: string | null
  /** The version of the template. */
  templateVersion?: number | null
}
export type NewAttachment = {
  projectId: string
  contentId: string
  position: number
  filename: string
  contentType: string
  cid: string | null
  inline: boolean
  bytes: Buffer
}
export type NewEmail = {
  projectId: string
  id: string
  contentId: string
  contactId: string | null
  toAddress: string
  toName: string | null
  vars: Record<string, unknown>
  sourceType: SourceType
  /** Why the email is not sent, if that is already decided. */
  skipped?: string | null
  test?: boolean
  /** X-Request-ID of the call. */
  requestId?: string | null
  fromDomain: string
}

const PRIORITY_OF: Record<SourceType, number> = { TRANSACTIONAL: 0, WORKFLOW: 0, CAMPAIGN: 1 }

export async function insertContents(tx: Tx, contents: NewContent[]) {
  if (contents.length) await insertContentsSql(contents).execute(tx)
}

export const insertContentsSql = (contents: NewContent[]) => sql`${prepared}
    insert into contents (project_id, id, type, subject, body, from_address, from_name, reply_to, headers, template_id,
      template_version)
    select "projectId", id, type, subject, body, "fromAddress", "fromName", "replyTo", headers, "templateId", "templateVersion"
    from jsonb_to_recordset(${JSON.stringify(contents)}::jsonb) as c(
      "projectId" uuid, id uuid, type text, subject text, body text, "fromAddress" text, "fromName" text, "replyTo" text, headers jsonb,
      "templateId" uuid, "templateVersion" int)`

/** One statement per file: ten megabytes gain nothing from sharing one. */
export async function insertAttachments(tx: Tx, attachments: NewAttachment[]) {
  for (const { projectId, contentId, position, filename, contentType, cid, inline, bytes } of attachments) {
    await sql`
      insert into attachments (project_id, content_id, position, filename, content_type, cid, inline, bytes)
      values (${projectId}, ${contentId}, ${position}, ${filename}, ${contentType}, ${cid}, ${inline}, ${bytes})
    `.execute(tx)
  }
}

/**
 * Unguessable: receivers drop a second message with the same Message-ID, so a guessed one could suppress ours. It begins with the id of the
 * email, which finds the email without an index.
 */
export const newMessageId = (emailId: string, domain: string) => `${emailId.replaceAll('-', '')}${randomDigits(RANDOM_DIGITS)}@${domain}`
const RANDOM_DIGITS = 20

/** The email that a Message-ID of ours names. Undefined for those of others, and of versions before. */
export function emailOfMessageId(messageId: string): string | undefined {
  const [, id] = /^([0-9a-f]{32})[0-9a-f]{20}@[^@\s]+$/.exec(messageId) ?? []
  return id?.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** A CTE that enqueues emails to contacts of the same statement, given as rows of (project_id, id, email) and matched by address. */
export const enqueueCte = (contacts: RawBuilder<unknown>, emails: Omit<NewEmail, 'contactId' | 'skipped' | 'test'>[]) => {
  const rows = emails.map(({ fromDomain, ...email }) => ({
    ...email,
    messageId: newMessageId(email.id, fromDomain),
    priority: PRIORITY_OF[email.sourceType],
  }))
  return sql`queued as (
      insert into emails (project_id, id, content_id, contact_id, to_address, to_name, vars, source_type, message_id, lane, stream_id,
        request_id)
      select e."projectId", e.id, e."contentId", p.id, e."toAddress", e."toName", e.vars, e."sourceType", e."messageId", e.priority, e."projectId",
        e."requestId"
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as e(
        "projectId" uuid, id uuid, "contentId" uuid, "toAddress" text, "toName" text, vars jsonb, "sourceType" text, "messageId" text, priority smallint,
        "requestId" text)
      join ${contacts} as p on p.project_id = e."projectId" and p.email = e."toAddress"
    )`
}

/** Once committed, the emails are sent whatever happens to this process. */
export async function enqueueEmails(tx: Tx, emails: NewEmail[]) {
  if (!emails.length) return
  const rows = emails.map(({ fromDomain, ...email }) => ({
    ...email,
    messageId: newMessageId(email.id, fromDomain),
    priority: PRIORITY_OF[email.sourceType],
  }))
  await sql`${prepared}
    insert into emails (project_id, id, content_id, contact_id, to_address, to_name, vars, source_type, message_id, state, error, error_code, lane,
      stream_id, test, request_id)
    select "projectId", id, "contentId", "contactId", "toAddress", "toName", case when skipped is null then vars end, "sourceType", "messageId",
      case when skipped is null then 'queued' else 'skipped' end, skipped, skipped, priority, "projectId", coalesce(test, false), "requestId"
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as e(
      "projectId" uuid, id uuid, "contentId" uuid, "contactId" uuid, "toAddress" text, "toName" text, vars jsonb, "sourceType" text,
      "messageId" text, skipped text, priority smallint, test boolean, "requestId" text)
  `.execute(tx)
}
