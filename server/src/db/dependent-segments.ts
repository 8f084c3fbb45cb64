import { sql } from 'kysely'

/** A recursive CTE `dependents` with the id of a segment and of those that refer to it, directly or not. */
export const dependentSegmentsCte = (projectId: string, segmentId: string) => sql`
  dependents (id) as (
    select ${segmentId}::uuid
    union
    select s.id from dependents d join segments s on s.project_id = ${projectId} and s.uses -> 'segments' ? d.id::text
  )`
