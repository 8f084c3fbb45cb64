import { type RawBuilder, sql } from 'kysely'
import { countAffected, type Db, many, type Tx } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { lock, tryLock } from '../ledger/locks.ts'

/** What caps and billing count: emails that were accepted and not skipped, by the hour in which they were accepted. */
export const USAGE_CATEGORIES = ['workflows', 'campaigns', 'transactional', 'inbound'] as const
export type UsageCategory = (typeof USAGE_CATEGORIES)[number]

/** What the reputation counts: emails that were sent, or refused by the receiver, by the hour in which that happened. */
export const REPUTATION_KINDS = ['attempted', 'bounced', 'complained'] as const
export type CountKind = UsageCategory | (typeof REPUTATION_KINDS)[number]

/** A change of the counts of one hour. */
export type EmailCount = { projectId: string; kind: CountKind; hour: Date; n: number }

/** The value of `emails.metered` for an email that is accepted now: emails of the sandbox are in no counts. */
export const METERED = sql`(select true from instance where transport <> 'sandbox')`

export const hourSql = (time: RawBuilder<unknown>) => sql`date_trunc('hour', ${time}, 'UTC')`

/** The category of an email by its source, as SQL. */
export const categorySql = (sourceType: RawBuilder<unknown>) => sql`case ${sourceType} when 'WORKFLOW' then 'workflows'
  when 'CAMPAIGN' then 'campaigns' when 'TRANSACTIONAL' then 'transactional' when 'INBOUND' then 'inbound' end`

/** Entries of `email_ledger`, all or the given ones, as changes of counts: rows of (project_id, kind, hour, n). */
export const countsOfSql = (entries: RawBuilder<unknown> = sql`email_ledger`) => sql`(
  select project_id, hour, case kind when 'skipped' then -n else n end as n, case when kind in ('accepted', 'skipped')
    then ${categorySql(sql`source`)} when kind = 'sent' then 'attempted' else kind end as kind
  from ${entries} as entries where hour is not null)`

/** For adding up: false if another worker does it. */
export const tryLockEmailCounts = (tx: Tx) => tryLock(tx, 'fold', 'email_ledger')

/** Nothing is added up meanwhile. */
export const lockEmailCounts = (tx: Tx) => lock(tx, 'fold', 'email_ledger')

/** Adds the changes to sums of its own, in the transaction that takes them out of the ledger. */
export type CountListener = (tx: Tx, changes: EmailCount[]) => Promise<unknown>

/** Adds entries of `email_ledger` to the counts. The caller holds the lock. */
export const createCountsFold = (listeners: CountListener[]) =>
  async function addToCounts(tx: Tx, entries: RawBuilder<unknown>) {
    const changes = await many<EmailCount>(tx)`
      with summed as materialized (
        select project_id, kind, hour, sum(n) as n from ${countsOfSql(entries)} as changes group by 1, 2, 3 having sum(n) <> 0
      ), added as (
        insert into email_counts as c (project_id, kind, hour, count)
        select project_id, kind, hour, n from summed order by 1, 2, 3
        on conflict (project_id, kind, hour) do update set count = c.count + excluded.count
      )
      select project_id as "projectId", kind, hour, n::float8 as n from summed
    `
    if (!changes.length) return
    await addToPeriods(tx, changes)
    for (const listen of listeners) await listen(tx, changes)
  }

/** The start of the current period of a project `p`, to the hour: that of its subscription, else the calendar month in UTC. */
export const PERIOD_START = hourSql(sql`case when p.period_end is null then date_trunc('month', now(), 'UTC')
  when now() >= p.period_end then p.period_end else p.period_start end`)

/** A period that has just begun is summed up from its hours. */
async function addToPeriods(tx: Tx, changes: EmailCount[]) {
  const usage = changes.filter(({ kind }) => isUsage(kind))
  if (!usage.length) return
  await sql`
    with changed as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(usage)}::jsonb) as c("projectId" uuid, kind text, hour timestamptz, n bigint)
    ), touched as (
      select distinct c."projectId" as project_id, c.kind, ${PERIOD_START} as start from changed c join projects p on p.id = c."projectId"
    )
    insert into usage_periods as u (project_id, category, period_start, used)
    select t.project_id, t.kind, t.start, case when old.period_start = t.start
        then old.used + (select coalesce(sum(c.n), 0) from changed c where c."projectId" = t.project_id and c.kind = t.kind and c.hour >= t.start)
        else (select coalesce(sum(c.count), 0) from email_counts c where c.project_id = t.project_id and c.kind = t.kind and c.hour >= t.start) end
    from touched t left join usage_periods old on old.project_id = t.project_id and old.category = t.kind
    order by 1, 2
    on conflict (project_id, category) do update set used = excluded.used, period_start = excluded.period_start,
      warned = case when u.period_start = excluded.period_start then u.warned else 0 end
  `.execute(tx)
}

export const isUsage = (kind: string): kind is UsageCategory => (USAGE_CATEGORIES as readonly string[]).includes(kind)

/** Counts of a project, with what is not added up yet, read in one snapshot. */
export const allEmailCounts = (projectId: string, which: RawBuilder<unknown>) => sql`(
  select kind, hour, count as n from email_counts where project_id = ${projectId} and ${which}
  union all
  select kind, hour, n from ${countsOfSql()} as changes where project_id = ${projectId} and ${which}
) as counted`

/** Counts of one hour. */
type HourlyCount = { kind: CountKind; hour: Date; n: number }

/** What the counts are, by the hour. Without hours whose changes add up to nothing. */
export const readEmailCounts = (db: Db, projectId: string, since: Date) =>
  many<HourlyCount>(db)`
    select kind, hour, sum(n)::float8 as n from ${allEmailCounts(projectId, sql`hour >= ${since}`)}
    group by 1, 2 having sum(n) <> 0 order by 1, 2
  `

/** What the counts should be, by the emails of the project. Reads all of them since then. */
export const recountEmails = (db: Db, projectId: string, since: Date) =>
  many<HourlyCount>(db)`
    select kind, hour, count(*)::float8 as n from (
      select ${categorySql(sql`e.source_type`)} as kind, ${hourSql(sql`e.created_at`)} as hour
      from emails e where e.project_id = ${projectId} and e.metered and e.state not in ('skipped', 'cancelled')
      union all
      select k.kind, ${hourSql(SENT_OR_REFUSED)}
      from emails e cross join lateral (values
        ('attempted', e.sent_at is not null or e.bounced_at is not null),
        ('bounced', e.bounced_at is not null),
        ('complained', e.complained_at is not null)) as k(kind, happened)
      where e.project_id = ${projectId} and e.metered and e.source_type <> 'INBOUND' and k.happened
    ) as facts
    where hour >= ${since} group by 1, 2 order by 1, 2
  `

/** The time at which an email `e` counts for the reputation: a bounce counts for the hour in which its email was sent. */
export const SENT_OR_REFUSED = sql`coalesce(e.sent_at, e.bounced_at, e.complained_at)`

/** Counts are kept for more than the longest period of a subscription. */
export const dropOldEmailCounts = (tx: Tx, limit: number) =>
  countAffected(tx)`
    delete from email_counts where ctid = any(array(
      select ctid from email_counts where hour < now() - interval '400 days' limit ${limit}))
  `

const OF_DELETED = sql`exists (select from projects p where p.id = t.project_id and p.deleted_at is not null)`

/** A reset keeps the counts: otherwise it would lift a cap. */
export const wipeEmailCounts = async (tx: Tx, scope: WipeScope) =>
  (await wipeRows(tx, 'email_counts', scope, { key: ['kind', 'hour'], which: OF_DELETED })) +
  (await wipeRows(tx, 'usage_periods', scope, { key: ['category'], which: OF_DELETED }))
