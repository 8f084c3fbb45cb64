import { type RawBuilder, sql } from 'kysely'
import { toSnake } from '../db/columns.ts'
import { FACT_TIMES, type FactKind, IS_COUNTED } from '../delivery/outbox/outcomes/email-ledger.ts'
import { NIL_ID } from '../lib/id.ts'

type Sql = RawBuilder<unknown>

const METRICS = Object.keys(FACT_TIMES) as FactKind[]

/** Histogram of the time from acceptance to delivery: column and upper bound. */
export const DELIVERY_BUCKETS = [
  { column: 'within_1s', seconds: 1 },
  { column: 'within_2s', seconds: 2 },
  { column: 'within_5s', seconds: 5 },
  { column: 'within_10s', seconds: 10 },
  { column: 'within_30s', seconds: 30 },
  { column: 'within_1m', seconds: 60 },
  { column: 'within_5m', seconds: 300 },
  { column: 'within_15m', seconds: 900 },
  { column: 'within_1h', seconds: 3_600 },
  { column: 'within_6h', seconds: 21_600 },
  { column: 'later', seconds: null },
] as const

/** Columns that the roll-ups need of a fact `f` (kind, at) about an email `e` with its content `c`. */
const FACT_COLUMNS = sql`
  e.project_id, f.kind, f.at, e.source_type as source, coalesce(e.campaign_id, ${NIL_ID}) as campaign_id, coalesce(c.template_id, ${NIL_ID}) as template_id,
  coalesce(e.workflow_id, ${NIL_ID}) as workflow_id, lower(split_part(e.to_address, '@', 2)) as domain,
  case when f.kind = 'delivered' then extract(epoch from e.delivered_at - e.created_at) end as took`

/** The time of the fact of a kind, null if it has not happened. */
const factTimeSql = (kind: Sql) =>
  sql`case ${kind} ${sql.join(
    METRICS.map((each) => sql`when ${sql.lit(each)} then ${FACT_TIMES[each]}`),
    sql` `,
  )} end`

/** Facts of entries of the email ledger. */
export const factsOfEntriesSql = (entries: Sql) => sql`
  select ${FACT_COLUMNS}
  from (select project_id, kind, unnest(email_ids) as email_id from (${entries}) as entries) as t
  -- One by one, and by the project of the row: of a constant project that is newer than the statistics, the planner would expect one
  -- email and read all of them for each fact.
  cross join lateral (select * from emails where project_id = t.project_id and id = t.email_id offset 0) as e
  cross join lateral (select template_id from contents where project_id = t.project_id and id = e.content_id offset 0) as c
  left join lateral (
    select * from email_hits where t.kind in ('machineOpened', 'machineClicked') and project_id = t.project_id and email_id = e.id offset 0
  ) as h on true
  cross join lateral (select t.kind, ${factTimeSql(sql`t.kind`)} as at) as f
  where ${IS_COUNTED} and f.at is not null`

/** All facts of emails. */
export const factsOfEmailsSql = (emails: Sql) => sql`
  select ${FACT_COLUMNS}
  from (${emails}) as e
  join contents c on c.project_id = e.project_id and c.id = e.content_id
  left join email_hits h on h.project_id = e.project_id and h.email_id = e.id
  cross join unnest(${METRICS}::text[]) as k(kind)
  cross join lateral (select k.kind, ${factTimeSql(sql`k.kind`)} as at) as f
  where ${IS_COUNTED} and f.at is not null`

const METRIC_NAMES = METRICS.map(toSnake)
const METRIC_COUNTS = METRICS.map((kind) => sql`count(*) filter (where kind = ${sql.lit(kind)}) as ${sql.ref(toSnake(kind))}`)
const BUCKET_COUNTS = DELIVERY_BUCKETS.map(({ column, seconds }, index) => {
  const above = sql`took > ${sql.lit(DELIVERY_BUCKETS[index - 1]?.seconds ?? -1)}`
  return sql`count(*) filter (where ${above} ${seconds === null ? sql`` : sql`and took <= ${sql.lit(seconds)}`}) as ${sql.ref(column)}`
})
const DIMENSIONS = ['source', 'campaign_id', 'template_id', 'workflow_id']
const HOUR_VALUES = [...METRIC_NAMES, ...DELIVERY_BUCKETS.map(({ column }) => column)]

const byTimeSql = (time: Sql, facts: Sql) => sql`
  select project_id, ${time}, source, campaign_id, template_id, workflow_id, ${sql.join([...METRIC_COUNTS, ...BUCKET_COUNTS])}
  from (${facts}) as facts group by 1, 2, 3, 4, 5, 6`

/** A day with a row for the other domains counts no new domain apart. */
const byDomainSql = (facts: Sql) => sql`
  select project_id, day, case
      when not exists (select from email_domain_days o where o.project_id = b.project_id and o.day = b.day and o.domain = '') then domain
      when exists (select from email_domain_days o where o.project_id = b.project_id and o.day = b.day and o.domain = b.domain) then domain
      else '' end as domain, ${sql.join(METRIC_NAMES.map((column) => sql`sum(${sql.ref(column)}) as ${sql.ref(column)}`))}
  from (
    select project_id, (at at time zone 'utc')::date as day, domain, ${sql.join(METRIC_COUNTS)} from (${facts}) as facts group by 1, 2, 3
  ) as b group by 1, 2, 3`

/** The tables of roll-ups. The first column of a key is the time. `rowsOf`: what facts add, in rows of the project, the key and the values. */
export const ROLLUPS = {
  email_hours: {
    key: ['hour', ...DIMENSIONS],
    values: HOUR_VALUES,
    rowsOf: (facts: Sql) => byTimeSql(sql`date_trunc('hour', at, 'UTC') as hour`, facts),
  },
  email_days: {
    key: ['day', ...DIMENSIONS],
    values: HOUR_VALUES,
    rowsOf: (facts: Sql) => byTimeSql(sql`(at at time zone 'utc')::date as day`, facts),
  },
  email_domain_days: { key: ['day', 'domain'], values: METRIC_NAMES, rowsOf: byDomainSql },
}
