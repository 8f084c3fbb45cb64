import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, maybeOne, prepared } from '../db/index.ts'
import { Timestamp } from '../http/validate.ts'
import { invalid } from '../lib/errors.ts'

export const Contact = z
  .object({
    id: z.uuid(),
    email: z.string(),
    subscribed: z.boolean(),
    data: z.record(z.string(), z.unknown()).nullable(),
    projectId: z.uuid(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Contact' })

export type ContactRow = {
  id: string
  email: string
  subscribed: boolean
  data: Record<string, unknown>
  projectId: string
  createdAt: Date
  updatedAt: Date
}

/** Columns of a ContactRow. */
export const CONTACT_COLUMNS = sql`id, email, subscribed, data, project_id as "projectId", created_at as "createdAt", updated_at as "updatedAt"`

export const showContact = (row: ContactRow): z.output<typeof Contact> => ({
  id: row.id,
  email: row.email,
  subscribed: row.subscribed,
  data: Object.keys(row.data).length ? row.data : null,
  projectId: row.projectId,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})

export const findContact = (db: Db, projectId: string, id: string) =>
  maybeOne<ContactRow>(db)`${prepared} select ${CONTACT_COLUMNS} from contacts where project_id = ${projectId} and id = ${id}`

/** A constraint of the table checks the size: only the database knows what the contact already has. */
export const explainOversizedData = (err: { constraint?: string }): never => {
  if (err.constraint === 'contacts_data_size') invalid('data', 'A contact holds at most 256 KB of data.', 'too_big')
  throw err
}
