import { z } from 'zod'
import { listFields } from '../../contacts/fields/fields.ts'
import type { FieldType } from '../../contacts/record/data.ts'
import { many, type Pool } from '../../db/index.ts'

/** Events of a name whose keys are looked at. */
const SAMPLED_EVENTS = 100
const MAX_EVENT_FIELDS = 200

const TypedField = z.object({
  field: z.string(),
  type: z.enum(['number', 'boolean', 'date', 'string']),
  category: z.enum(['contact', 'data', 'event']),
})
export const WorkflowFields = z.object({ fields: z.array(z.string()), typedFields: z.array(TypedField), count: z.int() })

/** Fields that a CONDITION step can ask for: of the contact, and of the last events of a name. */
export async function listWorkflowFields(db: Pool, projectId: string, eventName: string | undefined) {
  const contact = await listFields(db, projectId)
  const event = eventName ? await listEventFields(db, projectId, eventName) : []
  const typedFields = [
    ...contact.map(({ field, type, isCustom }) => ({ field, type, category: isCustom ? ('data' as const) : ('contact' as const) })),
    ...event.map(({ key, type }) => ({ field: `event.${key}`, type, category: 'event' as const })),
  ]
  return { fields: typedFields.map(({ field }) => field), typedFields, count: typedFields.length }
}

const listEventFields = (db: Pool, projectId: string, name: string) =>
  many<{ key: string; type: FieldType }>(db)`
    select distinct on (key) key,
      case jsonb_typeof(value) when 'number' then 'number' when 'boolean' then 'boolean'
        when 'string' then case when value #>> '{}' ~ '^\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?Z)?$' then 'date' else 'string' end
        else 'string' end as type
    from (
      select id, data from events where project_id = ${projectId} and name = ${name} order by id desc limit ${SAMPLED_EVENTS}
    ) as latest cross join lateral jsonb_each(data) as field(key, value)
    where length(key) <= 255
    order by key, id desc limit ${MAX_EVENT_FIELDS}
  `
