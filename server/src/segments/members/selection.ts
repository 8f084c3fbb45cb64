import { type RawBuilder, sql } from 'kysely'
import { toExpression } from '../../conditions/expression.ts'
import { referencesOf } from '../../conditions/references.ts'
import { type ConditionTree, readCondition } from '../../conditions/schema.ts'
import { expressionSql } from '../../conditions/sql.ts'
import type { SegmentAccess } from '../../contacts/selection/segment-access.ts'
import type { Db } from '../../db/index.ts'
import { loadLookup, resolveSegment } from '../definition/expressions.ts'
import { findSegment, type SegmentRow } from '../definition/segment.ts'
import { readSqlContext } from '../evaluation/evaluate.ts'
import { addMembers, lockStaticSegment } from './members.ts'

/** True for the rows of `contacts` that are in the segment now. */
export async function segmentSql(db: Db, segment: Pick<SegmentRow, 'id' | 'projectId' | 'type'>): Promise<RawBuilder<boolean>> {
  const { id, projectId } = segment
  if (segment.type === 'STATIC') return isMemberSql(id)
  const expression = await resolveSegment(db, projectId, id)
  // Deleted since it was read.
  if (!expression) return sql<boolean>`false`
  return expressionSql(expression, await readSqlContext(db, projectId, expression))
}

const isMemberSql = (segmentId: string) => sql<boolean>`exists (
  select from segment_members m where m.project_id = contacts.project_id and m.segment_id = ${segmentId} and m.contact_id = contacts.id)`

/** True for the rows of `contacts` that match the condition now. Undefined when a segment that it refers to is gone. */
async function conditionSql(db: Db, projectId: string, tree: ConditionTree): Promise<RawBuilder<boolean> | undefined> {
  const { segments } = referencesOf(tree)
  const lookup = await loadLookup(db, projectId, segments)
  if (segments.some((id) => !lookup(id))) return undefined
  const expression = toExpression(tree, lookup)
  return expressionSql(expression, await readSqlContext(db, projectId, expression))
}

/** For contacts, a lower layer: the composition root passes it to their routes and jobs. */
export const segmentAccess: SegmentAccess = {
  async select(db, projectId, { segmentId, condition }) {
    const segment = segmentId ? await findSegment(db, projectId, segmentId) : undefined
    if (segmentId && !segment) return undefined
    const isMember = segment ? await segmentSql(db, segment) : sql<boolean>`true`
    const matches = condition === undefined ? sql<boolean>`true` : await conditionSql(db, projectId, condition as ConditionTree)
    return matches && sql<boolean>`(${isMember} and ${matches})`
  },
  async readCondition(db, projectId, { condition, path }) {
    const tree = readCondition(condition, path)
    toExpression(tree, await loadLookup(db, projectId, referencesOf(tree).segments), { path })
    return tree
  },
  lock: lockStaticSegment,
  add: addMembers,
}
