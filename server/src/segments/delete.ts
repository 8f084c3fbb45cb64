import { sql } from 'kysely'
import { workflowsUsingSql } from '../db/in-use.ts'
import { many, type Tx } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { fail } from '../lib/errors/errors.ts'
import { awaitSegmentsLock } from './definition/limits.ts'
import { getSegment } from './definition/segment.ts'
import { stopTracking } from './tracking/tracking.ts'

type SegmentId = { projectId: string; segmentId: string }
type User = { type: 'segment' | 'campaign' | 'workflow'; id: string; name: string }

/** Users of a segment that an error names. */
const MAX_NAMED = 20

/** Users of a segment, which keep it from being deleted. Call it under the lock of the project's segments. */
async function segmentUsers(tx: Tx, { projectId, segmentId }: SegmentId): Promise<User[]> {
  const segments = await many<User>(tx)`
    select 'segment' as type, id, name from segments where project_id = ${projectId} and id <> ${segmentId} and uses -> 'segments' ? ${segmentId}
    order by id limit ${MAX_NAMED}
  `
  const campaigns = await many<User>(tx)`
    select 'campaign' as type, id, name from campaigns
    where project_id = ${projectId} and status in ('DRAFT', 'SCHEDULED', 'SENDING') and uses -> 'segments' ? ${segmentId}
      and deleted_at is null
    order by id limit ${MAX_NAMED}
  `
  const workflows = await many(tx, workflowsUsingSql({ projectId, kind: 'segments', id: segmentId, limit: MAX_NAMED }))
  return [...segments, ...campaigns, ...workflows.map((workflow) => ({ type: 'workflow' as const, ...workflow }))]
}

/** Refused while something uses it. */
export async function deleteSegment(tx: Tx, { projectId, segmentId }: SegmentId) {
  await awaitSegmentsLock(tx, projectId)
  const segment = await getSegment(tx, projectId, segmentId)
  const usedBy = await segmentUsers(tx, { projectId, segmentId: segment.id })
  if (usedBy.length)
    fail('CONFLICT', {
      message: `The segment is used by ${usedBy.map(({ type, name }) => `the ${type} "${name}"`).join(', ')}.`,
      details: { usedBy },
    })
  await sql`delete from segments where project_id = ${projectId} and id = ${segmentId}`.execute(tx)
  // A job deletes the members, which may be a million.
  if (segment.type === 'STATIC') await enqueue(tx, 'segments.forget-members', { projectId, segmentId: segment.id })
  else if (segment.trackMembership) await stopTracking(tx, { projectId, segmentId: segment.id })
}
