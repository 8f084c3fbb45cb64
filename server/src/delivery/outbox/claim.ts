import { sql } from 'kysely'
import { columns, type RowOf } from '../../db/columns.ts'
import { countAffected, type Db, many, maybeOne, type Pool, scalar, type Tx, transact, transactAtOnce } from '../../db/index.ts'
import { given, prepared } from '../../db/prepared.ts'
import { skipScanCte } from '../../ledger/skip-scan.ts'
import { backoffSql } from '../../lib/concurrency/backoff.ts'
import { NIL_ID } from '../../lib/id.ts'
import { MINUTE, SECOND } from '../../lib/text/units.ts'
import type { FailoverMode } from '../../nodes/failover.ts'
import { isGone, isSteady } from '../../nodes/presence.ts'
import { runsFromId, WAITING_UP_TO } from '../../nodes/sending-hold.ts'
import { CURRENT_TIMELINE } from '../../nodes/server-identity.ts'
import { projectsOfSql } from '../../projects/owner.ts'
import { alongIndexes } from './keyed-plans.ts'
import { HELD } from './refusals/hold.ts'
import { allowanceSql, isStopped, rateAllowance, unusedSince } from './streams/stream-allowance.ts'
import type { EmailSource } from './streams/stream-of.ts'
import { type DeadWorker, hasCompared, holdForSilent, leaseOf } from './workers/lease.ts'

/**
 * `followsContact`: goes to the address that the contact has when it is handed over, which the gate reads; until its first mark. `onlyVars`: the
 * variables are `vars` alone. `test`: sent by a person to see it: no contact, no consent, no tracking, no events. `timeouts`: how often rendering
 * or building it ran out of time.
 */
const ROW = columns('emails', 'e', [
  ...(['projectId', 'id', 'streamId', 'contentId', 'contactId', 'toAddress', 'followsContact', 'toName', 'vars', 'onlyVars'] as const),
  ...(['sourceType', 'campaignId', 'workflowExecutionId', 'messageId', 'test'] as const),
  ...(['attempts', 'failures', 'crashes', 'timeouts', 'firstFailedAt'] as const),
])

/** An email claimed by a worker, which settles it. If the worker dies, others recover the email. */
export type ClaimedEmail = RowOf<typeof ROW> & {
  priority: number
  vars: Record<string, unknown>
  sourceType: EmailSource['sourceType']
  /** Of a scheduled email the time that it was scheduled for. */
  createdAt: Date
  /** Its refusal is held: it is sent again to find out what the refusal is about. */
  wasHeld: boolean
}

/** Streams that a claim serves. The next claim starts behind the last of them. */
const MAX_STREAMS = 64
/** Streams that a claim looks at, to find those that do not wait: each costs 40 µs. */
const MAX_LOOKED_AT = 128
/** Claims in a row that only find streams that wait. */
const MAX_IN_VAIN = 16
/** Crashes after which an email is a suspect: sent alone, so that another crash affects no other email. */
export const SUSPECT_CRASHES = 3

type Stream = Pick<ClaimedEmail, 'projectId' | 'streamId'>
/** `except`: owners whose projects are left out. `silent`: streams that are left out; of those in `trying`, one email may be claimed. */
type ClaimSize = { limit: number; except: string[]; silent?: string[]; trying?: string[] }
const HIGHEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const START: Stream = { projectId: NIL_ID, streamId: NIL_ID }

/**
 * Claims up to `limit` emails of a priority fairly: the same share from every stream with queued emails, starting behind the stream where the
 * last claim ended. However long the queue of one stream is, no other stream waits for its end. Excludes the projects of owners in `except`, and
 * streams that wait: each of them is one step, however many emails it has.
 */
export function createClaim(db: Pool, worker: number) {
  const nextStream: Record<number, Stream> = {}

  async function claimFrom(priority: number, size: ClaimSize, from: Stream): Promise<ClaimedEmail[]> {
    const { limit, except, silent = [], trying = [] } = size
    const place = { fromProject: from.projectId, fromStream: from.streamId }
    const statement = CLAIM.with({ priority, limit, except, silent, trying, worker, ...place })
    const [, rows] = await transactAtOnce(db, [CLAIM_SETTINGS, statement])
    const claimed = rows.filter(({ id }) => id !== null)
    nextStream[priority] = streamAfter(claimed, { ...rows[0]!, limit })
    return claimed
  }

  return async (priority: number, size: ClaimSize) => {
    let mayBeBehind = (nextStream[priority] ?? START) !== START
    for (let tried = 0; tried < MAX_IN_VAIN; tried++) {
      const claimed = await claimFrom(priority, size, nextStream[priority] ?? START)
      if (claimed.length) return claimed
      // Nothing is queued from there to the last stream: start over at once instead of with the next claim.
      if (nextStream[priority] === START && !mayBeBehind) break
      if (nextStream[priority] === START) mayBeBehind = false
    }
    return []
  }
}

/**
 * A claim needs no synchronous commit: if a database crash loses it, it never happened, since only the mark before the hand-over counts. The
 * plan is generic, because planning takes as long as the claim, and forced along the queue index: without knowing the limit the planner
 * expects a tenth of the queue, and would read and sort a million rows to claim forty.
 */
const CLAIM_SETTINGS = alongIndexes({ synchronous_commit: 'off' })

type Looked = {
  /** Streams that had emails to claim. */
  streams: number
  /** Project and stream, when there may be more streams behind. */
  lookedUpTo: string | null
}

/** Where the next claim starts: behind the last stream that was served; when all of them were, behind the last one looked at. */
function streamAfter(claimed: Stream[], { streams, lookedUpTo, limit }: Looked & { limit: number }): Stream {
  // A claim may be short because a stream has a rate: that alone does not mean that there are no others.
  const servedAll = claimed.length < limit || new Set(claimed.map(({ streamId }) => streamId)).size === streams
  if (streams === MAX_STREAMS || !servedAll) return claimed.length ? claimed.reduce<Stream>(later, START) : START
  return lookedUpTo ? { projectId: lookedUpTo.slice(0, 36), streamId: lookedUpTo.slice(36) } : START
}

const later = (a: Stream, b: Stream) => (a.projectId > b.projectId || (a.projectId === b.projectId && a.streamId > b.streamId) ? a : b)

export const CLAIMED_COLUMNS = sql`${ROW}, e.lane as priority, coalesce(e.send_at, e.created_at) as "createdAt",
  coalesce(e.error_code = ${sql.lit(HELD)}, false) as "wasHeld"`

type ClaimValues = Required<ClaimSize> & { priority: number; worker: number; fromProject: string; fromStream: string }

const claiming = given<ClaimValues>()

const CLAIM = prepared<ClaimedEmail & Looked, ClaimValues>`
  with recursive me as materialized (
    ${leaseOf(claiming.worker)}
  ), excluded as materialized (
    select ${projectsOfSql(claiming.except)} as projects
  ), ${skipScanCte('queues', {
    table: 'emails',
    by: ['project_id', 'stream_id'],
    columns: [sql`id`],
    order: ['lane', 'project_id', 'stream_id', 'id'],
    where: sql`state = 'queued' and lane = ${claiming.priority}::smallint`,
    from: sql`${claiming.fromProject}::uuid, ${claiming.fromStream}::uuid`,
    // An excluded project is one step, however many streams it has.
    after: sql`last.project_id, case when last.project_id = any((select projects from excluded)::uuid[]) then ${HIGHEST}::uuid else last.stream_id end`,
  })}, looked_at as materialized (
    select * from queues limit ${MAX_LOOKED_AT}
  ), waiting as materialized (
    -- With the first queued email of each stream, so that the index entries of claimed emails before it are skipped only once.
    select project_id, stream_id, id, may_claim, has_rate, count(*) over ()::int as streams from (
      select q.*, least(a.may_claim, s.may_claim) as may_claim, a.has_rate
      from looked_at q cross join lateral ${allowanceSql({ stream: sql`q`, priority: claiming.priority, limit: claiming.limit })} as a cross join lateral (
        select case when q.stream_id = any(${claiming.trying}::uuid[]) then 1
          when q.stream_id = any(${claiming.silent}::uuid[]) then 0 else ${claiming.limit}::int end as may_claim offset 0
      ) as s
      where q.project_id <> all((select projects from excluded)::uuid[]) and least(a.may_claim, s.may_claim) > 0
        and (${runsFromId(sql`q.id`)} or exists (
          select from emails where state = 'queued' and lane = ${claiming.priority}::smallint
            and (project_id, stream_id, id) >= (q.project_id, q.stream_id, ${WAITING_UP_TO}) and (project_id, stream_id) <= (q.project_id, q.stream_id)))
      limit ${MAX_STREAMS}
    ) as nearest
    where exists (select from me)
  ), chosen as materialized (
    select mine.project_id, mine.id, w.stream_id, w.has_rate
    from waiting w cross join lateral (
      -- The rate is read again, under a lock: another worker may have used it. While it does, the stream waits.
      select case when w.has_rate then least(w.may_claim, coalesce((
        select ${rateAllowance(claiming.limit)} from stream_rates r where r.project_id = w.project_id and r.id = w.stream_id for update skip locked
      ), 0)) else w.may_claim end as may_claim offset 0
    ) as a cross join lateral (
      select project_id, id from emails
      -- Not "=": then the primary key would have this order too, and scanning it passes every email ever sent.
      where state = 'queued' and lane = ${claiming.priority}::smallint
        and (project_id, stream_id, id) >= (w.project_id, w.stream_id, greatest(w.id, ${WAITING_UP_TO})) and (project_id, stream_id) <= (w.project_id, w.stream_id)
        and crashes < ${SUSPECT_CRASHES}
      order by lane, project_id, stream_id, id limit least(ceil(${claiming.limit}::numeric / w.streams), a.may_claim)
      for update skip locked
    ) as mine
    limit ${claiming.limit}
  ), used as (
    update stream_rates r set unused_since = ${unusedSince} + make_interval(secs => c.emails * 60.0 / r.per_minute)
    from (select project_id, stream_id, count(*) as emails from chosen where has_rate group by 1, 2) as c
    where r.project_id = c.project_id and r.id = c.stream_id
  ), claimed as (
    update emails e set state = 'sending', worker = ${claiming.worker}, attempts = attempts + 1, handed_over_at = null, updated_at = now()
    from chosen where e.project_id = chosen.project_id and e.id = chosen.id
    returning ${CLAIMED_COLUMNS}
  )
  -- One row without an email when there is none to claim.
  select claimed.*, looked.streams, looked."lookedUpTo"
  from (
    select streams, case when streams < ${MAX_STREAMS} then (
      select case when count(*) = ${MAX_LOOKED_AT} then max(project_id::text || stream_id::text) end from looked_at) end as "lookedUpTo"
    from (select count(*)::int as streams from waiting) as served
  ) as looked left join claimed on true`

const SUSPECT_REST_MS = { first: SECOND, longest: MINUTE }
/** Crashes with a cause of their own often come in a row, and no email is to blame for them. */
const DUE_SUSPECT = sql`state = 'queued' and crashes >= ${SUSPECT_CRASHES} and ${runsFromId(sql`id`)}
  and updated_at < now() - ${backoffSql(sql`crashes - ${sql.lit(SUSPECT_CRASHES)}`, SUSPECT_REST_MS)}
  and not exists (select from streams t where t.project_id = emails.project_id and t.id = emails.stream_id and ${isStopped})`

/** With "order by", or the planner may scan all emails in the hope to find one early. */
export const hasSuspects = async (db: Pool) => (await many(db)`select from emails where ${DUE_SUSPECT} order by id limit 1`).length > 0

/** Claims one suspect. The caller holds no other email: if the process dies again, this one is the cause. */
export const claimSuspect = (tx: Tx, worker: number) =>
  maybeOne<ClaimedEmail>(tx)`
    with me as materialized (
      ${leaseOf(worker)}
    ), chosen as materialized (
      select project_id, id from emails where ${DUE_SUSPECT} order by id limit 1 for update skip locked
    )
    update emails e set state = 'sending', worker = ${worker}, attempts = attempts + 1, handed_over_at = null, updated_at = now()
    from chosen where e.project_id = chosen.project_id and e.id = chosen.id and exists (select from me)
    returning ${CLAIMED_COLUMNS}
  `

export const countWorkers = (db: Db) => scalar<number>(db)`select count(*)::int from senders where lease_until > now()`

/** An email that was not handed over is queued again; the outcome of any other is unknown. */
const ABANDONED = sql`
  state = case when handed_over_at is null then 'queued' else 'unknown' end,
  unknown_since = case when handed_over_at is null then unknown_since else now() end,
  worker = null, updated_at = now()`

/** Takes over the emails of dead workers. Returns how many. */
export const recoverFromDeadWorkers = (db: Pool, worker: number, failover: FailoverMode = 'auto') =>
  transact(db, async (tx) => {
    const dead = await many(
      tx,
      prepared<DeadWorker>`
      select worker, timeline <> ${CURRENT_TIMELINE} as "isSilent" from senders
      where worker <> ${worker} and ${hasCompared(worker)} and (
        lease_until < now() or (timeline <> ${CURRENT_TIMELINE}) is not true and ${isSteady(worker)} and ${isGone(sql<number>`worker`)})
      for update skip locked
    `,
    )
    if (!dead.length) return 0
    if (dead.some(({ isSilent }) => isSilent)) await holdForSilent(tx, failover)
    const workers = dead.map((row) => row.worker)
    const recovered = await countAffected(tx)`
      update emails set ${ABANDONED}, crashes = crashes + case when handed_over_at is null then 1 else 0 end
      where (project_id, id) in (
        select project_id, id from emails where state = 'sending' and worker = any(${workers}::int[]) order by 1, 2 for update)
    `
    await sql`delete from senders where worker = any(${workers}::int[])`.execute(tx)
    return recovered
  })

/** Queues deferred emails that are due. */
export const wakeDeferred = (tx: Tx, limit: number) =>
  countAffected(tx)`
    update emails set state = 'queued', due_at = null, updated_at = now()
    where (project_id, id) in (
      select project_id, id from emails where state = 'deferred' and due_at <= now() order by due_at limit ${limit} for update skip locked)
  `

/**
 * Releases the emails assigned to this worker that it does not hold. A claim whose reply was lost leaves emails with a worker that does not
 * know of them. Should the worker still process a released email, it gets no mark.
 */
export const releaseUnheld = (tx: Tx, worker: number, heldIds: string[]) =>
  prepared`
    update emails set ${ABANDONED}
    where state = 'sending' and worker = ${worker} and not (id = any(${heldIds}::uuid[])) and ${hasCompared(worker)}
  `.execute(tx)
