import { sql } from 'kysely'
import type { FieldName } from '../contacts/fields/fields.ts'
import { workflowsUsingSql } from '../db/in-use.ts'
import { type Db, many } from '../db/index.ts'

type Named = { id: string; name: string }
type Used = { field: FieldName } | { event: string } | { segment: string }

/** Entries of each list. */
const MAX_USERS = 1_000

/** True for a row whose conditions, listed in `uses`, mention it; a field also by a path into it. */
function mentionsSql(used: Used) {
  if ('event' in used) return sql`uses -> 'events' ? ${used.event}`
  if ('segment' in used) return sql`uses -> 'segments' ? ${used.segment}`
  if ('standard' in used.field) return sql`uses -> 'standard' ? ${used.field.standard}`
  const { custom } = used.field
  return sql`exists (
    select from jsonb_array_elements_text(uses -> 'fields') as path where path = ${custom} or starts_with(path, ${`${custom}.`}))`
}

/** Segments, campaigns and workflows whose conditions, or updates, mention a field, an event name or a segment. */
export const listUsers = async (db: Db, projectId: string, used: Used) => ({
  usedInSegments: await many<Named>(db)`
    select id, name from segments where project_id = ${projectId} and ${mentionsSql(used)} order by id desc limit ${MAX_USERS}
  `,
  usedInCampaigns: await many<Named>(db)`
    select id, name from campaigns where project_id = ${projectId} and deleted_at is null and ${mentionsSql(used)}
    order by id desc limit ${MAX_USERS}
  `,
  usedInWorkflows: await ('segment' in used
    ? many(db, workflowsUsingSql({ projectId, kind: 'segments', id: used.segment, limit: MAX_USERS }))
    : listWorkflows(db, projectId, used)),
})

/** By their current graphs, or because an event of that name starts them. */
const listWorkflows = (db: Db, projectId: string, used: Used) =>
  many<Named>(db)`
    select w.id, w.name from workflows w
    join workflow_graphs g on g.project_id = w.project_id and g.workflow_id = w.id and g.version = w.version
    where w.project_id = ${projectId} and (${mentionsSql(used)}
      or w.trigger_type = 'EVENT' and w.trigger_config ->> 'eventName' = ${'event' in used ? used.event : null})
    order by w.id desc limit ${MAX_USERS}
  `
