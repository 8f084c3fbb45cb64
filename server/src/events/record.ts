import { sql } from 'kysely'
import { prepared, type Tx } from '../db/index.ts'
import { newId } from '../lib/id.ts'

export type NewEvent = { projectId: string; name: string; contactId: string; emailId?: string; data?: object }

/** Writes facts in the transaction that made them true, all in one statement, and returns their ids in order. */
export async function recordEvents(tx: Tx, events: NewEvent[]): Promise<string[]> {
  if (!events.length) return []
  const rows = events.map((event) => ({ id: newId(), ...event }))
  await sql`${prepared}
    insert into events (project_id, id, name, contact_id, email_id, data)
    select "projectId", id, name, "contactId", "emailId", coalesce(data, '{}')
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as e("projectId" uuid, id uuid, name text, "contactId" uuid, "emailId" uuid, data jsonb)
  `.execute(tx)
  return rows.map(({ id }) => id)
}
