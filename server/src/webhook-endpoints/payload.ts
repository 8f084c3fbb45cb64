import { z } from 'zod'
import { EventRecord } from '../events/event.ts'
import { Timestamp } from '../http/core/validate.ts'

/** What a request says: an event with its contact, or, for a type that is no event, a record of the same form. */
export const WebhookRecord = EventRecord.extend({
  contact: z.object({ id: z.uuid(), email: z.string().nullable() }).nullable(),
}).meta({ id: 'WebhookRecord' })

export const WebhookPayload = z
  .object({ type: z.string(), timestamp: Timestamp.describe('When it happened.'), data: WebhookRecord })
  .meta({ id: 'WebhookPayload' })

/** A row of `webhook_messages`, or its copy in a delivery. */
export type WebhookMessage = Omit<z.output<typeof EventRecord>, 'projectId' | 'createdAt'> & {
  type: string
  contactEmail: string | null
  createdAt: string
}

/** SQL: a message on the alias `m`, as JSON. */
export const MESSAGE_JSON = `jsonb_build_object('id', m.id, 'type', m.type, 'name', m.name, 'contactId', m.contact_id,
  'contactEmail', m.contact_email, 'emailId', m.email_id, 'data', m.data,
  'createdAt', to_char(m.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))`

export const payloadOf = (projectId: string, message: WebhookMessage): z.output<typeof WebhookPayload> => ({
  type: message.type,
  timestamp: message.createdAt,
  data: {
    contact: message.contactId ? { id: message.contactId, email: message.contactEmail } : null,
    id: message.id,
    name: message.name,
    data: message.data,
    contactId: message.contactId,
    emailId: message.emailId,
    projectId,
    createdAt: message.createdAt,
  },
})
