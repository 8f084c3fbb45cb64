import { sql } from 'kysely'
import { countAffected, type Db, many, maybeOne, one, type Pool, prepared, type Tx, transact, transactAtOnce } from '../../db/index.ts'
import { isGone, isPresent, isSteady } from '../../db/presence.ts'
import { NIL_ID } from '../../lib/id.ts'

/** What a worker has taken: it sends it, or says why not, or dies and someone else does. */
export type ClaimedEmail = {
  projectId: string
  id: string
  priority: number
  streamId: string
  contentId: string
  contactId: string | null
  toAddress: string
  toName: string | null
  vars: Record<string, unknown>
  sourceType: 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW'
  campaignId: string | null
  workflowExecutionId: string | null
  messageId: string
  attempts: number
  failures: number
  crashes: number
  firstFailedAt: Date | null
  createdAt: Date
}

export const PRIORITIES = { transactional: 0, bulk: 1 } as const
/** Streams looked at per claim. More are reached by the next one, which starts behind the last. */
const MAX_STREAMS = 64
/** An email that three processes held when they died goes alone from then on, so that it takes no others with it. */
const SUSPECT_CRASHES = 3

type Stream = Pick<ClaimedEmail, 'projectId' | 'streamId'>
type ClaimSize = { limit: number; except: string[] }
const HIGHEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const START: Stream = { projectId: NIL_ID, streamId: NIL_ID }

/**
 * Takes up to `limit` mails of a lane, fairly: from every stream that waits the same share, starting behind where the last claim
 * ended. However long one queue is, no other stream waits for its end. Takes none of the projects in `except`.
 */
export function createClaim(db: Pool, worker: number) {
  const last: Record<number, Stream> = {}

  async function claimFrom(lane: number, { limit, except }: ClaimSize, from: Stream): Promise<ClaimedEmail[]> {
    const [, taken] = await transactAtOnce(db, [CLAIM_SETTINGS, claimSql({ lane, limit, except, worker, from })])
    last[lane] = taken.length < limit || servedAll(taken) ? START : taken.reduce<Stream>(later, START)
    return taken
  }

  return async (lane: number, wanted: ClaimSize) => {
    const from = last[lane] ?? START
    const taken = await claimFrom(lane, wanted, from)
    // Then the next claim starts over. Is there nothing behind the last one, that must not wait.
    return taken.length || from === START ? taken : claimFrom(lane, wanted, START)
  }
}

/**
 * Lost by a crash of the database, a claim has not happened: the mark before the hand-over is what counts. Its plan is made once,
 * because making it takes as long as the claim; and along the index of what waits, because that is the only good one. Not knowing
 * how many mails it will be, the planner expects a tenth of the queue, and would read and sort a million to take forty.
 */
const SETTINGS = {
  synchronous_commit: 'off',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_sort: 'off',
  enable_incremental_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}
const settings = Object.entries(SETTINGS).map(([name, value]) => sql`set_config(${sql.lit(name)}, ${sql.lit(value)}, true)`)
const CLAIM_SETTINGS = sql`${prepared} select ${sql.join(settings)}`

/** Then the list ends there, and the next claim need not find that out. */
function servedAll(taken: (Stream & { streams: number })[]) {
  const { streams } = taken[0]!
  return streams < MAX_STREAMS && new Set(taken.map(({ streamId }) => streamId)).size === streams
}

const later = (a: Stream, b: Stream) => (a.projectId > b.projectId || (a.projectId === b.projectId && a.streamId > b.streamId) ? a : b)

const claimSql = ({ lane, limit, except, worker, from }: ClaimSize & { lane: number; worker: number; from: Stream }) => sql<
  ClaimedEmail & { streams: number }
>`${prepared}
  with recursive me as materialized (
    -- Only who counts as living may take, and cannot be taken for dead meanwhile.
    select from senders where worker = ${worker} and lease_until > now() for key share
  ), streams as (
    (select project_id, stream_id, id from emails
      where state = 'queued' and lane = ${lane}::smallint and (project_id, stream_id) > (${from.projectId}::uuid, ${from.streamId}::uuid)
      order by lane, project_id, stream_id, id limit 1)
    union all
    select next.project_id, next.stream_id, next.id
    from streams s cross join lateral (
      select project_id, stream_id, id from emails
      where state = 'queued' and lane = ${lane}::smallint
        -- An excluded project is one step, however many streams it has.
        and (project_id, stream_id) > (s.project_id, case when s.project_id = any(${except}::uuid[]) then ${HIGHEST}::uuid else s.stream_id end)
      order by lane, project_id, stream_id, id limit 1
    ) as next
  ), waiting as materialized (
    -- With the first mail of each: those before it were taken, and it need not be found out twice.
    select project_id, stream_id, id, count(*) over ()::int as streams from (
      select * from streams where project_id <> all(${except}::uuid[]) limit ${MAX_STREAMS}
    ) as nearest
    where exists (select from me)
  ), chosen as materialized (
    select mine.project_id, mine.id, w.streams
    from waiting w cross join lateral (
      select project_id, id from emails
      -- Not "=": then the primary key would have this order too, and following it leads past every mail that was ever sent.
      where state = 'queued' and lane = ${lane}::smallint
        and (project_id, stream_id, id) >= (w.project_id, w.stream_id, w.id) and (project_id, stream_id) <= (w.project_id, w.stream_id)
        and crashes < ${SUSPECT_CRASHES}
      order by lane, project_id, stream_id, id limit ceil(${limit}::numeric / w.streams)
      for update skip locked
    ) as mine
    limit ${limit}
  )
  update emails e set state = 'sending', worker = ${worker}, attempts = attempts + 1, handed_over_at = null, updated_at = now()
  from chosen where e.project_id = chosen.project_id and e.id = chosen.id
  returning ${CLAIMED_COLUMNS}, chosen.streams
`

const CLAIMED_COLUMNS = sql`e.project_id as "projectId", e.id, e.lane as priority, e.stream_id as "streamId", e.content_id as "contentId", e.contact_id as "contactId",
  e.to_address as "toAddress", e.to_name as "toName", e.vars, e.source_type as "sourceType", e.campaign_id as "campaignId",
  e.workflow_execution_id as "workflowExecutionId", e.message_id as "messageId", e.attempts, e.failures, e.crashes,
  e.first_failed_at as "firstFailedAt", e.created_at as "createdAt"`

/** Each further death doubles the wait. Deaths with a cause of their own often come in a row, and no email is to blame for them. */
const DUE_SUSPECT = sql`state = 'queued' and crashes >= ${SUSPECT_CRASHES}
  and updated_at < now() - make_interval(secs => 2 ^ (crashes - ${SUSPECT_CRASHES}))`

/** In order, or the planner may hope to come across one by reading all mails there are. */
export const hasSuspects = async (db: Pool) => (await many(db, sql`select from emails where ${DUE_SUSPECT} order by id limit 1`)).length > 0

/** One at a time, with nothing else in hand: should the process die again, it was this one. */
export const claimSuspect = (db: Pool, worker: number) =>
  transact(db, (tx) =>
    maybeOne(
      tx,
      sql<ClaimedEmail>`
        with me as materialized (
          select from senders where worker = ${worker} and lease_until > now() for key share
        ), chosen as materialized (
          select project_id, id from emails where ${DUE_SUSPECT} order by id limit 1 for update skip locked
        )
        update emails e set state = 'sending', worker = ${worker}, attempts = attempts + 1, handed_over_at = null, updated_at = now()
        from chosen where e.project_id = chosen.project_id and e.id = chosen.id and exists (select from me)
        returning ${CLAIMED_COLUMNS}
      `,
    ),
  )

/**
 * Says that this process lives. Without it, and without its lock, its mails go to others. A process that lost its lock without knowing
 * gets no lease: it would claim again and again what others take back.
 */
export const renewLease = (tx: Tx, worker: number, leaseMs: number) =>
  sql`
    insert into senders (worker, lease_until)
    select ${worker}, now() + make_interval(secs => ${leaseMs / 1_000}) where ${isPresent(worker)}
    on conflict (worker) do update set lease_until = excluded.lease_until
  `.execute(tx)

export async function countWorkers(db: Db) {
  const { count } = await one(db, sql<{ count: number }>`select count(*)::int as count from senders where lease_until > now()`)
  return count
}

/** Not handed over, it is as if nobody had had it; otherwise nobody knows. */
const ABANDONED = sql`
  state = case when handed_over_at is null then 'queued' else 'unknown' end,
  unknown_since = case when handed_over_at is null then unknown_since else now() end,
  worker = null, updated_at = now()`

/** Takes back what the dead had. Returns how many mails that were. */
export const recoverFromDeadWorkers = (db: Pool, worker: number) =>
  transact(db, async (tx) => {
    const dead = await many(
      tx,
      sql<{ worker: number }>`
        select worker from senders
        where worker <> ${worker} and (lease_until < now() or ${isSteady(worker)} and ${isGone(sql<number>`worker`)})
        for update skip locked
      `,
    )
    if (!dead.length) return 0
    const workers = dead.map((row) => row.worker)
    const recovered = await countAffected(
      tx,
      sql`
        update emails set ${ABANDONED}, crashes = crashes + case when handed_over_at is null then 1 else 0 end
        where (project_id, id) in (
          select project_id, id from emails where state = 'sending' and worker = any(${workers}::int[]) order by 1, 2 for update)
      `,
    )
    await sql`delete from senders where worker = any(${workers}::int[])`.execute(tx)
    return recovered
  })

/** What has waited long enough is queued again. */
export const wakeDeferred = (tx: Tx, limit: number) =>
  countAffected(
    tx,
    sql`
      update emails set state = 'queued', due_at = null, updated_at = now()
      where (project_id, id) in (
        select project_id, id from emails where state = 'deferred' and due_at <= now() order by due_at limit ${limit} for update skip locked)
    `,
  )

/**
 * Lets go of everything this process has but what it knows it has. A claim whose answer was lost leaves mails with a process that
 * has never heard of them. Whatever it still does with what it let go, the mark will not be given.
 */
export const releaseUnheld = (tx: Tx, worker: number, holding: string[]) =>
  sql`
    update emails set ${ABANDONED}
    where state = 'sending' and worker = ${worker} and not (id = any(${holding}::uuid[]))
  `.execute(tx)
