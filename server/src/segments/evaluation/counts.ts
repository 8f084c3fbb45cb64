import { sql } from 'kysely'
import { expressionSql, scanSql } from '../../conditions/sql.ts'
import { countContacts } from '../../contacts/record/counts.ts'
import { type Db, maybeOne, type Pool, scalar, type Tx, transact } from '../../db/index.ts'
import { failTooSlow, LONG_STATEMENT_MS } from '../../http/limits/too-slow.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { workInPieces } from '../../jobs/job.ts'
import { SECOND } from '../../lib/text/units.ts'
import { scanContacts } from '../../projects/scans.ts'
import { resolveSegment } from '../definition/expressions.ts'
import { findSegment, SEGMENT_COLUMNS, type SegmentRow } from '../definition/segment.ts'
import { readSqlContext } from './evaluate.ts'
import { sampleContacts, scaleUp } from './sample.ts'
import type { SegmentTurns } from './turns.ts'

type Counted = { count: number; isEstimate: boolean; ms: number }

const UNKNOWN: Counted = { count: 0, isEstimate: true, ms: 0 }
/** A request that creates or changes a segment counts this long before it answers with an estimate. */
const COUNT_NOW_MS = SECOND
/** The segment is stored by then, so the request must not fail: without an estimate in this time the count is left to a job. */
const ESTIMATE_MS = 2 * SECOND
/** Up to this many contacts of a project, lists count exactly instead of showing the stored count. */
const MAX_COUNTED_NOW = 20_000
/** A count is refreshed after this time, or 100 times the time it took: counting takes at most 1 % of the time. */
const STALE_AFTER_SECONDS = 10
const STALE_AFTER_COUNTS = 100
/** Nobody waits for a job, so it waits until requests have had their turn. */
const JOB_WAIT_MS = 30 * SECOND

type Countable = Pick<SegmentRow, 'id' | 'projectId' | 'type' | 'trackMembership'>

const isStaleSql = sql`
  (counted_at is null or counted_at < now() - make_interval(secs => greatest(${STALE_AFTER_SECONDS}, count_ms * ${STALE_AFTER_COUNTS} / 1000.0)))`

const isStale = ({ countedAt, countMs }: SegmentRow) =>
  !countedAt || Date.now() - countedAt.getTime() > Math.max(STALE_AFTER_SECONDS * SECOND, countMs * STALE_AFTER_COUNTS)

/** Static segments have rows of members, and tracked ones once they are computed; others are evaluated. */
const hasMemberRows = async (db: Db, { type, trackMembership, projectId, id }: Countable) =>
  type === 'STATIC' || (trackMembership && (await isComputed(db, projectId, id)))

const isComputed = (db: Db, projectId: string, id: string) =>
  maybeOne(db)`select 1 from tracked_segments where project_id = ${projectId} and segment_id = ${id} and computed_revision = revision`

async function countExactly(db: Db, segment: Countable): Promise<number> {
  const { id, projectId } = segment
  if (await hasMemberRows(db, segment))
    return scalar<number>(db)`select count(*)::int from segment_members where project_id = ${projectId} and segment_id = ${id}`
  const expression = await resolveSegment(db, projectId, id)
  if (!expression) return 0
  const { joins, matches } = scanSql(expression, await readSqlContext(db, projectId, expression))
  return scalar<number>(db)`select count(*)::int from contacts ${joins} where contacts.project_id = ${projectId} and ${matches}`
}

/** From a sample; exact in a project that is smaller than the sample. */
async function estimate(db: Db, segment: Countable): Promise<Counted> {
  const { projectId } = segment
  const expression = await resolveSegment(db, projectId, segment.id)
  if (!expression) return { count: 0, isEstimate: false, ms: 0 }
  const { ids, total, isComplete } = await sampleContacts(db, projectId)
  const matches = expressionSql(expression, await readSqlContext(db, projectId, expression))
  const count = await scalar<number>(db)`
    select count(*)::int from contacts where project_id = ${projectId} and id = any(${ids}::uuid[]) and ${matches}
  `
  return { count: scaleUp(count, ids.length, total), isEstimate: !isComplete, ms: 0 }
}

async function measureCount(db: Db, segment: Countable): Promise<Counted> {
  const start = performance.now()
  return { count: await countExactly(db, segment), isEstimate: false, ms: Math.round(performance.now() - start) }
}

/** Not if the segment was changed since it was read: the count would be one of the old condition. */
const storeCount = (tx: Tx, { projectId, id, updatedAt }: SegmentRow, { count, isEstimate, ms }: Counted) =>
  maybeOne<SegmentRow>(tx)`
    update segments set member_count = ${count}, counted_at = clock_timestamp(), count_estimated = ${isEstimate}, count_ms = ${ms}
    where project_id = ${projectId} and id = ${id} and date_trunc('milliseconds', updated_at) = ${updatedAt}
    returning ${SEGMENT_COLUMNS}
  `

/**
 * Counts after a change of the segment: exactly if that is quick, else by a sample now and exactly in a job. The change is stored, so it
 * never fails: without a count the segment is shown as it was stored, and a job counts it, or the next request that reads it.
 */
export const countAfterChange = (db: Pool, { count }: SegmentTurns, segment: SegmentRow): Promise<SegmentRow> =>
  count(segment.projectId, () => countNow(db, segment)).catch(async () => {
    await transact(db, (tx) => enqueueCount(tx, segment.projectId, segment.id)).catch(() => {})
    return { ...segment, countEstimated: true }
  })

async function countNow(db: Pool, segment: SegmentRow): Promise<SegmentRow> {
  const { projectId } = segment
  const exact = await scanContacts(db, { projectId, ms: COUNT_NOW_MS }, (tx) => measureCount(tx, segment))
  const counted = exact ?? (await scanContacts(db, { projectId, ms: ESTIMATE_MS }, (tx) => estimate(tx, segment))) ?? UNKNOWN
  return transact(db, async (tx) => {
    if (!exact) await enqueueCount(tx, segment.projectId, segment.id)
    return (await storeCount(tx, segment, counted)) ?? segment
  })
}

/** Counts exactly, or fails when that takes too long. */
export async function recount(db: Pool, segment: SegmentRow) {
  const limits = { projectId: segment.projectId, ms: LONG_STATEMENT_MS, expectedMs: segment.countMs }
  const counted = await scanContacts(db, limits, (tx) => measureCount(tx, segment), failTooSlow)
  await transact(db, (tx) => storeCount(tx, segment, counted))
  return counted.count
}

/** Total of a list of members: exact in a small project, else as last counted. */
export async function countForList(db: Pool, segment: SegmentRow) {
  const { projectId, countedAt, memberCount } = segment
  const { total } = await countContacts(db, projectId)
  if (total > MAX_COUNTED_NOW && countedAt) {
    await refreshCounts(db, projectId, [segment])
    return memberCount
  }
  return (await scanContacts(db, { projectId, ms: COUNT_NOW_MS }, (tx) => countExactly(tx, segment))) ?? memberCount
}

/** Enqueues a count of those that are out of date. */
export async function refreshCounts(db: Pool, projectId: string, segments: SegmentRow[]) {
  const stale = segments.filter(isStale)
  if (stale.length) await transact(db, (tx) => enqueueCount(tx, projectId, stale.length === 1 ? stale[0]!.id : undefined))
}

const enqueueCount = (tx: Tx, projectId: string, segmentId?: string) =>
  enqueue(tx, 'segments.count', segmentId ? { projectId, segmentId } : { projectId }, {
    key: `segments.count:${projectId}:${segmentId ?? 'all'}`,
  })

/** Counts one segment, or all of a project that are out of date, for about a second; a new job does the rest. */
export async function countStaleSegments(db: Pool, { projectId, segmentId }: { projectId: string; segmentId?: string }) {
  if (segmentId) {
    const segment = await findSegment(db, projectId, segmentId)
    if (segment) await countInJob(db, segment)
    return
  }
  await workInPieces(async (isLast) => {
    const next = await findStale(db, projectId)
    if (next) await (isLast ? transact(db, (tx) => enqueueCount(tx, projectId)) : countInJob(db, next))
    return next
  })
}

const findStale = (db: Db, projectId: string) =>
  maybeOne<SegmentRow>(db)`
    select ${SEGMENT_COLUMNS} from segments where project_id = ${projectId} and ${isStaleSql} order by counted_at nulls first, id limit 1
  `

/** One that takes too long is estimated: the next attempt follows after its time, not at once. */
async function countInJob(db: Pool, segment: SegmentRow) {
  const limits = { projectId: segment.projectId, ms: LONG_STATEMENT_MS, waitMs: JOB_WAIT_MS }
  const exact = await scanContacts(db, { ...limits, expectedMs: segment.countMs }, (tx) => measureCount(tx, segment))
  const counted = exact ?? { ...(await scanContacts(db, limits, (tx) => estimate(tx, segment), failTooSlow)), ms: LONG_STATEMENT_MS }
  await transact(db, (tx) => storeCount(tx, segment, counted))
}
