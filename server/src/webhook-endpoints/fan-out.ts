import { sql } from 'kysely'
import { many, type Pool, scalar, type Tx, transact } from '../db/index.ts'
import { prepared } from '../db/prepared.ts'
import { inTurnSql } from '../ledger/owner-sql.ts'
import { type LoopDeps, startProjectLoop } from '../ledger/project-loop.ts'
import { skipScanCte } from '../ledger/skip-scan.ts'
import { crash } from '../lib/crash-point.ts'
import type { WaitingWork } from '../lib/fair/work-slots.ts'
import { selectorsOfSql, takeFactsSql } from '../webhooks/facts.ts'

type Deps = LoopDeps & { db: Pool; onFannedOut: () => void; pollMs?: number | undefined }

/** Projects that one process works on at a time, besides one of an owner that has none of them. */
const LANES = 2
const POLL_MS = 250
/** Rows of the outbox that are taken at once; each has the facts of one statement. */
const MAX_ROWS = 100
/** Messages of one batch: so many requests are made, and settled, for the cost of a few statements. */
const MAX_IN_BATCH = 500
/** After a batch that was not full, a project rests: facts that follow each other closely are taken together. */
const REST_MS = 240

/** Queues what happened for each endpoint that listens. Any number of processes may run it. */
export function startFanOut({ db, log, isHeld, onFannedOut, pollMs = POLL_MS, isDue }: Deps) {
  return startProjectLoop({
    name: 'fan out webhooks',
    log,
    isHeld,
    pollMs,
    isDue,
    slots: LANES,
    find: (except) => findProjects(db, except),
    async work({ projectId }) {
      const taken = await transact(db, (tx) => fanOut(tx, projectId))
      if (taken) onFannedOut()
      return taken === MAX_ROWS ? 'more' : { restMs: REST_MS }
    },
  })
}

const findProjects = (db: Pool, except: string[]) =>
  many(
    db,
    prepared<WaitingWork>`
  with recursive ${skipScanCte('waiting', {
    table: 'webhook_outbox',
    by: ['project_id'],
    columns: [sql`created_at as due_at`],
    order: ['project_id', 'id'],
    where: sql`true`,
  })}
  select project_id as "projectId", project_id as key, owner
  from (${inTurnSql(sql`select * from waiting where project_id <> all(${except}::uuid[])`)}) as found`,
  )

/** Returns the number of rows taken. */
async function fanOut(tx: Tx, projectId: string) {
  const taken = await scalar<number>(
    tx,
    prepared`
    with taken as (${takeFactsSql(projectId, MAX_ROWS)}
    ), facts as (
      select type, message_id, (row_number() over (partition by type order by message_id) - 1) / ${MAX_IN_BATCH}::int as part
      from taken cross join unnest(message_ids) as message_id
    ), batches as materialized (
      select type, array_agg(message_id order by message_id) as message_ids from facts group by type, part
    ), queued as (
      insert into webhook_batches (project_id, endpoint_id, id, type, message_ids)
      select e.project_id, e.id, b.message_ids[cardinality(b.message_ids)], b.type, b.message_ids
      from batches b join webhook_endpoints e on e.project_id = ${projectId} and e.enabled and e.events && ${selectorsOfSql(sql`b.type`)}
    )
    select count(*)::int from taken`,
  )
  crash('webhooks-fanned-out')
  return taken
}
