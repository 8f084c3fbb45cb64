import { sql } from 'kysely'
import { hasDueWindows } from '../../conditions/references.ts'
import { scalar, scalars, type Tx } from '../../db/index.ts'
import { lock } from '../../ledger/locks.ts'
import { fail } from '../../lib/errors/errors.ts'
import { resolveSegments } from './expressions.ts'
import { MAX_SEGMENTS } from './segment.ts'

const MAX_TRACKED = 200
/** Tracked segments whose members change by time alone, one by one: each of them keeps a row per contact. */
const MAX_TRACKED_WITH_DUE_WINDOWS = 50

/**
 * Serialises changes of the segments of a project, and references to them: while it is held, a segment that is referred to is not
 * deleted, and two requests cannot exceed a limit together.
 */
export const lockSegments = (tx: Tx, projectId: string) => lock(tx, 'segments', projectId)

/** Longest wait of a request that changes segments for this lock, which requests on other nodes may hold. Shorter than `query_timeout`. */
const LOCK_WAIT_MS = 10_000

const atLeast = (setting: 'lock_timeout' | 'statement_timeout') => sql`
  set_config(${setting}, (1000 * extract(epoch from greatest(
    current_setting(${setting})::interval, make_interval(secs => ${LOCK_WAIT_MS / 1000}))))::int::text, true)`

/** The lock, with more patience than other locks: first statement of a transaction. */
export async function awaitSegmentsLock(tx: Tx, projectId: string) {
  await sql`select ${atLeast('lock_timeout')}, ${atLeast('statement_timeout')}`.execute(tx)
  await lockSegments(tx, projectId)
}

/** Call before inserting a segment, under the lock. */
export async function assertRoomForSegment(tx: Tx, projectId: string) {
  const count = await scalar<number>(tx)`select count(*)::int from segments where project_id = ${projectId}`
  if (count >= MAX_SEGMENTS) fail('CONFLICT', { message: `A project has at most ${MAX_SEGMENTS.toLocaleString('en')} segments.` })
}

/** Call after a change of a tracked segment, or of one that a tracked segment may refer to, under the lock. */
export async function assertTrackable(tx: Tx, projectId: string) {
  const tracked = await scalars<string>(tx)`
    select id from segments where project_id = ${projectId} and track_membership limit ${MAX_SEGMENTS}
  `
  if (tracked.length > MAX_TRACKED) fail('CONFLICT', { message: `A project tracks the membership of at most ${MAX_TRACKED} segments.` })
  if (tracked.length <= MAX_TRACKED_WITH_DUE_WINDOWS) return
  const segments = await resolveSegments(tx, projectId, tracked)
  const due = segments.filter(({ expression }) => hasDueWindows(expression))
  if (due.length > MAX_TRACKED_WITH_DUE_WINDOWS)
    fail('CONFLICT', {
      message: `A project tracks the membership of at most ${MAX_TRACKED_WITH_DUE_WINDOWS} segments with time windows on "data" or "updatedAt".`,
    })
}
