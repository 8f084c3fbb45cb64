import { type Db, many, maybeOne, maybeScalar, type Tx } from '../../db/index.ts'
import { queueJob } from '../../jobs/job.ts'

type SegmentId = { projectId: string; segmentId: string }

/** Type of the jobs that recompute a tracked segment. */
const COMPUTE_JOB = 'compute-segment'

/** Queues a recomputation. One that is under way is shared. Returns the id of its job; undefined if the segment is not tracked. */
export async function queueCompute(tx: Tx, { projectId, segmentId }: SegmentId): Promise<string | undefined> {
  const tracked = await maybeOne(tx)`
    select 1 from tracked_segments where project_id = ${projectId} and segment_id = ${segmentId} for update
  `
  if (!tracked) return undefined
  const running = await findRunningCompute(tx, { projectId, segmentId })
  return running ?? queueJob(tx, 'segments.compute', { projectId, type: COMPUTE_JOB, input: { segmentId } })
}

/** The id of the job of a recomputation that is under way. */
export const findRunningCompute = (db: Db, { projectId, segmentId }: SegmentId) =>
  maybeScalar<string>(db)`
    select id from jobs
    where project_id = ${projectId} and type = ${COMPUTE_JOB} and finished_at is null and input ->> 'segmentId' = ${segmentId}
  `

/** Queues recomputations that are missing: the job of a change may have used up its attempts. */
export async function resumeComputes(tx: Tx) {
  const missing = await many<SegmentId>(tx)`
    select project_id as "projectId", segment_id as "segmentId" from tracked_segments
    where computed_revision is distinct from revision order by 1, 2 limit 1000
  `
  for (const segment of missing) await queueCompute(tx, segment)
}
