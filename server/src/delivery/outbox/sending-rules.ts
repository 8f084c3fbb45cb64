import { type RawBuilder, sql } from 'kysely'
import { type Db, many } from '../../db/index.ts'
import type { findTemplate } from '../../templates/template.ts'
import type { EmailType, NewContent } from './enqueue.ts'

/** The rules of everything that sends: requests, campaigns and workflows. They hold when an email is accepted, and again when it is sent. */

/** Emails of these types go to subscribers only. */
export const needsConsent = (type: EmailType) => type !== 'TRANSACTIONAL'

/** Whether an address, or its whole domain, gets no email from a project. */
export const isSuppressedSql = (projectId: RawBuilder<unknown>, address: RawBuilder<unknown>) => sql<boolean>`exists (
  select from suppressions s where s.project_id = ${projectId} and s.address in (${address}, '@' || split_part(${address}, '@', 2)))`

/** Addresses are checked when they are stored; this finds those stored by other means. */
export const isInvalidSql = (address: RawBuilder<unknown>) =>
  sql<boolean>`(${address} not like '_%@_%._%' or octet_length(${address}) > 254)`

type Recipient = { projectId: string; email: string }

/** Returns a lookup of the recipients that are subscribed contacts. Takes no lock: the subscription is checked again on delivery. */
export async function findSubscribers(db: Db, recipients: Recipient[]) {
  const keyOf = ({ projectId, email }: Recipient) => `${projectId} ${email}`
  const rows = recipients.length ? await many(db, subscribersSql(recipients)) : []
  const found = new Set(rows.map(keyOf))
  return (recipient: Recipient) => found.has(keyOf(recipient))
}

const subscribersSql = (recipients: Recipient[]) => sql<Recipient>`
  select c.project_id as "projectId", c.email from contacts c
  join jsonb_to_recordset(${JSON.stringify(recipients)}::jsonb) as r("projectId" uuid, email text) on c.project_id = r."projectId" and c.email = r.email
  where c.subscribed`

type Template = NonNullable<Awaited<ReturnType<typeof findTemplate>>>

/** Fields that take precedence over those of the template. Without a template, subject and body are required. */
type ContentFields = { fromAddress: string } & {
  [Field in 'subject' | 'previewText' | 'body' | 'fromName' | 'replyTo']?: string | null | undefined
} & { headers?: Record<string, string> | undefined }

/** The content of an email: that of a template, if there is one, with the given fields instead of the template's. */
export const contentFrom = (
  template: Template | undefined,
  { fromAddress, subject, previewText, body, fromName, replyTo, headers = {} }: ContentFields,
): Omit<NewContent, 'projectId' | 'id'> => ({
  type: template?.type ?? 'TRANSACTIONAL',
  subject: subject ?? template?.subject ?? '',
  previewText: previewText ?? template?.previewText ?? null,
  body: body ?? template?.body ?? '',
  fromAddress,
  fromName: fromName || template?.fromName || null,
  replyTo: replyTo ?? template?.replyTo ?? null,
  headers,
  templateId: template?.id ?? null,
  templateVersion: template?.version ?? null,
})
