import { type Expression, type ReferencedSegment, type SegmentLookup, toExpression } from '../../conditions/expression.ts'
import { referencesOf } from '../../conditions/references.ts'
import type { ConditionTree } from '../../conditions/schema.ts'
import { dependentSegmentsCte } from '../../db/in-use.ts'
import { type Db, many, scalars } from '../../db/index.ts'
import { prepared } from '../../db/prepared.ts'
import { createCache } from '../../lib/collections/cache.ts'
import { MB } from '../../lib/text/units.ts'

/** `source`: the condition as stored; null for a static segment. */
type Row = { id: string; name: string; slug: string; type: 'DYNAMIC' | 'STATIC'; source: string | null; isAsked: boolean }
/** A dynamic segment, ready to be evaluated. */
export type ResolvedSegment = { id: string; name: string; slug: string; expression: Expression }

/** Reads dynamic segments with everything they refer to. Segments that do not exist, or are static, are left out. */
export async function resolveSegments(db: Db, projectId: string, ids: string[]): Promise<ResolvedSegment[]> {
  if (!ids.length) return []
  const rows = await many(db, selectReachable(projectId, ids))
  const find = finderOf(rows)
  // While a project is reset, a segment may refer to one that is already gone: that one has no members.
  const lookup: SegmentLookup = (id) => find(id) ?? { type: 'STATIC' }
  return rows
    .filter(({ isAsked, type }) => isAsked && type === 'DYNAMIC')
    .map(({ id, name, slug, source }) => ({ id, name, slug, expression: expressionOf(id, source!, lookup) }))
}

const MAX_KEPT = 16 * MB
/** Memory that an expression takes, with its matcher, as a multiple of its source. */
const WEIGHT = 20
/** Expressions of segments that refer to no others. Tracked segments are evaluated again and again, and to read them takes longer than that. */
const kept = createCache<string, { source: string; expression: Expression }>({ maxWeight: MAX_KEPT })

function expressionOf(id: string, source: string, lookup: SegmentLookup) {
  const known = kept.get(id)
  if (known?.source === source) return known.expression
  const tree = treeOf(source)
  const expression = toExpression(tree, lookup, { segmentId: id })
  if (!referencesOf(tree).segments.length) kept.set(id, { source, expression }, WEIGHT * source.length)
  return expression
}

const treeOf = (source: string) => JSON.parse(source) as ConditionTree
const referencedOf = ({ type, source }: Row): ReferencedSegment => (type === 'DYNAMIC' ? { type, condition: treeOf(source!) } : { type })

function finderOf(rows: Row[]) {
  const byId = new Map(rows.map((row) => [row.id, row]))
  return (id: string) => {
    const row = byId.get(id)
    return row && referencedOf(row)
  }
}

/** The expression of one dynamic segment; undefined when there is no such segment, or it is static. */
export const resolveSegment = async (db: Db, projectId: string, id: string) => (await resolveSegments(db, projectId, [id]))[0]?.expression

/** These segments with everything they refer to, by id: enough to evaluate them later as they are now. */
export async function loadReachable(db: Db, projectId: string, ids: string[]): Promise<Record<string, ReferencedSegment>> {
  const rows = ids.length ? await many(db, selectReachable(projectId, ids)) : []
  return Object.fromEntries(rows.map((row) => [row.id, referencedOf(row)]))
}

/** For a condition that is not stored yet: the segments it refers to, with everything they refer to. */
export async function loadLookup(db: Db, projectId: string, ids: string[]): Promise<SegmentLookup> {
  return finderOf(ids.length ? await many(db, selectReachable(projectId, ids)) : [])
}

const selectReachable = (projectId: string, ids: string[]) => prepared<Row>`
  with recursive reached (id) as (
    select unnest(${ids}::uuid[])
    union
    select (jsonb_array_elements_text(s.uses -> 'segments'))::uuid
    from reached r join segments s on s.project_id = ${projectId} and s.id = r.id
  )
  select s.id, s.name, s.slug, s.type, s.condition::text as source, s.id = any(${ids}::uuid[]) as "isAsked"
  from reached r join segments s on s.project_id = ${projectId} and s.id = r.id
`

/** The tracked segments whose answer depends on a segment. */
export const findTrackedDependents = (db: Db, projectId: string, segmentId: string) =>
  scalars<string>(db)`
    with recursive ${dependentSegmentsCte(projectId, segmentId)}
    select t.segment_id from dependents d join tracked_segments t on t.project_id = ${projectId} and t.segment_id = d.id
    order by 1
  `
