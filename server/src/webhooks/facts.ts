import { type RawBuilder, sql } from 'kysely'
import { type Db, scalar, type Tx } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { recordset } from '../db/rows.ts'
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

/** SQL: type of the webhook for an event: its name if only Sterna records such events, `event.<name>` for those that customers track. */
export const typeOfEventSql = (name: RawBuilder<unknown>) => sql`
  case when ${name} ~ '^(email[.]|contact[.](subscribed|unsubscribed)$|segment[.].+[.](entry|exit)$)' then ${name} else 'event.' || ${name} end`

/** What an endpoint may list to get a type: the type, its group, or everything. */
export const selectorsOfSql = (type: RawBuilder<unknown>) => sql`array['*', ${type}, split_part(${type}, '.', 1) || '.*']`

/** SQL condition: an enabled endpoint listens. A scalar subquery: PostgreSQL probes the index for it, and cannot turn it into a join. */
const isHeardSql = (projectId: RawBuilder<unknown>, type: RawBuilder<unknown>) => sql`
  (select true from webhook_endpoints l where l.project_id = ${projectId} and l.enabled and l.events && ${selectorsOfSql(type)} limit 1)`

/** Reads the address of the contact in the transaction of the fact: the contact may be deleted before the payload is sent. */
const CURRENT_EMAIL = sql`(select c.email from contacts c where c.project_id = f.project_id and c.id = f.contact_id)`

type FactOptions = {
  /** Type of the facts of a name, as an expression on the alias `n`; without it, their name. */
  type?: RawBuilder<unknown>
  /** Address of the contact, as an expression on the alias `f`: for contacts that the same statement writes. */
  contactEmail?: RawBuilder<unknown>
}

/**
 * CTEs that store facts, given as rows of (project_id, id, name, contact_id, email_id, data), each with its payload once, if an endpoint
 * listens; and one row of the outbox for those of a project and type. Their names begin with `prefix`: a statement may have several.
 */
export function storeFactsCte(prefix: string, rows: RawBuilder<unknown>, options: FactOptions) {
  const { type = sql`n.name`, contactEmail = CURRENT_EMAIL } = options
  const [heard, stored, queued] = ['heard', 'stored', 'queued'].map((part) => sql.ref(`${prefix}_${part}`))
  return sql`
    ${heard} as materialized (
      -- Once per name: most facts of a statement have the same one.
      select t.* from (select n.*, ${type} as type from (select distinct project_id, name from ${rows} as r) as n offset 0) as t
      where ${isHeardSql(sql`t.project_id`, sql`t.type`)}
    ), ${stored} as (
      insert into webhook_messages (project_id, id, type, name, contact_id, contact_email, email_id, data)
      select f.project_id, f.id, h.type, f.name, f.contact_id, ${contactEmail}, f.email_id, f.data
      from ${rows} as f join ${heard} as h on h.project_id = f.project_id and h.name = f.name
      returning project_id, type, id
    ), ${queued} as (
      insert into webhook_outbox (project_id, id, type, message_ids)
      select project_id, (array_agg(id order by id))[1], type, array_agg(id order by id) from ${stored} group by project_id, type
    )`
}

/** In the transaction in which it happened, as one statement. */
export async function recordFacts(tx: Tx, facts: NewFact[]) {
  if (!facts.length) return
  const rows = facts.map((fact) => ({ id: newId(), ...fact }))
  const contactEmail = sql`coalesce(f.contact_email, ${CURRENT_EMAIL})`
  await prepared`
    with facts as materialized (
      select "projectId" as project_id, id, type as name, "contactId" as contact_id, "contactEmail" as contact_email,
        null::uuid as email_id, coalesce(data, '{}') as data
      from ${recordset('webhook_messages', rows, ['projectId', 'id', 'type', 'contactId', 'contactEmail', 'data'])} as g
    ), ${storeFactsCte('facts', sql`facts`, { contactEmail })}
    select
  `.execute(tx)
}

/** Takes the oldest rows of the outbox of a project, for a statement that stores what becomes of them. Those of another worker are left out. */
export const takeFactsSql = (projectId: string, limit: number) => sql`
  delete from webhook_outbox where project_id = ${projectId} and id = any(array(
    select id from webhook_outbox where project_id = ${projectId} order by id limit ${limit} for update skip locked))
  returning type, message_ids`

const MAX_COUNTED = 10_000

/** For the doctor: facts that no worker has taken for five minutes, counted up to a bound. */
export const countOverdueFacts = (db: Db) => scalar<number>(db)`
  select least(coalesce(sum(cardinality(message_ids)), 0), ${MAX_COUNTED})::int
  from (select message_ids from webhook_outbox where created_at < now() - interval '5 minutes' limit ${MAX_COUNTED}) as overdue`

export const wipeWebhookOutbox = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'webhook_outbox', scope)
export const wipeWebhookMessages = (tx: Tx, scope: WipeScope) => wipeRows(tx, 'webhook_messages', scope)
