import { sql } from 'kysely'
import { many, type Pool, prepared, type Tx, transact } from '../db/index.ts'
import { isGone } from '../db/presence.ts'

/** What a worker has taken: it sends it, or says why not, or dies and someone else does. */
export type Taken = {
  projectId: string
  id: string
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

const TRANSACTIONAL = 0
const BULK = 1
/** Streams looked at per claim. More are reached by the next one, which starts behind the last. */
const MAX_STREAMS = 64
/** What was with a process twice when it died is taken alone from then on, so that it takes nobody with it. */
const SUSPICIOUS = 2
const LEASE = sql`interval '15 s'`

/**
 * Takes up to `limit` mails, transactional ones first, fairly: from every stream that waits the same share, starting behind where
 * the last claim ended. However long one queue is, nobody stands behind it.
 */
export function createClaim(db: Pool, worker: number) {
  const from: Record<number, string> = { [TRANSACTIONAL]: LOWEST, [BULK]: LOWEST }

  async function claimLane(lane: number, limit: number): Promise<Taken[]> {
    if (limit < 1) return []
    const taken = await transact(db, async (tx) => {
      // Lost by a crash of the database, the claim has not happened: the mark before the hand-over is what counts.
      await sql`set local synchronous_commit = off`.execute(tx)
      return many(tx, claimStatement({ lane, limit, worker, from: from[lane]! }))
    })
    from[lane] = taken.reduce((last, { projectId }) => (projectId > last ? projectId : last), LOWEST)
    if (taken.length < limit) from[lane] = LOWEST
    return taken
  }

  return async (limit: number, { bulk }: { bulk: number }) => {
    const first = await claimLane(TRANSACTIONAL, limit)
    return [...first, ...(await claimLane(BULK, Math.min(bulk, limit - first.length)))]
  }
}

const LOWEST = '00000000-0000-0000-0000-000000000000'

const claimStatement = ({
  lane,
  limit,
  worker,
  from,
}: {
  lane: number
  limit: number
  worker: number
  from: string
}) => sql<Taken>`${prepared}
  with recursive streams as (
    (select project_id, stream_id from emails
      where state = 'queued' and lane = ${lane}::smallint and project_id > ${from}
      order by lane, project_id, stream_id limit 1)
    union all
    select next.project_id, next.stream_id
    from streams s cross join lateral (
      select project_id, stream_id from emails
      where state = 'queued' and lane = ${lane}::smallint and (project_id, stream_id) > (s.project_id, s.stream_id)
      order by lane, project_id, stream_id limit 1
    ) as next
  ), waiting as materialized (
    select project_id, stream_id, count(*) over () as streams from (select * from streams limit ${MAX_STREAMS}) as nearest
  ), chosen as materialized (
    select mine.project_id, mine.id
    from waiting w cross join lateral (
      select project_id, id from emails
      where state = 'queued' and lane = ${lane}::smallint and project_id = w.project_id and stream_id = w.stream_id
      order by lane, project_id, stream_id, id limit ceil(${limit}::numeric / w.streams)
      for update skip locked
    ) as mine
    limit ${limit}
  )
  update emails e set state = 'sending', worker = ${worker}, attempts = attempts + 1, handed_over_at = null, updated_at = now()
  from chosen where e.project_id = chosen.project_id and e.id = chosen.id
  returning e.project_id as "projectId", e.id, e.content_id as "contentId", e.contact_id as "contactId", e.to_address as "toAddress",
    e.to_name as "toName", e.vars, e.source_type as "sourceType", e.campaign_id as "campaignId",
    e.workflow_execution_id as "workflowExecutionId", e.message_id as "messageId", e.attempts, e.failures, e.crashes,
    e.first_failed_at as "firstFailedAt", e.created_at as "createdAt"
`

/** Says that this process lives. Without it, and without its lock, its mails go to others. */
export const renewLease = (tx: Tx, worker: number) =>
  sql`
    insert into senders (worker, lease_until) values (${worker}, now() + ${LEASE})
    on conflict (worker) do update set lease_until = excluded.lease_until
  `.execute(tx)

/**
 * Takes back what the dead had: what they had not handed over is queued again, what they may have handed over is `unknown`.
 * Returns the ids of those whose fate is unknown.
 */
export const recover = (db: Pool, worker: number) =>
  transact(db, async (tx) => {
    const dead = await many(
      tx,
      sql<{ worker: number }>`
        select worker from senders
        where worker <> ${worker} and (lease_until < now() or ${isGone(sql<number>`worker`)})
        for update skip locked
      `,
    )
    if (!dead.length) return 0
    const workers = dead.map((row) => row.worker)
    const { numAffectedRows = 0n } = await sql`
      update emails set
        state = case when handed_over_at is null then 'queued' else 'unknown' end,
        unknown_since = case when handed_over_at is null then unknown_since else now() end,
        crashes = crashes + case when handed_over_at is null then 1 else 0 end,
        worker = null, updated_at = now()
      where state = 'sending' and worker = any(${workers}::int[])
    `.execute(tx)
    await sql`delete from senders where worker = any(${workers}::int[])`.execute(tx)
    return Number(numAffectedRows)
  })

/** What has waited long enough is queued again. */
export async function wakeDeferred(tx: Tx, limit: number) {
  const { numAffectedRows = 0n } = await sql`
    update emails set state = 'queued', due_at = null, updated_at = now()
    where (project_id, id) in (
      select project_id, id from emails where state = 'deferred' and due_at <= now() order by due_at limit ${limit} for update skip locked)
  `.execute(tx)
  return Number(numAffectedRows)
}

/** Gives back what was taken and not handed over: by a process that stops, or that takes a suspicious one alone. */
export async function giveBack(tx: Tx, worker: number, mails: Pick<Taken, 'projectId' | 'id' | 'attempts'>[]) {
  if (!mails.length) return
  await sql`
    update emails e set state = 'queued', worker = null, attempts = e.attempts - 1, updated_at = now()
    from jsonb_to_recordset(${JSON.stringify(mails)}::jsonb) as m("projectId" uuid, id uuid, attempts int)
    where e.project_id = m."projectId" and e.id = m.id and e.state = 'sending' and e.worker = ${worker} and e.attempts = m.attempts
      and e.handed_over_at is null
  `.execute(tx)
}

export const isSuspicious = ({ crashes }: Pick<Taken, 'crashes'>) => crashes >= SUSPICIOUS
