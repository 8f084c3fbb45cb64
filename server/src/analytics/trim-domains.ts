import { sql } from 'kysely'
import { many, maybeScalar, type Pool, type Tx, transact } from '../db/index.ts'
import { tryLock } from '../ledger/locks.ts'
import { repairLockOf } from '../ledger/repair.ts'
import { NIL_ID } from '../lib/id.ts'
import { lockEmailCounts } from '../projects/email-counts.ts'
import { rollupSums } from './recount.ts'
import { ROLLUPS } from './rollup.ts'

/** Domains of a day that are kept apart once the day is over; the others are one row. */
const LISTED_DOMAINS = 100
/** Days for which late facts of new domains still get rows of their own. */
const OPEN_DAYS = 2
/** A day with more domains is trimmed at once, so that no day is slow to read. */
const MAX_OPEN_DOMAINS = 10_000
const KEPT_OPEN_DOMAINS = 1_000
/** Days looked at: the trimming may have been off for a while. */
const LOOK_BACK_DAYS = 30
const MAX_PROJECTS = 100_000

type Trim = { projectId: string; day: string; keep: number }

/** Adds the small domains of days with too many domains up to one row. */
export async function trimDomains(db: Pool) {
  let after = NIL_ID
  for (let seen = 0; seen < MAX_PROJECTS; seen++) {
    const next = await maybeScalar<string>(db)`
      select project_id from email_domain_days where project_id > ${after} order by project_id limit 1
    `
    if (!next) return
    for (const trim of await listTrims(db, next)) await transact(db, (tx) => trimDay(tx, trim))
    after = next
  }
}

const listTrims = (db: Pool, projectId: string) =>
  many<Trim>(db)`
    select project_id as "projectId", day::text as day, keep from (
      select project_id, day, count(*) as domains,
        case when day < (now() at time zone 'utc')::date - ${OPEN_DAYS}::int then ${LISTED_DOMAINS}::int else ${KEPT_OPEN_DOMAINS}::int end as keep,
        case when day < (now() at time zone 'utc')::date - ${OPEN_DAYS}::int then ${LISTED_DOMAINS}::int else ${MAX_OPEN_DOMAINS}::int end as allowed
      from email_domain_days
      where project_id = ${projectId} and day >= (now() at time zone 'utc')::date - ${LOOK_BACK_DAYS}::int and domain <> ''
      group by 1, 2
    ) as days where domains > allowed
  `

/** Keeps the domains with the most emails. Meanwhile nothing is added. A later run trims the domains of a project that is being recounted. */
async function trimDay(tx: Tx, { projectId, day, keep }: Trim) {
  if (!(await tryLock(tx, 'repair', repairLockOf(rollupSums.name, projectId)))) return
  await lockEmailCounts(tx)
  const columns = ROLLUPS.email_domain_days.values.map((column) => sql.ref(column))
  await sql`
    with small as (
      delete from email_domain_days where project_id = ${projectId} and day = ${day}::date and domain in (
        select domain from email_domain_days where project_id = ${projectId} and day = ${day}::date and domain <> ''
        order by sent desc, delivered desc, domain offset ${keep})
      returning *
    )
    insert into email_domain_days as r (project_id, day, domain, ${sql.join(columns)})
    select ${projectId}, ${day}::date, '', ${sql.join(columns.map((column) => sql`sum(${column})`))} from small having count(*) > 0
    on conflict (project_id, day, domain) do update set ${sql.join(columns.map((column) => sql`${column} = r.${column} + excluded.${column}`))}
  `.execute(tx)
}
