import { type RawBuilder, sql } from 'kysely'
import type { FieldName } from '../contacts/fields/fields.ts'
import { type Db, many } from '../db/index.ts'
import { usesFieldSql } from './segments.ts'

type Named = { id: string; name: string }

/** Workflows whose conditions or updates mention a field, or a path into it. */
export const listWorkflowsWithField = (db: Db, projectId: string, field: FieldName) => listWorkflowsThat(db, projectId, usesFieldSql(field))

/** Workflows that an event of that name starts, that wait for it, or ask for it. */
export const listWorkflowsWithEvent = (db: Db, projectId: string, name: string) =>
  listWorkflowsThat(
    db,
    projectId,
    sql`(g.uses -> 'events' ? ${name} or w.trigger_type = 'EVENT' and w.trigger_config ->> 'eventName' = ${name})`,
  )

const listWorkflowsThat = (db: Db, projectId: string, use: RawBuilder<unknown>): Promise<Named[]> =>
  many<Named>(db)`
    select w.id, w.name from workflows w
    join workflow_graphs g on g.project_id = w.project_id and g.workflow_id = w.id and g.version = w.version
    where w.project_id = ${projectId} and ${use} order by w.id desc limit 1000
  `

/** Steps of current graphs that send a template. */
export const listStepsWithTemplate = (db: Db, projectId: string, templateId: string) =>
  many<Named & { workflowId: string; workflowName: string }>(db)`
    select step ->> 'id' as id, step ->> 'name' as name, w.id as "workflowId", w.name as "workflowName" from workflows w
    join workflow_graphs g on g.project_id = w.project_id and g.workflow_id = w.id and g.version = w.version
    cross join lateral jsonb_array_elements(g.graph -> 'steps') as step
    where w.project_id = ${projectId} and g.uses -> 'templates' ? ${templateId} and step ->> 'templateId' = ${templateId}
    order by w.id desc limit 1000
  `
