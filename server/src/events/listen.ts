import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../db/index.ts'

/** An event by name, every event (`event:*`), or every change of a contact. */
export type Topic = `event:${string}` | 'contact'
type Listener = { projectId: string; listener: string }

/**
 * Subscribes a listener: each later event or change of these topics adds a row to `reactions` in its own transaction. Replaces the
 * listener's earlier topics; an empty list unsubscribes it.
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
 * Adds reactions to created or changed contacts, given as rows of (project_id, id). Without listeners it costs a lookup in an empty
 * index.
 */
export const insertReactionsSql = (contacts: RawBuilder<unknown>) => sql`
  insert into reactions (project_id, id, contact_id)
  select project_id, gen_random_uuid(), id from ${contacts} as changed
  where exists (select from listeners l where l.project_id = changed.project_id and l.topic = 'contact')`

export const reactToContacts = (tx: Tx, projectId: string, contactIds: string[]) =>
  sql`${insertReactionsSql(sql`(select ${projectId}::uuid as project_id, id from unnest(${contactIds}::uuid[]) as id)`)}`.execute(tx)
