import { sql } from 'kysely'
import { many, maybeOne, one, type Pool, type Tx, transact } from '../db/index.ts'
import { isLockTimeout } from '../db/sql-state.ts'
import { IS_COUNTED } from '../delivery/outbox/email-ledger.ts'
import { NIL_ID } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import { lockRollups } from './fold.ts'
import { addToRollupsCte, columnList, FACT_COLUMNS, factTimeSql, METRICS, ROLLUPS, type Rollup } from './rollup.ts'

/** Emails read by one statement. */
const PAGE = 10_000
/** Time to replace the rows. */
const REPLACE_MS = 14_000
/** Facts that happen this long after the creation of an email are few. */
const LATE_DAYS = 30

export type RecountOutcome = {
  /** Rows of each roll-up that were wrong, missing or too many. */
  wrong: { hours: number; days: number; domains: number }
}

/**
 * Counts the roll-ups of a project anew, from its emails. Undefined if another process changes them now.
 *
 * The lock keeps facts from being added for as long as it takes: in each page, a fact counts unless it still waits in `email_ledger`, so the
 * pages together are what was added before. The new rows are collected under another id and take the place of the old ones in one
 * transaction. The lock belongs to a transaction without a snapshot, which holds up nothing else, and dies with the process.
 */
export async function recountRollups(db: Pool, projectId: string): Promise<RecountOutcome | undefined> {
  return transact(db, async (tx) => {
    await lockRollups(tx, projectId)
    if (await isBeingWiped(tx, projectId)) return undefined
    const collected = collectedUnder(projectId)
    await transact(db, (other) => deleteRows(other, collected))
    for (let after: string | undefined = NIL_ID; after; ) {
      const from: string = after
      after = await transact(db, (other) => countPage(other, { projectId, collected, after: from }))
      // The transaction with the lock must not seem idle.
      await sql`select 1`.execute(tx)
    }
    const wrong = await replaceRows(tx, { projectId, collected })
    await sql`
      insert into rollup_recounts (project_id) values (${projectId})
      on conflict (project_id) do update set recounted_at = now()
    `.execute(tx)
    return { wrong }
  }).catch((err) => {
    if (!isLockTimeout(err)) throw err
    return undefined
  })
}

/** The id under which the new rows of a project are collected: that of the project with a version that no id has. */
export const collectedUnder = (projectId: string) => `${projectId.slice(0, 14)}9${projectId.slice(15)}`

const isBeingWiped = (tx: Tx, projectId: string) => maybeOne(tx, sql`select 1 from project_wipes where project_id = ${projectId}`)

/** All rows of a recount that did not end. */
async function deleteRows(tx: Tx, collected: string) {
  for (const { table } of Object.values(ROLLUPS)) await sql`delete from ${sql.table(table)} where project_id = ${collected}`.execute(tx)
}

type Page = { projectId: string; collected: string; after: string }

/** Returns the last email of the page; undefined after the last page. */
async function countPage(tx: Tx, { projectId, collected, after }: Page): Promise<string | undefined> {
  const { last } = await one(
    tx,
    sql<{ last: string | null }>`
      with page as materialized (
        select * from emails where project_id = ${projectId} and id > ${after} order by id limit ${PAGE}
      ), waiting as materialized (
        select kind, unnest(email_ids) as email_id from email_ledger where project_id = ${projectId} and email_ids is not null
      ), facts as materialized (
        select ${FACT_COLUMNS}
        from page e
        join contents c on c.project_id = e.project_id and c.id = e.content_id
        left join email_hits h on h.project_id = e.project_id and h.email_id = e.id
        cross join unnest(${METRICS}::text[]) as k(kind)
        cross join lateral (select k.kind, ${factTimeSql(sql`k.kind`)} as at) as f
        where ${IS_COUNTED} and f.at is not null
          and not exists (select from waiting w where w.kind = f.kind and w.email_id = e.id)
      ), ${addToRollupsCte(sql`facts`, sql`${collected}::uuid`)}
      select case when count(*) = ${PAGE} then (array_agg(id order by id desc))[1] end as last from page
    `,
  )
  return last ?? undefined
}

/**
 * Puts the collected rows in place. Rows from before the first email are those of emails deleted by their age; then the first days after it may
 * have facts of such emails too, and are left as they are.
 */
async function replaceRows(tx: Tx, { projectId, collected }: Omit<Page, 'after'>) {
  await sql`set local statement_timeout = ${sql.lit(REPLACE_MS)}`.execute(tx)
  const { since } = await one(
    tx,
    sql<{ since: string | null }>`
      with first as (select created_at from emails where project_id = ${projectId} order by id limit 1)
      select case when exists (select from email_days where project_id = ${projectId} and day < (first.created_at at time zone 'utc')::date)
        then ((first.created_at at time zone 'utc')::date + ${LATE_DAYS}::int)::text end as since
      from (select) as one_row left join first on true
    `,
  )
  const fromDay = since ?? '0001-01-01'
  // A day keeps its list of domains, also if none of the others has a fact.
  await sql`
    insert into email_domain_days (project_id, day, domain)
    select ${collected}, day, '' from email_domain_days where project_id = ${projectId} and domain = '' on conflict do nothing
  `.execute(tx)
  return {
    hours: await replaceTable(tx, ROLLUPS.hours, { projectId, collected, fromDay }),
    days: await replaceTable(tx, ROLLUPS.days, { projectId, collected, fromDay }),
    domains: await replaceTable(tx, ROLLUPS.domains, { projectId, collected, fromDay }),
  }
}

type Replacement = { projectId: string; collected: string; fromDay: string }

/** Returns the number of rows that were wrong, missing or too many. */
async function replaceTable(tx: Tx, { table, key, columns }: Rollup, { projectId, collected, fromDay }: Replacement): Promise<number> {
  const name = sql.table(table)
  const isKept = sql`${sql.ref(key[0]!)} < ${key[0] === 'hour' ? sql`(${fromDay}::timestamp at time zone 'utc')` : sql`${fromDay}::date`}`
  const rows = (id: string) => sql`select ${columnList([...key, ...columns])} from ${name} where project_id = ${id} and not ${isKept}`
  const { wrong } = await one(
    tx,
    sql<{ wrong: number }>`
      select count(*)::int as wrong from (
        select distinct ${columnList(key)} from (
          ((${rows(projectId)}) except (${rows(collected)})) union all ((${rows(collected)}) except (${rows(projectId)}))
        ) as different
      ) as keys
    `,
  )
  await sql`delete from ${name} where project_id = ${collected} and ${isKept}`.execute(tx)
  await sql`delete from ${name} where project_id = ${projectId} and not ${isKept}`.execute(tx)
  await sql`update ${name} set project_id = ${projectId} where project_id = ${collected}`.execute(tx)
  return wrong
}

/** A project is counted anew once after its roll-ups came into being, and then this often. */
const RECOUNT_DAYS = 7
/** Projects of one run. */
const MAX_RECOUNTS = 200
/** Time of one run. */
const RECOUNTS_MS = 60_000

/**
 * Counts projects anew that were not for a week. That fills the roll-ups with what happened before they existed, and with what nodes of an
 * older version did during a deploy; later it finds mistakes.
 */
export async function recountDueProjects(db: Pool, log: Log) {
  const due = await many(
    db,
    sql<{ id: string }>`
      select p.id from projects p left join rollup_recounts r on r.project_id = p.id
      where p.deleted_at is null and (r.recounted_at is null or r.recounted_at < now() - make_interval(days => ${RECOUNT_DAYS}))
      order by r.recounted_at nulls first limit ${MAX_RECOUNTS}
    `,
  )
  const deadline = performance.now() + RECOUNTS_MS
  for (const { id } of due) {
    if (performance.now() > deadline) return
    const isFirst = !(await maybeOne(db, sql`select 1 from rollup_recounts where project_id = ${id}`))
    const outcome = await recountRollups(db, id)
    const isWrong = outcome && Object.values(outcome.wrong).some((rows) => rows > 0)
    if (isWrong && !isFirst) log.warn({ projectId: id, ...outcome }, 'roll-ups of a project were wrong and are corrected')
  }
}
