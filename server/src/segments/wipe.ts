import { sql } from 'kysely'
import { many, type Tx } from '../db/index.ts'
import { type WipeScope, wipeRows, wipeSql } from '../db/wipe-rows.ts'
import { stopTracking } from './tracking/tracking.ts'

/** For a project reset or deletion. Includes members of segments that are already gone. */
export function wipeSegmentMembers(tx: Tx, scope: WipeScope) {
  const isOrphan = sql`not exists (select from segments s where s.project_id = t.project_id and s.id = t.segment_id)`
  return wipeRows(tx, 'segment_members', scope, {
    key: ['segment_id', 'contact_id'],
    which: sql`t.added_at <= ${scope.before}::timestamptz or ${isOrphan}`,
  })
}

/** Also ends their tracking: at most 200 segments of a project are tracked. */
export async function wipeSegments(tx: Tx, scope: WipeScope) {
  const { projectId } = scope
  const deleted = await many<{ id: string; isTracked: boolean }>(tx)`
    ${wipeSql('segments', scope)} returning id, type = 'DYNAMIC' and track_membership as "isTracked"
  `
  for (const { id, isTracked } of deleted) if (isTracked) await stopTracking(tx, { projectId, segmentId: id })
  return deleted.length
}
