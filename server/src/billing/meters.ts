import { sql } from 'kysely'
import { one, type Tx } from '../db/index.ts'
import { type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { type EmailCount, isUsage, lockEmailCounts, USAGE_CATEGORIES } from '../projects/email-counts.ts'

/** Usage is reported from the first full hour of the subscription on; usage before it is not billed. */
export async function startMeters(tx: Tx, projectId: string, startedAt: Date) {
  await lockEmailCounts(tx)
  await sql`
    insert into billing_meters (project_id, category, since, reported_to)
    select ${projectId}, category, start, start - interval '1 hour'
    from unnest(${[...USAGE_CATEGORIES]}::text[]) as category, (select date_trunc('hour', ${startedAt}::timestamptz, 'UTC') + interval '1 hour' as start) as s
    on conflict do nothing
  `.execute(tx)
}

export async function stopMeters(tx: Tx, projectId: string) {
  await lockEmailCounts(tx)
  await sql`delete from billing_meters where project_id = ${projectId}`.execute(tx)
}

/** Changes of hours that were reported already: emails that were skipped later, or counted late. */
export async function addToMeters(tx: Tx, changes: EmailCount[]) {
  const usage = changes.filter(({ kind }) => isUsage(kind))
  if (!usage.length) return
  await sql`
    update billing_meters m set carry = m.carry + late.n
    from (
      select m.project_id, m.category, sum(c.n) as n
      from jsonb_to_recordset(${JSON.stringify(usage)}::jsonb) as c("projectId" uuid, kind text, hour timestamptz, n bigint)
      join billing_meters m on m.project_id = c."projectId" and m.category = c.kind and c.hour >= m.since and c.hour <= m.reported_to
      group by 1, 2
    ) as late
    where m.project_id = late.project_id and m.category = late.category
  `.execute(tx)
}

/**
 * Writes a report of the next hour for each project and category with usage in it, up to the last full hour, and moves the meters on. Less than
 * nothing is left for the next report. Returns the number of meters that were moved.
 */
export async function writeReports(tx: Tx): Promise<number> {
  await lockEmailCounts(tx)
  const { moved } = await one(
    tx,
    sql<{ moved: number }>`
      with due as materialized (
        select m.project_id, m.category, p.customer, m.reported_to + interval '1 hour' as hour,
          m.carry + coalesce((
            select c.count from email_counts c
            where c.project_id = m.project_id and c.kind = m.category and c.hour = m.reported_to + interval '1 hour'), 0) as value
        from billing_meters m join projects p on p.id = m.project_id
        where m.reported_to < date_trunc('hour', now(), 'UTC') - interval '1 hour' and p.customer is not null
      ), moved as (
        update billing_meters m set reported_to = d.hour, carry = least(d.value, 0)
        from due d where m.project_id = d.project_id and m.category = d.category
        returning 1
      ), written as (
        insert into usage_reports (project_id, category, hour, value, customer, identifier)
        select project_id, category, hour, value, customer,
          'sterna-' || project_id || '-' || category || '-' || to_char(hour at time zone 'UTC', 'YYYYMMDDHH24')
        from due where value > 0
        on conflict do nothing -- An earlier subscription ended in this hour.
      )
      select count(*)::int as moved from moved
    `,
  )
  return moved
}

const OF_DELETED = sql`exists (select from projects p where p.id = t.project_id and p.deleted_at is not null)`

/** A reset keeps them: they are the base of invoices. */
export const wipeBilling = async (tx: Tx, scope: WipeScope) =>
  (await wipeRows(tx, 'billing_meters', scope, { key: ['category'], which: OF_DELETED })) +
  (await wipeRows(tx, 'usage_reports', scope, { key: ['category', 'hour'], which: sql`${OF_DELETED} and t.state = 'sent'` }))
