import { type RawBuilder, sql } from 'kysely'
import type { Schema } from '../db/schema.ts'
import { FACT_TIMES, type FactKind } from '../delivery/outbox/email-ledger.ts'
import { NIL_ID } from '../lib/id.ts'

/** The column of each kind of fact in the roll-ups. */
export const METRIC_COLUMNS: Record<FactKind, string> = {
  sent: 'sent',
  delivered: 'delivered',
  opened: 'opened',
  clicked: 'clicked',
  machineOpened: 'machine_opened',
  machineClicked: 'machine_clicked',
  bounced: 'bounced',
  complained: 'complained',
  unsubscribed: 'unsubscribed',
}
export const METRICS = Object.keys(METRIC_COLUMNS) as FactKind[]

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

/** What the roll-ups need of a fact `f` (kind, at) about an email `e` with its content `c`. */
export const FACT_COLUMNS = sql`
  e.project_id, f.kind, f.at, e.source_type as source, coalesce(e.campaign_id, ${NIL_ID}) as campaign_id, coalesce(c.template_id, ${NIL_ID}) as template_id,
  coalesce(e.workflow_id, ${NIL_ID}) as workflow_id, lower(split_part(e.to_address, '@', 2)) as domain,
  case when f.kind = 'delivered' then extract(epoch from e.delivered_at - e.created_at) end as took`

/** The time of the fact of a kind, null if it has not happened. */
export const factTimeSql = (kind: RawBuilder<unknown>) =>
  sql`case ${kind} ${sql.join(
    METRICS.map((each) => sql`when ${sql.lit(each)} then ${FACT_TIMES[each]}`),
    sql` `,
  )} end`

const METRIC_NAMES = Object.values(METRIC_COLUMNS)
const BUCKET_NAMES = DELIVERY_BUCKETS.map(({ column }) => column)
export const HOUR_COLUMNS = [...METRIC_NAMES, ...BUCKET_NAMES]
export const DOMAIN_METRICS = METRIC_NAMES

const DIMENSIONS = ['source', 'campaign_id', 'template_id', 'workflow_id']

export type Rollup = { table: keyof Schema; key: string[]; columns: string[] }

/** The tables of roll-ups. The first column of a key is the time. */
export const ROLLUPS = {
  hours: { table: 'email_hours', key: ['hour', ...DIMENSIONS], columns: HOUR_COLUMNS },
  days: { table: 'email_days', key: ['day', ...DIMENSIONS], columns: HOUR_COLUMNS },
  domains: { table: 'email_domain_days', key: ['day', 'domain'], columns: DOMAIN_METRICS },
} satisfies Record<string, Rollup>

export const columnList = (columns: readonly string[]) => sql.join(columns.map((column) => sql.ref(column)))

const METRIC_COUNTS = METRICS.map((kind) => sql`count(*) filter (where kind = ${sql.lit(kind)})`)
const BUCKET_COUNTS = DELIVERY_BUCKETS.map(({ seconds }, index) => {
  const above = sql`took > ${sql.lit(DELIVERY_BUCKETS[index - 1]?.seconds ?? -1)}`
  return sql`count(*) filter (where ${above} ${seconds === null ? sql`` : sql`and took <= ${sql.lit(seconds)}`})`
})
const HOUR_COUNTS = sql.join([...METRIC_COUNTS, ...BUCKET_COUNTS])

const addingUp = (columns: readonly string[]) =>
  sql.join(columns.map((column) => sql`${sql.ref(column)} = ${sql.ref(`r.${column}`)} + ${sql.ref(`excluded.${column}`)}`))

/**
 * CTEs that add facts, given as rows of FACT_COLUMNS, to all roll-ups: to rows of their project, or to those under which a recount collects. The
 * caller holds the lock of the project's roll-ups.
 */
export const addToRollupsCte = (facts: RawBuilder<unknown>, rowsOf: RawBuilder<unknown> = sql`project_id`) => sql`
  hours as (
    insert into email_hours as r (project_id, hour, source, campaign_id, template_id, workflow_id, ${columnList(HOUR_COLUMNS)})
    select ${rowsOf}, date_trunc('hour', at, 'UTC'), source, campaign_id, template_id, workflow_id, ${HOUR_COUNTS}
    from ${facts} group by 1, 2, 3, 4, 5, 6
    on conflict (project_id, hour, source, campaign_id, template_id, workflow_id) do update set ${addingUp(HOUR_COLUMNS)}
  ), days as (
    insert into email_days as r (project_id, day, source, campaign_id, template_id, workflow_id, ${columnList(HOUR_COLUMNS)})
    select ${rowsOf}, (at at time zone 'utc')::date, source, campaign_id, template_id, workflow_id, ${HOUR_COUNTS}
    from ${facts} group by 1, 2, 3, 4, 5, 6
    on conflict (project_id, day, source, campaign_id, template_id, workflow_id) do update set ${addingUp(HOUR_COLUMNS)}
  ), by_domain as (
    select project_id, (at at time zone 'utc')::date as day, domain, kind, count(*) as n from ${facts} group by 1, 2, 3, 4
  ), listed as (
    -- A day with a row for the other domains counts no new domain apart.
    select b.project_id, b.day, b.kind, b.n, case
      when not exists (select from email_domain_days o where o.project_id = b.project_id and o.day = b.day and o.domain = '') then b.domain
      when exists (select from email_domain_days o where o.project_id = b.project_id and o.day = b.day and o.domain = b.domain) then b.domain
      else '' end as domain
    from by_domain b
  ), domains as (
    insert into email_domain_days as r (project_id, day, domain, ${columnList(DOMAIN_METRICS)})
    select ${rowsOf}, day, domain, ${sql.join(METRICS.map((kind) => sql`coalesce(sum(n) filter (where kind = ${sql.lit(kind)}), 0)`))}
    from listed group by 1, 2, 3
    on conflict (project_id, day, domain) do update set ${addingUp(DOMAIN_METRICS)}
  )`
