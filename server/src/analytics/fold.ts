import { sql } from 'kysely'
import { many, one, type Pool, type Tx, transact } from '../db/index.ts'
import { IS_COUNTED, takeFactsSql } from '../delivery/outbox/facts.ts'
import { tryLock } from '../ledger/locks.ts'
import { every, type Recurring } from '../lib/concurrency/every.ts'
import { crash } from '../lib/crash-point.ts'
import { NIL_ID } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { addToRollupsCte, FACT_COLUMNS, factTimeSql } from './rollup.ts'

/** Roll-ups are this far behind, plus the time of one run. */
const FOLD_MS = 2_000
/** Rows of `email_facts` in one transaction. Each has up to 500 emails: more would exceed the time limit of a statement on a busy machine. */
const ROWS = 20
/** Projects of one run; the next one takes the rest. */
const MAX_PROJECTS = 500
/** Transactions for one project before it is the next one's turn. */
const MAX_ROUNDS = 60

/** Adds new facts to the roll-ups, in every worker; the lock of a project decides which one does it. */
export const startRollups = ({ db, log, isHeld }: { db: Pool; log: Log; isHeld: () => boolean }): Recurring =>
  every(
    FOLD_MS,
    'add facts to roll-ups',
    async () => {
      if (isHeld()) await foldFacts(db)
    },
    log,
  )

export async function foldFacts(db: Pool) {
  for (const projectId of await listProjectsWithFacts(db)) await foldProject(db, projectId)
}

/** Adds all facts of a project, unless it is locked or being wiped. */
export async function foldProject(db: Pool, projectId: string) {
  for (let round = 0; round < MAX_ROUNDS; round++) if ((await transact(db, (tx) => foldSome(tx, projectId))) < ROWS) return
}

/** A skip scan: reads one row of each project, however many it has. */
async function listProjectsWithFacts(db: Pool): Promise<string[]> {
  const rows = await many(
    db,
    sql<{ projectId: string }>`
      with recursive waiting as (
        (select project_id from email_facts where project_id > ${NIL_ID} order by project_id limit 1)
        union all
        select next.project_id from waiting cross join lateral (
          select f.project_id from email_facts f where f.project_id > waiting.project_id order by f.project_id limit 1
        ) as next
      )
      select project_id as "projectId" from waiting limit ${MAX_PROJECTS}
    `,
  )
  return rows.map(({ projectId }) => projectId)
}

/** Held by whatever changes the roll-ups of a project: a fold, or a recount for as long as it takes. */
export const tryLockRollups = (tx: Tx, projectId: string) => tryLock(tx, 'roll-ups', projectId)

/**
 * Takes some facts and adds them, in one transaction: each counts exactly once. Returns the number of rows taken. Facts of a project that is
 * being wiped wait: no row may be added to its roll-ups meanwhile.
 */
async function foldSome(tx: Tx, projectId: string): Promise<number> {
  if (!(await tryLockRollups(tx, projectId))) return 0
  const { count } = await one(
    tx,
    sql<{ count: number }>`
      with taken as (${takeFactsSql(projectId, ROWS)}
      ), facts as materialized (
        select ${FACT_COLUMNS}
        from (select project_id, kind, unnest(email_ids) as email_id from taken) as t
        -- One by one, and by the project of the row: of a constant project that is newer than the statistics, the planner would expect one
        -- email and read all of them for each fact.
        cross join lateral (select * from emails where project_id = t.project_id and id = t.email_id offset 0) as e
        cross join lateral (select template_id from contents where project_id = t.project_id and id = e.content_id offset 0) as c
        left join lateral (
          select * from email_hits where t.kind in ('machineOpened', 'machineClicked') and project_id = t.project_id and email_id = e.id offset 0
        ) as h on true
        cross join lateral (select t.kind, ${factTimeSql(sql`t.kind`)} as at) as f
        where ${IS_COUNTED} and f.at is not null
      ), ${addToRollupsCte(sql`facts`, { projectId, rowsOf: projectId })}
      select count(*)::int as count from taken
    `,
  )
  crash('facts-added')
  return count
}
