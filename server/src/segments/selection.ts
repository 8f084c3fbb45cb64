import { type RawBuilder, sql } from 'kysely'
import { expressionSql } from '../conditions/sql.ts'
import type { SegmentAccess } from '../contacts/segment-access.ts'
import type { Db } from '../db/index.ts'
import { readContext } from './evaluate.ts'
import { resolveSegment } from './expressions.ts'
import { addMembers, holdStaticSegment } from './members/members.ts'
import { findSegment, type SegmentRow } from './segment.ts'

/** True for the rows of `contacts` that are in the segment now. */
export async function segmentSql(db: Db, segment: Pick<SegmentRow, 'id' | 'projectId' | 'type'>): Promise<RawBuilder<boolean>> {
  const { id, projectId } = segment
  if (segment.type === 'STATIC') return isMemberSql(id)
  const expression = await resolveSegment(db, projectId, id)
  // Deleted since it was read.
  if (!expression) return sql<boolean>`false`
  return expressionSql(expression, { projectId, ...(await readContext(db, projectId, [{ expression }])) })
}

const isMemberSql = (segmentId: string) => sql<boolean>`exists (
  select from segment_members m where m.project_id = contacts.project_id and m.segment_id = ${segmentId} and m.contact_id = contacts.id)`

/** For contacts, a lower layer: the composition root passes it to their routes and jobs. */
export const segmentAccess: SegmentAccess = {
  async select(db, projectId, segmentId) {
    const segment = await findSegment(db, projectId, segmentId)
    return segment && segmentSql(db, segment)
  },
  hold: holdStaticSegment,
  add: addMembers,
}
