import { sql } from 'kysely'
import { z } from 'zod'
import { Timestamp } from '../http/validate.ts'

export const EventRecord = z
  .object({
    id: z.uuid(),
    name: z.string(),
    data: z.record(z.string(), z.unknown()),
    contactId: z.uuid().nullable(),
    emailId: z.uuid().nullable(),
    projectId: z.uuid(),
    createdAt: Timestamp,
  })
  .meta({ id: 'Event' })

export const EVENT_COLUMNS = sql`
  events.id, events.name, events.data, events.contact_id as "contactId", events.email_id as "emailId",
  events.project_id as "projectId", events.created_at as "createdAt"
`

export type EventRow = Omit<z.output<typeof EventRecord>, 'createdAt'> & { createdAt: Date }

export const showEvent = (row: EventRow): z.output<typeof EventRecord> => ({ ...row, createdAt: row.createdAt.toISOString() })
