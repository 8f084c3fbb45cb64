import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../db/index.ts'

/**
 * Topics of listeners. For one contact: an event by its name, every event (`event:*`), every change of the contact (`contact`), or a
 * part of the contact. For the whole project: `field:<key>` (deleted, or back after its deletion) and `events-deleted:<name>`. For a static
 * segment: `segment:<id>` (its members were changed by hand). By the clock: `due:<segment id>` (a contact must be checked again).
 */
export type Topic =
  | `event:${string}`
  | 'contact'
  | 'contact:created'
  | 'contact:deleted'
  | 'contact:email'
  | 'contact:subscribed'
  | `contact:data.${string}`
  | `segment:${string}`
  | `due:${string}`
  | `field:${string}`
  | `events-deleted:${string}`

/** `listener`: `<kind>:<id>`. The kind names the handler (events/dispatch.ts). */
type Listener = { projectId: string; listener: string }

/** Channel of notifications about new reactions. The payload is the project. */
export const REACTIONS_CHANNEL = 'sterna_reactions'

/**
 * Subscribes a listener: each later event or change of these topics adds a row to `reactions` in its own transaction. Replaces the
 * listener's earlier topics; an empty list unsubscribes it.
 *
 * A transaction that is under way does not see the new listener: its change adds no row. A listener that must know of every change
 * commits this first, takes `databaseTime`, waits for `olderTransactionsEnded` (db/running.ts) of that time to be true, and only then
 * reads the present state. Every change is then in that state, or has a row.
 */
export async function listenTo(tx: Tx, { projectId, listener }: Listener, topics: Topic[]) {
  await sql`
    delete from listeners where project_id = ${projectId} and listener = ${listener} and topic <> all(${topics}::text[])
  `.execute(tx)
  await sql`
    insert into listeners (project_id, topic, listener)
    select ${projectId}, topic, ${listener} from unnest(${topics}::text[]) as topic
    on conflict do nothing
  `.execute(tx)
}

/**
 * SQL condition: something in the project listens. Most projects have no listeners: for them reactions end with this lookup. A scalar
 * subquery: PostgreSQL probes the index for it, and cannot turn it into a join.
 */
export const hasListenersSql = (projectId: RawBuilder<unknown>) =>
  sql`(select true from listeners l where l.project_id = ${projectId} limit 1)`

/** Wakes the dispatchers at commit. Per row, and only if there is one: notifying serialises commits. */
export const NOTIFY_REACTION = sql`pg_notify(${sql.lit(REACTIONS_CHANNEL)}, project_id::text)`

/**
 * Adds reactions, given as rows of (project_id, contact_id, topics). A row keeps the topics that something listens to; without any it is
 * left out. Without a contact it concerns the whole project.
 */
export const insertReactionsSql = (rows: RawBuilder<unknown>) => sql`
  insert into reactions (project_id, id, contact_id, topics)
  select project_id, gen_random_uuid(), contact_id, heard
  from (
    select r.project_id, r.contact_id, heard_topics(r.project_id, r.topics) as heard from ${rows} as r
    where ${hasListenersSql(sql`r.project_id`)} offset 0
  ) as changed
  where heard <> '{}'
  returning ${NOTIFY_REACTION}`

/** For a change of single contacts, the same for each of them. */
export async function reactToContacts(tx: Tx, projectId: string, contactIds: string[], topics: Topic[]) {
  if (!contactIds.length) return
  const rows = sql`(
    select ${projectId}::uuid as project_id, contact_id, ${topics}::text[] as topics from unnest(${contactIds}::uuid[]) as contact_id)`
  await insertReactionsSql(rows).execute(tx)
}

/** For changes that concern any number of contacts: their listeners look at the whole project. */
export async function reactToProject(tx: Tx, projectId: string, topics: Topic[]) {
  const row = sql`(select ${projectId}::uuid as project_id, null::uuid as contact_id, ${topics}::text[] as topics)`
  await insertReactionsSql(row).execute(tx)
}
