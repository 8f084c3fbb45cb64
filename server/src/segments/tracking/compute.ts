import { sql } from 'kysely'
import { expressionSql } from '../../conditions/sql.ts'
import { countContacts } from '../../contacts/record/counts.ts'
import { isStatementTimeout } from '../../db/errors/sql-state.ts'
import { countAffected, type Db, many, maybeOne, type Pool, scalar, scalars, type Tx, transact } from '../../db/index.ts'
import { databaseTime, olderTransactionsEnded } from '../../db/running.ts'
import { lockReactions } from '../../events/dispatch.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { advanceJob, awaitCompletion, completeJob, type JobId, lockJob, readProgress, workInPieces } from '../../jobs/job.ts'
import { NIL_ID } from '../../lib/id.ts'
import { PAGE_FACTOR, sizeAfterPage } from '../../projects/page-size.ts'
import { inScanTurn } from '../../projects/scans.ts'
import { type ResolvedSegment, resolveSegments } from '../definition/expressions.ts'
import { readContext } from '../evaluation/evaluate.ts'
import { mayBecomeDue } from './due.ts'
import { changeMemberships, type MembershipChange } from './membership.ts'
import { findRunningCompute, queueCompute } from './queue-compute.ts'
import { recheckContacts } from './recheck.ts'

/** Contacts per transaction: re-checks of the project wait for it. */
const LARGEST_PAGE = 2_000
/** Fewer where each contact is read and matched in this process, to find its next due time. */
const LARGEST_MATCHED_PAGE = 500
/** While the time of a contact is unknown. */
const FIRST_PAGE = 100
/** Memberships of an earlier tracking that are deleted in one transaction. */
const CLEARED = 5_000
const RECHECK_SECONDS = 1

type SegmentId = { projectId: string; segmentId: string }
type Input = { segmentId: string }
/** `revision`: of the condition that the run began with. `size`: contacts of the next page; older runs have none. */
type Position = { revision: number; after: string; size?: number; looked: number; added: number; removed: number }
type Result = { added: number; removed: number; total: number }

/** Recomputes a tracked segment. Undefined if it is not tracked; without a result if it takes longer than a request may wait. */
export async function computeSegment(db: Pool, segment: SegmentId): Promise<{ jobId: string; result?: Result } | undefined> {
  // A request that shares a run changes nothing, and locks nothing: it is not in the audit trail.
  const jobId = await transact(db, async (tx) => (await findRunningCompute(tx, segment)) ?? queueCompute(tx, segment))
  if (!jobId) return undefined
  const result = await awaitCompletion<Result>(db, { projectId: segment.projectId, jobId })
  return result ? { jobId, result } : { jobId }
}

/** Processes pages for about a second, each in one transaction with the job's position; a new job does the rest. */
export async function continueCompute(db: Pool, job: JobId) {
  const progress = await readProgress<Input, Position>(db, job)
  if (!progress) return
  if (!progress.position && !(await begin(db, job, progress.input))) return
  await workInPieces((last) => {
    const compute = () => transact(db, (tx) => computePage(tx, job, last)).catch((err) => shrinkPage(db, job, { err, last }))
    // A page may take long, and the job has time.
    return inScanTurn(db, { projectId: job.projectId, isLong: true }, compute, () => computeLater(db, job))
  })
}

/** A page that takes longer than a statement may is tried again with fewer contacts, down to a single one. */
async function shrinkPage(db: Pool, job: JobId, { err, last }: { err: unknown; last: boolean }): Promise<boolean> {
  if (!isStatementTimeout(err)) throw err
  return transact(db, async (tx) => {
    const position = (await lockJob<Input, Position>(tx, job))?.position
    if (!position) return false
    const size = Math.floor((position.size ?? FIRST_PAGE) / PAGE_FACTOR)
    if (size < 1) throw err
    await advanceJob(tx, job, { position: { ...position, size }, result: {}, progress: await progressOf(tx, job.projectId, position) })
    if (last) await enqueue(tx, 'segments.compute', job)
    return true
  })
}

/** Other scans of the owner have left no time for a page. */
async function computeLater(db: Pool, job: JobId) {
  await transact(db, (tx) => enqueue(tx, 'segments.compute', job, { delaySeconds: RECHECK_SECONDS }))
  return false
}

/**
 * Waits for the transactions that began before the listener of the segment was visible: they write no reactions for it, so the pages must
 * see what they wrote. False if they take longer; then the job is queued again.
 */
async function begin(db: Pool, job: JobId, { segmentId }: Input): Promise<boolean> {
  const tracked = await readTracking(db, { projectId: job.projectId, segmentId })
  const ended = !tracked || (await olderTransactionsEnded(db, await databaseTime(db)))
  return transact(db, async (tx) => {
    if (!ended) await enqueue(tx, 'segments.compute', job, { delaySeconds: RECHECK_SECONDS })
    else if (await lockJob(tx, job)) {
      const position: Position = { revision: tracked?.revision ?? 0, after: NIL_ID, size: FIRST_PAGE, looked: 0, added: 0, removed: 0 }
      await advanceJob(tx, job, { position, result: {}, progress: 0 })
    }
    return ended
  })
}

type Tracking = { revision: number; clearing: boolean }

const readTracking = (db: Db, { projectId, segmentId }: SegmentId, lock = sql``) => maybeOne<Tracking>(db)`
  select revision, clearing from tracked_segments where project_id = ${projectId} and segment_id = ${segmentId} ${lock}
`

type Page = { position: Position; isLast: boolean }

/** Returns false when there is nothing more to do in this job. */
async function computePage(tx: Tx, job: JobId, last: boolean): Promise<boolean> {
  const { projectId } = job
  await lockReactions(tx, projectId)
  const taken = await lockJob<Input, Position>(tx, job)
  if (!taken?.position) return false
  const id = { projectId, segmentId: taken.input.segmentId }
  // Locked: a change of the condition in this moment either is seen here, or finds this run finished and queues another.
  const tracked = await readTracking(tx, id, sql`for update`)
  const [segment] = await resolveSegments(tx, projectId, [id.segmentId])
  // Tracking has ended meanwhile.
  if (!tracked || !segment) return finish(tx, job, id, taken.position)
  if (tracked.revision !== taken.position.revision) return startOver(tx, job)
  const { position, isLast } = tracked.clearing
    ? await clearPage(tx, id, taken.position)
    : await fillPage(tx, projectId, segment, taken.position)
  if (isLast) return finish(tx, job, id, position)
  await advanceJob(tx, job, { position, result: {}, progress: await progressOf(tx, projectId, position) })
  if (last) await enqueue(tx, 'segments.compute', job)
  return true
}

/** The condition has changed since the run began, so it waits for writers again. */
async function startOver(tx: Tx, job: JobId) {
  await advanceJob(tx, job, { position: null, result: {}, progress: 0 })
  await enqueue(tx, 'segments.compute', job)
  return false
}

async function progressOf(tx: Tx, projectId: string, { looked }: Position) {
  const { total } = await countContacts(tx, projectId)
  return (looked / Math.max(1, total)) * 100
}

/** Deletes memberships of an earlier tracking, without events: they were forgotten when it ended. */
async function clearPage(tx: Tx, segment: SegmentId, position: Position): Promise<Page> {
  const { projectId, segmentId } = segment
  if (!(await deleteSome(tx, 'segment_members', segment)))
    await sql`update tracked_segments set clearing = false where project_id = ${projectId} and segment_id = ${segmentId}`.execute(tx)
  return { position, isLast: false }
}

/** Returns the number of rows deleted. */
const deleteSome = (tx: Tx, table: 'segment_members' | 'segment_due', { projectId, segmentId }: SegmentId) =>
  countAffected(tx)`
    delete from ${sql.table(table)} where project_id = ${projectId} and segment_id = ${segmentId} and contact_id in (
      select contact_id from ${sql.table(table)} where project_id = ${projectId} and segment_id = ${segmentId} limit ${CLEARED})
  `

/** Brings one page of contacts up to date, ordered by id. */
async function fillPage(tx: Tx, projectId: string, segment: ResolvedSegment, position: Position): Promise<Page> {
  const [fill, largest] = mayBecomeDue(segment.expression) ? [matchPage, LARGEST_MATCHED_PAGE] : [selectPage, LARGEST_PAGE]
  const limit = Math.min(position.size ?? FIRST_PAGE, largest)
  const startedAt = performance.now()
  const page = await fill(tx, projectId, segment, { after: position.after, limit })
  const addedCount = page.changes.filter(({ isMember }) => isMember).length
  return {
    isLast: page.size < limit,
    position: {
      ...position,
      after: page.end ?? position.after,
      size: sizeAfterPage(limit, { ms: performance.now() - startedAt, largest }),
      looked: position.looked + page.size,
      added: position.added + addedCount,
      removed: position.removed + page.changes.length - addedCount,
    },
  }
}

type Range = { after: string; limit: number }
type Filled = { changes: MembershipChange[]; size: number; end: string | undefined }

/** Finds the differences in the database: nothing but ids is read. */
async function selectPage(tx: Tx, projectId: string, segment: ResolvedSegment, { after, limit }: Range): Promise<Filled> {
  const context = await readContext(tx, projectId, [segment.expression])
  const rows = await many<{ id: string; matches: boolean; isMember: boolean }>(tx)`
    with page as materialized (
      select * from contacts where project_id = ${projectId} and id > ${after} order by id limit ${limit}
    )
    select contacts.id, ${expressionSql(segment.expression, { projectId, ...context })} as matches, m.contact_id is not null as "isMember"
    from page as contacts
    left join segment_members m on m.project_id = ${projectId} and m.segment_id = ${segment.id} and m.contact_id = contacts.id
    order by contacts.id
  `
  const different = rows.filter(({ matches, isMember }) => matches !== isMember)
  const wanted = different.map(({ id, matches }) => ({ segment, contactId: id, isMember: matches }))
  return { changes: await changeMemberships(tx, projectId, wanted), size: rows.length, end: rows.at(-1)?.id }
}

/** Matches in this process, which also finds the next due time of each contact. */
async function matchPage(tx: Tx, projectId: string, segment: ResolvedSegment, { after, limit }: Range): Promise<Filled> {
  const ids = await scalars<string>(tx)`
    select id from contacts where project_id = ${projectId} and id > ${after} order by id limit ${limit}
  `
  const checks = ids.map((contactId) => ({ contactId, segmentIds: [segment.id] }))
  return { changes: await recheckContacts(tx, projectId, checks), size: ids.length, end: ids.at(-1) }
}

async function finish(tx: Tx, job: JobId, { projectId, segmentId }: SegmentId, { revision, added, removed }: Position) {
  const total = await scalar<number>(tx)`
    select count(*)::int from segment_members where project_id = ${projectId} and segment_id = ${segmentId}
  `
  await sql`
    update tracked_segments set computed_revision = ${revision} where project_id = ${projectId} and segment_id = ${segmentId}
  `.execute(tx)
  await completeJob(tx, job, { added, removed, total })
  return false
}

/** Deletes the members of a segment that is deleted, or dynamic and no longer tracked, without events. One chunk per job. */
export const forgetMembers = (db: Pool, segment: SegmentId) =>
  transact(db, async (tx) => {
    await lockReactions(tx, segment.projectId)
    if (await keepsMembers(tx, segment)) return
    const due = await deleteSome(tx, 'segment_due', segment)
    const members = await deleteSome(tx, 'segment_members', segment)
    if (due || members) await enqueue(tx, 'segments.forget-members', segment)
  })

const keepsMembers = (tx: Tx, { projectId, segmentId }: SegmentId) =>
  maybeOne(tx)`
    select 1 from segments s
    where s.project_id = ${projectId} and s.id = ${segmentId} and (s.type = 'STATIC'
      or exists (select from tracked_segments t where t.project_id = s.project_id and t.segment_id = s.id))
  `
