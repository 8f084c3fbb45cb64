import { type RawBuilder, sql } from 'kysely'
import { countRows, type Db, prepared, type Tx } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { newId } from '../lib/id.ts'

/** Types that are webhooks only: neither events, nor triggers of workflows. */
export const WEBHOOK_ONLY_TYPES = [
  'contact.created',
  'contact.deleted',
  'campaign.started',
  'campaign.sent',
  'campaign.paused',
  'workflow.completed',
  'workflow.failed',
  'domain.verified',
  'domain.failed',
  'project.disabled',
  'project.enabled',
] as const
type WebhookOnlyType = (typeof WEBHOOK_ONLY_TYPES)[number]

/** Something that happened and is no event. `contactEmail`: of a contact that a later statement could not read any more. */
export type NewFact = {
  projectId: string
  type: WebhookOnlyType
  contactId?: string | null
  contactEmail?: string
  data?: object
}

/** Type of the webhook for an event: its name if only Sterna records such events, `event.<name>` for those that customers track. */
export const typeOfEventSql = (name: RawBuilder<unknown>) => sql`
  case when ${name} ~ '^(email[.]|contact[.](subscribed|unsubscribed)$|segment[.].+[.](entry|exit)$)' then ${name} else 'event.' || ${name} end`

/** What an endpoint may list to get a type: the type, its group, or everything. */
export const selectorsOfSql = (type: RawBuilder<unknown>) => sql`array['*', ${type}, split_part(${type}, '.', 1) || '.*']`

/** SQL condition: an enabled endpoint listens. A scalar subquery: PostgreSQL probes the index for it, and cannot turn it into a join. */
const isHeardSql = (projectId: RawBuilder<unknown>, type: RawBuilder<unknown>) => sql`
  (select true from webhook_endpoints l where l.project_id = ${projectId} and l.enabled and l.events && ${selectorsOfSql(type)} limit 1)`

/** Reads the address of the contact in the transaction of the fact: the contact may be deleted before the payload is sent. */
const CURRENT_EMAIL = sql`(select c.email from contacts c where c.project_id = f.project_id and c.id = f.contact_id)`

/**
 * Stores facts, given as rows of (project_id, id, type, name, contact_id, email_id, data), each with its payload once, if an endpoint
 * listens. `contactEmail` is an expression on the alias `f`, for contacts that the same statement writes.
 */
export const insertFactsSql = (
  rows: RawBuilder<unknown>,
  { contactEmail = CURRENT_EMAIL }: { contactEmail?: RawBuilder<unknown> } = {},
) => sql`
  insert into webhook_outbox (project_id, id, type, name, contact_id, contact_email, email_id, data)
  select f.project_id, f.id, f.type, f.name, f.contact_id, ${contactEmail}, f.email_id, f.data
  from ${rows} as f where ${isHeardSql(sql`f.project_id`, sql`f.type`)}`

/** In the transaction in which it happened, as one statement. */
export async function recordFacts(tx: Tx, facts: NewFact[]) {
  if (!facts.length) return
  const rows = facts.map((fact) => ({ id: newId(), ...fact }))
  const given = sql`(
    select "projectId" as project_id, id, type, type as name, "contactId" as contact_id, "contactEmail" as contact_email,
      null::uuid as email_id, coalesce(data, '{}') as data
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as g("projectId" uuid, id uuid, type text, "contactId" uuid, "contactEmail" text, data jsonb))`
  await sql`${prepared} ${insertFactsSql(given, { contactEmail: sql`coalesce(f.contact_email, ${CURRENT_EMAIL})` })}`.execute(tx)
}

/** Removes the oldest facts of a project, for a statement that stores what becomes of them. Facts that another worker takes are left out. */
export const takeFactsSql = (projectId: string, limit: number) => sql`
  delete from webhook_outbox where project_id = ${projectId} and id = any(array(
    select id from webhook_outbox where project_id = ${projectId} order by id limit ${limit} for update skip locked))
  returning *`

/** For the doctor: facts that no worker has taken for five minutes, counted up to a bound. */
export const countOverdueFacts = (db: Db) =>
  countRows(db, sql`select from webhook_outbox where created_at < now() - interval '5 minutes' limit 10000`)

export const wipeWebhookOutbox = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'webhook_outbox', scope)
