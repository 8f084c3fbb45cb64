import { sql } from 'kysely'
import { FACT_COLUMNS, factTimeSql, HOUR_COLUMNS, METRIC_COLUMNS, METRICS } from '../src/analytics/rollup.ts'
import type { Tx } from '../src/db/index.ts'
import { IS_COUNTED } from '../src/delivery/outbox/email-ledger.ts'
import { readEmailCounts, recountEmails } from '../src/projects/email-counts.ts'
import { type Broken, type Check, checkRules } from './check.ts'

/** The roll-ups of analytics and the counts of caps and reputation equal what the emails say, facts that still wait included. */
export const checkMailCounters =
  (projectId: string): Check =>
  async (tx) => [...(await checkRollups(projectId)(tx)), await checkCounts(tx, projectId)]

const checkRollups = (projectId: string) => {
  const byKind = sql.join(METRICS.map((kind) => sql`(${sql.lit(kind)}, ${sql.ref(`r.${METRIC_COLUMNS[kind]}`)})`))
  const sums = sql.join(HOUR_COLUMNS.map((column) => sql`sum(${sql.ref(column)}) as ${sql.ref(column)}`))
  const sent = sql.join(METRICS.map((kind) => sql`sum(${sql.ref(METRIC_COLUMNS[kind])})`))
  return checkRules({
    'hours of analytics that differ from the emails': sql`
      with waiting as (
        select kind, unnest(email_ids) as email_id from email_ledger where project_id = ${projectId} and email_ids is not null
      ), facts as (
        select ${FACT_COLUMNS}
        from emails e
        join contents c on c.project_id = e.project_id and c.id = e.content_id
        left join email_hits h on h.project_id = e.project_id and h.email_id = e.id
        cross join unnest(${METRICS}::text[]) as k(kind)
        cross join lateral (select k.kind, ${factTimeSql(sql`k.kind`)} as at) as f
        left join waiting w on w.kind = k.kind and w.email_id = e.id
        where e.project_id = ${projectId} and ${IS_COUNTED} and f.at is not null and w.email_id is null
      )
      select hour, source, campaign_id, workflow_id, kind, counted.n as counted, there.n as there
      from (
        select hour, source, campaign_id, workflow_id, kind, sum(n) as n
        from email_hours r cross join lateral (values ${byKind}) as v(kind, n)
        where project_id = ${projectId} group by 1, 2, 3, 4, 5 having sum(n) <> 0
      ) counted
      full join (
        select date_trunc('hour', at, 'UTC') as hour, source, campaign_id, workflow_id, kind, count(*) as n
        from facts group by 1, 2, 3, 4, 5
      ) there using (hour, source, campaign_id, workflow_id, kind)
      where counted.n is distinct from there.n
    `,
    'days of analytics that differ from their hours': sql`
      (select day, source, campaign_id, template_id, workflow_id, ${sums} from email_days where project_id = ${projectId} group by 1, 2, 3, 4, 5)
      except
      (select (hour at time zone 'utc')::date, source, campaign_id, template_id, workflow_id, ${sums}
        from email_hours where project_id = ${projectId} group by 1, 2, 3, 4, 5)
    `,
    'recipient domains of analytics that differ from the days': sql`
      (select day, ${sent} from email_domain_days where project_id = ${projectId} group by 1)
      except
      (select day, ${sent} from email_days where project_id = ${projectId} group by 1)
    `,
  })
}

async function checkCounts(tx: Tx, projectId: string): Promise<Broken> {
  const ever = new Date(0)
  const asTexts = async (counts: ReturnType<typeof readEmailCounts>) =>
    new Set((await counts).map(({ kind, hour, n }) => `${kind} ${hour.toISOString()} ${n}`))
  const [counted, there] = [await asTexts(readEmailCounts(tx, projectId, ever)), await asTexts(recountEmails(tx, projectId, ever))]
  const differing = [
    ...[...counted].filter((text) => !there.has(text)).map((text) => `counted: ${text}`),
    ...[...there].filter((text) => !counted.has(text)).map((text) => `there: ${text}`),
  ]
  return { rule: 'counts of caps and reputation that differ from the emails', cases: differing }
}
