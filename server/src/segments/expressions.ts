import { sql } from 'kysely'
import { type Expression, type ReferencedSegment, type SegmentLookup, toExpression } from '../conditions/expression.ts'
import type { ConditionTree } from '../conditions/schema.ts'
import { type Db, many, prepared } from '../db/index.ts'

type Row = { id: string; name: string; slug: string; type: 'DYNAMIC' | 'STATIC'; condition: ConditionTree; isAsked: boolean }
/** A dynamic segment, ready to be evaluated. */
export type ResolvedSegment = { id: string; name: string; slug: string; expression: Expression }

/** Reads dynamic segments with everything they refer to. Segments that do not exist, or are static, are left out. */
export async function resolveSegments(db: Db, projectId: string, ids: string[]): Promise<ResolvedSegment[]> {
  if (!ids.length) return []
  const rows = await many(db, selectReachable(projectId, ids))
  const byId = new Map(rows.map((row) => [row.id, row]))
  // While a project is reset, a segment may refer to one that is already gone: that one has no members.
  const lookup: SegmentLookup = (id) => byId.get(id) ?? { type: 'STATIC' }
  return rows
    .filter(({ isAsked, type }) => isAsked && type === 'DYNAMIC')
    .map(({ id, name, slug, condition }) => ({ id, name, slug, expression: toExpression(condition, lookup, { segmentId: id }) }))
}

/** The expression of one dynamic segment; undefined when there is no such segment, or it is static. */
export const resolveSegment = async (db: Db, projectId: string, id: string) => (await resolveSegments(db, projectId, [id]))[0]?.expression

/** These segments with everything they refer to, by id: enough to evaluate them later as they are now. */
export async function loadReachable(db: Db, projectId: string, ids: string[]): Promise<Record<string, ReferencedSegment>> {
  const rows = ids.length ? await many(db, selectReachable(projectId, ids)) : []
  return Object.fromEntries(rows.map(({ id, type, condition }) => [id, type === 'DYNAMIC' ? { type, condition } : { type }]))
}

/** For a condition that is not stored yet: the segments it refers to, with everything they refer to. */
export async function loadLookup(db: Db, projectId: string, ids: string[]): Promise<SegmentLookup> {
  const rows = ids.length ? await many(db, selectReachable(projectId, ids)) : []
  const byId = new Map(rows.map((row) => [row.id, row]))
  return (id) => byId.get(id)
}

const selectReachable = (projectId: string, ids: string[]) => sql<Row>`${prepared}
  with recursive reached (id) as (
    select unnest(${ids}::uuid[])
    union
    select (jsonb_array_elements_text(s.uses -> 'segments'))::uuid
    from reached r join segments s on s.project_id = ${projectId} and s.id = r.id
  )
  select s.id, s.name, s.slug, s.type, s.condition, s.id = any(${ids}::uuid[]) as "isAsked"
  from reached r join segments s on s.project_id = ${projectId} and s.id = r.id
`

/** The tracked segments whose answer depends on a segment: itself, and those that refer to it, also through others. */
export async function findTrackedDependents(db: Db, projectId: string, segmentId: string): Promise<string[]> {
  const rows = await many<{ id: string }>(db)`
    with recursive dependent (id) as (
      select ${segmentId}::uuid
      union
      select s.id from dependent d join segments s on s.project_id = ${projectId} and s.uses -> 'segments' ? d.id::text
    )
    select t.segment_id as id from dependent d join tracked_segments t on t.project_id = ${projectId} and t.segment_id = d.id
    order by 1
  `
  return rows.map(({ id }) => id)
}
