import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../db/index.ts'

/** What one may listen to: an event by its name, every event, or every change of a contact. */
export type Topic = `event:${string}` | 'contact'
type Listener = { projectId: string; listener: string }

/**
 * From the commit on, whatever happens on these topics leaves a row in `reactions`, in the transaction that made it happen.
 * Replaces what the listener asked for before; no topics means: nothing any more.
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
 * The part of a statement that reacts to contacts it created or changed, given as rows of (project_id, id). When nobody listens
 * it costs a look into an empty index.
 */
export const reactionsTo = (contacts: RawBuilder<unknown>) => sql`
  insert into reactions (project_id, id, contact_id)
  select project_id, gen_random_uuid(), id from ${contacts} as changed
  where exists (select from listeners l where l.project_id = changed.project_id and l.topic = 'contact')`

/** The same as a statement of its own. */
export const reactToContacts = (tx: Tx, projectId: string, contactIds: string[]) =>
  sql`${reactionsTo(sql`(select ${projectId}::uuid as project_id, id from unnest(${contactIds}::uuid[]) as id)`)}`.execute(tx)
