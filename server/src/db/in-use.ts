import { type RawBuilder, sql } from 'kysely'

type Used = { projectId: string; kind: 'templates' | 'segments'; id: string | RawBuilder<unknown>; limit: number }

/** Rows (id, name) of workflows that mention a template or a segment: in the current graph, or in one that executions still follow. */
export const workflowsUsingSql = ({ projectId, kind, id, limit }: Used) =>
  sql<{ id: string; name: string }>`
    select w.id, w.name from workflows w
    where w.project_id = ${projectId} and (
      ${kind === 'segments' ? sql`w.trigger_type = 'SCHEDULE' and w.trigger_config ->> 'segmentId' = ${id}` : sql`false`}
      or exists (
        select from workflow_graphs g
        where g.project_id = w.project_id and g.workflow_id = w.id and g.uses -> ${kind}::text ? ${id}::text and (
          g.version = w.version
          or exists (
            select from workflow_executions e
            where e.project_id = g.project_id and e.workflow_id = g.workflow_id and e.version = g.version and e.status in ('RUNNING', 'WAITING')))))
    order by w.id limit ${limit}`

/** A recursive CTE `dependents` with the id of a segment and of those that refer to it, directly or not. */
export const dependentSegmentsCte = (projectId: string, segmentId: string) => sql`
  dependents (id) as (
    select ${segmentId}::uuid
    union
    select s.id from dependents d join segments s on s.project_id = ${projectId} and s.uses -> 'segments' ? d.id::text
  )`
