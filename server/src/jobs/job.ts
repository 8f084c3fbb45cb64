import { setTimeout as sleep } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { columns, type RowOf } from '../db/columns.ts'
import { countAffected, countRows, type Db, many, maybeOne, maybeScalar, scalar, type Tx } from '../db/index.ts'
import { insertRows } from '../db/rows.ts'
import type { Schema } from '../db/schema.ts'
import type { WipeScope } from '../db/wipe-rows.ts'
import { lock } from '../ledger/locks.ts'
import { newId } from '../lib/id.ts'
import { SECOND } from '../lib/text/units.ts'
import { enqueue, type Jobs } from './enqueue.ts'
import { deletePieces } from './pieces.ts'

const STATES = ['waiting', 'active', 'completed', 'failed'] as const

export const JobView = z
  .object({
    id: z.uuid(),
    jobId: z.uuid(),
    type: z.string(),
    state: z.enum(STATES),
    status: z.enum(STATES),
    progress: z.int().describe('0 to 100'),
    result: z.record(z.string(), z.unknown()).nullable(),
    failedReason: z.string().nullable(),
    createdAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Job' })

export const Queued = z.object({ message: z.string(), jobId: z.uuid() })

const COLUMNS = columns('jobs', '', ['id', 'type', 'state', 'progress', 'result', 'failedReason', 'createdAt', 'finishedAt'])
export type JobRow = RowOf<typeof COLUMNS> & { state: (typeof STATES)[number]; result: Record<string, unknown> | null }
export type JobId = { projectId: string; jobId: string }
/** Jobs that a customer can watch: those with a row in `jobs`. */
export type WatchedJob = { [Name in keyof Jobs]: Jobs[Name] extends JobId ? Name : never }[keyof Jobs]

/** Inserts the row to watch and enqueues its job, in one commit. */
export async function queueJob(tx: Tx, name: WatchedJob, { projectId, type, input }: { projectId: string; type: string; input: object }) {
  const jobId = newId()
  await sql`
    insert into jobs (project_id, id, type, input) values (${projectId}, ${jobId}, ${type}, ${JSON.stringify(input)}::jsonb)
  `.execute(tx)
  await enqueue(tx, name, { projectId, jobId })
  return jobId
}

/** Counts under a lock of the project, so that concurrent requests cannot exceed a limit together. */
export async function countUnfinished(tx: Tx, { projectId, type }: { projectId: string; type: string }) {
  await lock(tx, 'unfinished jobs', projectId)
  return scalar<number>(tx)`
    select count(*)::int from jobs where project_id = ${projectId} and type = ${type} and finished_at is null
  `
}

/** Of any type, or of one of these. */
export async function findJob(db: Db, { projectId, jobId }: JobId, types?: string[]) {
  const ofType = types ? sql`and type = any(${types})` : sql``
  const row = await maybeOne<JobRow>(db)`select ${COLUMNS} from jobs where project_id = ${projectId} and id = ${jobId} ${ofType}`
  return row && showJob(row)
}

/** `isOfType`: a condition on the type of a job. */
type JobList = { projectId: string; active: boolean; isOfType?: RawBuilder<unknown> | undefined }
const listed = ({ projectId, active, isOfType }: JobList) =>
  sql`project_id = ${projectId} ${active ? sql`and finished_at is null` : sql``} ${isOfType ? sql`and (${isOfType})` : sql``}`

/** Newest first. */
export const selectJobs = ({ after, limit, ...list }: JobList & { after: string | undefined; limit: number }) => sql<JobRow>`
  select ${COLUMNS} from jobs where ${listed(list)} ${after === undefined ? sql`` : sql`and id < ${after}`} order by id desc limit ${limit}`

/** Totals are exact up to this number, and stop there. */
const COUNT_UP_TO = 10_000

export const countJobs = (db: Db, list: JobList) => countRows(db, sql`select 1 from jobs where ${listed(list)} limit ${COUNT_UP_TO}`)

export const showJob = (row: JobRow): z.output<typeof JobView> => ({
  ...row,
  jobId: row.id,
  status: row.state,
  createdAt: row.createdAt.toISOString(),
  finishedAt: row.finishedAt?.toISOString() ?? null,
})

type Progress<Input, Position> = { input: Input; position: Position | null; result: Record<string, number> | null }

const progressSql = ({ projectId, jobId }: JobId) =>
  sql`select input, position, result from jobs where project_id = ${projectId} and id = ${jobId} and state in ('waiting', 'active')`

/** Without a lock. Undefined when the job is finished. */
export const readProgress = <Input, Position>(db: Db, job: JobId) => maybeOne<Progress<Input, Position>>(db)`${progressSql(job)}`

/** The same, locked for the transaction that does the next chunk of the job, waiting for the current holder. */
export const lockJob = <Input, Position>(tx: Tx, job: JobId) => maybeOne<Progress<Input, Position>>(tx)`${progressSql(job)} for update`

/**
 * Works for about a second, in pieces that are transactions of their own: a worker that shuts down waits only for one. `isLast`: the piece must
 * see to it that another job does the rest. Ends when a piece returns false: nothing is left.
 */
export async function workInPieces(work: (isLast: boolean) => Promise<unknown>) {
  for (const deadline = performance.now() + SECOND; ; ) {
    const isLast = performance.now() > deadline
    if (!(await work(isLast)) || isLast) return
  }
}

/** Ends all waiting and active jobs of a project, after their current chunks. */
export const stopJobs = (tx: Tx, projectId: string) =>
  sql`
    update jobs set state = 'failed', failed_reason = 'The project was reset.', finished_at = now()
    where project_id = ${projectId} and state in ('waiting', 'active')
  `.execute(tx)

/** Longest wait for a job: shorter than the time a process has to stop. */
const MAX_WAIT_MS = 12_000
const POLL_MS = 30

/** Waits for a job to finish and returns its result so far; for requests that respond with it. */
export const awaitJob = async <Result>(db: Db, job: JobId) => (await awaitEnd<Result>(db, job))?.result ?? undefined

/** Waits for a job to finish; undefined if it takes longer, or failed. */
export async function awaitCompletion<Result>(db: Db, job: JobId) {
  const end = await awaitEnd<Result>(db, job)
  return end?.state === 'completed' ? (end.result ?? undefined) : undefined
}

async function awaitEnd<Result>(db: Db, { projectId, jobId }: JobId) {
  const look = () =>
    maybeOne<{ state: string; finished: boolean; result: Result | null }>(db)`
      select state, finished_at is not null as finished, result from jobs where project_id = ${projectId} and id = ${jobId}
    `
  for (const deadline = performance.now() + MAX_WAIT_MS; ; await sleep(POLL_MS)) {
    // The job is queued, so the request has succeeded: a look that fails is one that finds it unfinished.
    const job = await look().catch(() => UNKNOWN)
    if (!job || job.finished || performance.now() > deadline) return job
  }
}

const UNKNOWN = { state: 'waiting', finished: false, result: null }

type Advance = { position: unknown; result: Record<string, unknown>; progress: number }

export const advanceJob = (tx: Tx, { projectId, jobId }: JobId, { position, result, progress }: Advance) =>
  sql`
    update jobs set state = 'active', position = ${JSON.stringify(position)}::jsonb, result = ${JSON.stringify(result)}::jsonb,
      -- Never backwards: customers watch it.
      progress = greatest(progress, least(99, ${Math.floor(progress)}::int))
    where project_id = ${projectId} and id = ${jobId}
  `.execute(tx)

export async function completeJob(tx: Tx, { projectId, jobId }: JobId, result: Record<string, unknown>) {
  await sql`
    update jobs set state = 'completed', progress = 100, position = null, result = ${JSON.stringify(result)}::jsonb, finished_at = now()
    where project_id = ${projectId} and id = ${jobId}
  `.execute(tx)
  await sql`delete from job_files where project_id = ${projectId} and job_id = ${jobId}`.execute(tx)
}

export async function failJob(tx: Tx, { projectId, jobId }: JobId, reason: string) {
  await sql`
    update jobs set state = 'failed', failed_reason = ${reason}, finished_at = now()
    where project_id = ${projectId} and id = ${jobId} and state in ('waiting', 'active')
  `.execute(tx)
  await sql`delete from job_files where project_id = ${projectId} and job_id = ${jobId}`.execute(tx)
}

/** Fails the jobs whose attempts are exhausted, by failures or by killed workers. The log has the reasons. */
export const failExhausted = (tx: Tx) =>
  sql`
    with given_up as (
      delete from graphile_worker._private_jobs
      where attempts >= max_attempts and locked_at is null and payload ->> 'jobId' is not null
      returning (payload ->> 'projectId')::uuid as project_id, (payload ->> 'jobId')::uuid as id, attempts
    ), failed as (
      update jobs set state = 'failed', finished_at = now(), failed_reason = 'Given up after ' || given_up.attempts || ' attempts.'
      from given_up
      where jobs.project_id = given_up.project_id and jobs.id = given_up.id and jobs.state in ('waiting', 'active')
    )
    delete from job_files using given_up where job_files.project_id = given_up.project_id and job_files.job_id = given_up.id
  `.execute(tx)

export const saveFile = (tx: Tx, { projectId, jobId }: JobId, content: Buffer) =>
  sql`insert into job_files (project_id, job_id, content) values (${projectId}, ${jobId}, ${content})`.execute(tx)

/** Bytes of the file; empty after its end. */
export const readFileSlice = (db: Db, { projectId, jobId }: JobId, { from, length }: { from: number; length: number }) =>
  maybeScalar<Buffer>(db)`
    select substring(content from ${from + 1}::int for ${length}::int) from job_files where project_id = ${projectId} and job_id = ${jobId}
  `

export type RowError = Pick<Schema['job_errors'], 'row' | 'subject' | 'error'>

export async function saveErrors(tx: Tx, { projectId, jobId }: JobId, errors: RowError[]) {
  if (!errors.length) return
  const rows = errors.map((error) => ({ ...error, projectId, jobId }))
  await sql`${insertRows('job_errors', rows, ['projectId', 'jobId', 'row', 'subject', 'error'])} on conflict do nothing`.execute(tx)
}

export const listErrors = (db: Db, { projectId, jobId }: JobId, { after = 0, limit }: { after?: number; limit: number }) =>
  many<RowError>(db)`
    select row, subject, error from job_errors
    where project_id = ${projectId} and job_id = ${jobId} and row > ${after}
    order by row limit ${limit}
  `

/** Pieces deleted in one transaction: each may have a megabyte. */
const MAX_PIECES = 200

/** Results can be read for a month. */
export const dropOldJobs = (tx: Tx, limit: number) => deleteJobs(tx, sql`finished_at < now() - interval '30 days'`, limit)

export const wipeJobs = (tx: Tx, { projectId, before, limit }: WipeScope) =>
  deleteJobs(tx, sql`project_id = ${projectId} and created_at <= ${before}::timestamptz`, limit)

/** Deletes row errors and pieces first: a job may have millions, which a cascade would delete in one statement. Returns the number of rows deleted. */
async function deleteJobs(tx: Tx, which: RawBuilder<unknown>, limit: number) {
  const errors = await countAffected(tx)`
    delete from job_errors where (project_id, job_id, row) in (
      select e.project_id, e.job_id, e.row from job_errors e
      where (e.project_id, e.job_id) in (select project_id, id from jobs where (${which})) limit ${limit})
  `
  const pieces = errors ? 0 : await deletePieces(tx, which, Math.min(limit, MAX_PIECES))
  if (errors || pieces) return errors + pieces
  return countAffected(tx)`delete from jobs where (project_id, id) in (select project_id, id from jobs where (${which}) limit ${limit})`
}
