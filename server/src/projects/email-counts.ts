import { type RawBuilder, sql } from 'kysely'
import { many, type Tx } from '../db/index.ts'
import { recordset } from '../db/rows.ts'
import { dropRows } from '../db/wipe-rows.ts'
import { lock, tryLock } from '../ledger/locks.ts'

/** Emails that caps and billing count, by their source: those that were accepted and not skipped, by the hour in which they were accepted. */
const SOURCES = { workflows: 'WORKFLOW', campaigns: 'CAMPAIGN', transactional: 'TRANSACTIONAL', inbound: 'INBOUND' } as const
export type UsageCategory = keyof typeof SOURCES
export const USAGE_CATEGORIES = Object.keys(SOURCES) as UsageCategory[]

/** Kinds that the reputation counts: emails that were sent, or refused by the receiver, by the hour in which that happened. */
export const REPUTATION_KINDS = ['attempted', 'bounced', 'complained'] as const
export type CountKind = UsageCategory | (typeof REPUTATION_KINDS)[number]

/** A change of the counts of one hour. */
export type EmailCount = { projectId: string; kind: CountKind; hour: Date; n: number }

/** The value of `emails.metered` for an email that is accepted now: emails of the sandbox are in no counts. */
export const METERED = sql`(select true from instance where transport <> 'sandbox')`

export const hourSql = (time: RawBuilder<unknown>) => sql`date_trunc('hour', ${time}, 'UTC')`

const caseSql = (value: RawBuilder<unknown>, pairs: (readonly [string, string])[]) =>
  sql`case ${value} ${sql.join(
    pairs.map(([from, to]) => sql`when ${sql.lit(from)} then ${sql.lit(to)}`),
    sql` `,
  )} end`

/** The category of an email by its source, and the source of a category; null for anything else. */
export const categorySql = (source: RawBuilder<unknown>) =>
  caseSql(
    source,
    Object.entries(SOURCES).map(([category, source]) => [source, category]),
  )
export const sourceSql = (category: RawBuilder<unknown>) => caseSql(category, Object.entries(SOURCES))

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

/** Changes as rows: a derived table named `c`. */
export const changesSql = (changes: EmailCount[]) =>
  sql`${recordset('email_counts', changes, ['projectId', 'kind', 'hour'], { n: 'bigint' })} as c`

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
      select * from ${changesSql(usage)}
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

// Recounting -----------------------------------------------------------------------------------------------------------

/** Emails read by one statement. */
const PAGE = 10_000

/** A page of the emails of a project: those that follow an id. */
export const emailPage = ({ projectId, after }: { projectId: string; after: string }, columns = sql`*`) =>
  sql`select ${columns} from emails where project_id = ${projectId} and id > ${after} order by id limit ${PAGE}`

export const lastOfEmailPage = (page: { projectId: string; after: string }) =>
  sql<{ id: string }>`select id from (${emailPage(page, sql`id`)}) as page order by id desc limit 1`

/** Emails are removed by their age. Older emails can no longer be counted, and stay as they were counted. */
export const noteEmailsRemoved = (tx: Tx, projectId: string) =>
  sql`update projects set emails_removed_at = now() where id = ${projectId}`.execute(tx)

/** The first UTC day of which all emails are there. Not the day after the removal: clocks of others may be ahead. */
export const countableSince = (projectId: string) =>
  sql`(select coalesce((emails_removed_at at time zone 'utc')::date + 2, '-infinity') from projects where id = ${projectId})`

/** Counts of emails, given as a select: rows of (kind, hour, count). */
export const countsOfEmailsSql = (emails: RawBuilder<unknown>) => sql`
  select k.kind, ${hourSql(sql`k.at`)} as hour, count(*) as count
  from (${emails}) as e cross join lateral (values
    (${categorySql(sql`e.source_type`)}, e.created_at, e.state not in ('skipped', 'cancelled')),
    ('attempted', ${SENT_OR_REFUSED}, e.source_type <> 'INBOUND' and (e.sent_at is not null or e.bounced_at is not null)),
    ('bounced', ${SENT_OR_REFUSED}, e.source_type <> 'INBOUND' and e.bounced_at is not null),
    ('complained', ${SENT_OR_REFUSED}, e.source_type <> 'INBOUND' and e.complained_at is not null)) as k(kind, at, happened)
  where e.metered and k.happened group by 1, 2`

/** The time at which an email `e` counts for the reputation: a bounce counts for the hour in which its email was sent. */
export const SENT_OR_REFUSED = sql`coalesce(e.sent_at, e.bounced_at, e.complained_at)`

/** Counts are kept for more than the longest period of a subscription. */
export const dropOldEmailCounts = (tx: Tx, limit: number) => dropRows(tx, 'email_counts', sql`hour < now() - interval '400 days'`, limit)
