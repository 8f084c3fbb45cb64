import { type RawBuilder, sql } from 'kysely'
import { many, type Tx } from '../db/index.ts'
import { IS_COUNTED } from '../delivery/outbox/email-ledger.ts'
import { lock, tryLockSql } from '../ledger/locks.ts'
import { addToRollupsCte, FACT_COLUMNS, factTimeSql } from './rollup.ts'

/** Time to wait for the lock: more than a fold takes, less than a recount. */
const WAIT_MS = 2_000

/** Held by whatever changes the roll-ups of a project: a fold, or a recount for as long as it takes. Fails if it cannot be had. */
export async function lockRollups(tx: Tx, projectId: string) {
  await sql`set local lock_timeout = ${sql.lit(WAIT_MS)}`.execute(tx)
  await lock(tx, 'roll-ups', projectId)
}

/**
 * Adds entries of the email ledger to the roll-ups. Returns the projects that it left out: those whose roll-ups are locked, and those that are
 * being wiped, since no row may be added to their roll-ups meanwhile.
 */
export async function addToRollups(tx: Tx, entries: RawBuilder<unknown>): Promise<string[]> {
  const projects = await many(
    tx,
    sql<{ id: string; free: boolean }>`
      select project_id as id, not exists (select from project_wipes w where w.project_id = p.project_id)
        and ${tryLockSql('roll-ups', sql`project_id::text`)} as free
      from (select distinct project_id from ${entries} as e where email_ids is not null) as p
    `,
  )
  const free = projects.filter((project) => project.free).map(({ id }) => id)
  if (free.length) await addFacts(tx, sql`select project_id, kind, email_ids from ${entries} as e where project_id = any(${free}::uuid[])`)
  return projects.filter((project) => !project.free).map(({ id }) => id)
}

const addFacts = (tx: Tx, taken: RawBuilder<unknown>) =>
  sql`
    with facts as materialized (
      select ${FACT_COLUMNS}
      from (select project_id, kind, unnest(email_ids) as email_id from (${taken}) as taken) as t
      -- One by one, and by the project of the row: of a constant project that is newer than the statistics, the planner would expect one
      -- email and read all of them for each fact.
      cross join lateral (select * from emails where project_id = t.project_id and id = t.email_id offset 0) as e
      cross join lateral (select template_id from contents where project_id = t.project_id and id = e.content_id offset 0) as c
      left join lateral (
        select * from email_hits where t.kind in ('machineOpened', 'machineClicked') and project_id = t.project_id and email_id = e.id offset 0
      ) as h on true
      cross join lateral (select t.kind, ${factTimeSql(sql`t.kind`)} as at) as f
      where ${IS_COUNTED} and f.at is not null
    ), ${addToRollupsCte(sql`facts`)}
    select
  `.execute(tx)
