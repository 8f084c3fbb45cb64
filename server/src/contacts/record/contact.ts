import { z } from 'zod'
import { columns, type RowOf } from '../../db/columns.ts'
import { type Db, maybeOne } from '../../db/index.ts'
import { prepared } from '../../db/prepared.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { contactNotFound, invalid } from '../../lib/errors/errors.ts'
import { isId } from '../../lib/id.ts'

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

export const CONTACT_COLUMNS = columns('contacts', '', ['id', 'email', 'subscribed', 'data', 'projectId', 'createdAt', 'updatedAt'])
export type ContactRow = RowOf<typeof CONTACT_COLUMNS> & { data: Record<string, unknown> }

export const showContact = ({ data, ...row }: ContactRow): z.output<typeof Contact> => ({
  ...row,
  data: Object.keys(data).length ? data : null,
})

export const findContact = (db: Db, projectId: string, id: string) =>
  maybeOne(db, prepared<ContactRow>`select ${CONTACT_COLUMNS} from contacts where project_id = ${projectId} and id = ${id}`)

/** Fails unless the project has this contact. */
export const getContact = async (db: Db, projectId: string, id: string) =>
  (isId(id) && (await findContact(db, projectId, id))) || contactNotFound(id)

/** A constraint of the table checks the size: only the database knows what the contact already has. */
export const explainOversizedData = (err: { constraint?: string }): never => {
  if (err.constraint === 'contacts_data_size') invalid('data', 'A contact holds at most 256 KB of data.', 'too_big')
  throw err
}
