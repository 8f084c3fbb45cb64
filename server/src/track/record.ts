import { z } from 'zod'
import { Data } from '../contacts/record/data.ts'
import { maybeOne, one, type Pool, transact } from '../db/index.ts'
import { EVENT_COLUMNS, type EventRow } from '../events/event.ts'
import { EventName } from '../events/name.ts'
import { recordEvents } from '../events/record.ts'
import { contactNotFound, notFound } from '../lib/errors/errors.ts'

/** An event alone: no contact is created or changed. */
export const RecordBody = z.object({
  name: EventName.optional(),
  contactId: z.uuid().optional(),
  emailId: z.uuid().optional(),
  data: Data.nullish(),
})

type RecordRequest = z.output<typeof RecordBody> & { name: string }

export const recordEventOnly = (db: Pool, projectId: string, { name, contactId, emailId, data }: RecordRequest) =>
  transact(db, async (tx) => {
    if (emailId && !(await maybeOne(tx)`select 1 from emails where project_id = ${projectId} and id = ${emailId}`))
      notFound('email', emailId)
    const isKnown =
      !contactId || (await maybeOne(tx)`select 1 from contacts where project_id = ${projectId} and id = ${contactId} for key share`)
    if (!isKnown) contactNotFound(contactId)
    const [id] = await recordEvents(tx, [
      { projectId, name, data: { ...data?.set, ...data?.transient }, ...(contactId ? { contactId } : {}), ...(emailId ? { emailId } : {}) },
    ])
    return one<EventRow>(tx)`select ${EVENT_COLUMNS} from events where project_id = ${projectId} and id = ${id}`
  })
