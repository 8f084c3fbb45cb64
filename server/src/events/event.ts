import { z } from 'zod'
import { columns, type RowOf } from '../db/columns.ts'
import { Timestamp } from '../http/core/validate.ts'

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

export const EVENT_COLUMNS = columns('events', 'events', ['id', 'name', 'data', 'contactId', 'emailId', 'projectId', 'createdAt'])
export type EventRow = RowOf<typeof EVENT_COLUMNS> & { data: Record<string, unknown> }
