import { type RawBuilder, sql } from 'kysely'
import { maybeOne, scalar, type Tx } from '../db/index.ts'
import { OF_DELETED_PROJECT, type WipeScope, wipeRows } from '../db/wipe-rows.ts'
import { lowestId } from '../lib/id.ts'
import { HOUR, SECOND } from '../lib/text/units.ts'
import {
  allEmailCounts,
  categorySql,
  changesSql,
  countsOfSql,
  type EmailCount,
  isUsage,
  lockEmailCounts,
  USAGE_CATEGORIES,
} from '../projects/email-counts.ts'

const hasMeters = async (tx: Tx, projectId: string) =>
  Boolean(await maybeOne(tx)`select 1 from billing_meters where project_id = ${projectId} limit 1`)

/** The hour of a time, which begins the hour of the counts. */
const hourOf = (time: Date) => new Date(Math.floor(time.getTime() / HOUR) * HOUR)

/**
 * Emails of a category that were accepted in this part of an hour. Counts are by the hour, so the part of an hour in which there was no
 * subscription is counted by its emails.
 */
const acceptedSql = (projectId: string, category: RawBuilder<unknown>, from: Date, to: Date) => sql`(
  select count(*) from emails e
  where e.project_id = ${projectId} and e.id >= ${lowestId(from)} and e.id < ${lowestId(to)} and e.metered
    and e.state not in ('skipped', 'cancelled') and ${categorySql(sql`e.source_type`)} = ${category})`

/** Usage is reported from this moment on: what was counted in this hour before it is subtracted. Keeps meters that run already. */
export async function startMeters(tx: Tx, projectId: string, startedAt: Date) {
  await lockEmailCounts(tx)
  if (await hasMeters(tx, projectId)) return
  const hour = hourOf(startedAt)
  const accepted = acceptedSql(projectId, sql.ref('category'), startedAt, new Date(hour.getTime() + HOUR))
  await sql`
    insert into billing_meters (project_id, category, since, reported_to, carry)
    select ${projectId}, category, ${hour}::timestamptz, ${hour}::timestamptz - interval '1 hour',
      least(0, ${accepted} - (select coalesce(sum(n), 0) from ${allEmailCounts(projectId, sql`kind = category and hour = ${hour}`)}))
    from unnest(${[...USAGE_CATEGORIES]}::text[]) as category
  `.execute(tx)
}

/** More than the provider accepts reports of. */
const MAX_HOURS = 36 * 24

/**
 * Writes reports of everything that was used until the end of a subscription, also in the hour that has not ended and of counts that are not
 * added up yet, and ends the meters. Emails that are returned later are not subtracted any more. Without `endedAt` it ends now.
 */
export async function endMeters(tx: Tx, projectId: string, endedAt?: Date) {
  await lockEmailCounts(tx)
  if (!(await hasMeters(tx, projectId))) return
  const end = endedAt ?? (await scalar<Date>(tx)`select clock_timestamp()`)
  const last = new Date(end.getTime() - SECOND)
  await correctReported(tx, projectId, { end, last })
  await carryAppended(tx, projectId)
  const closing = closingOf(projectId, { end, last })
  for (let hours = 0; hours < MAX_HOURS && (await moveMeters(tx, closing)) > 0; hours++);
  // Nothing was left to move, and what was counted late waits for a report.
  const left = sql`
    select m.project_id, m.category, p.customer, ${hourOf(last)}::timestamptz as hour, m.carry as value, ${last}::timestamptz as at
    from billing_meters m join projects p on p.id = m.project_id where m.project_id = ${projectId} and m.carry > 0 and p.customer is not null`
  await insertReportsSql(left).execute(tx)
  await sql`delete from billing_meters where project_id = ${projectId}`.execute(tx)
}

/**
 * The last hour may have been reported as a full one, when it was not known that the subscription had ended in it. A report that Stripe does
 * not have yet gets a time before the end, and counts the emails until then.
 */
async function correctReported(tx: Tx, projectId: string, { end, last }: { end: Date; last: Date }) {
  const hour = hourOf(last)
  const after = acceptedSql(projectId, sql.ref('r.category'), new Date(end.getTime() + SECOND), new Date(hour.getTime() + HOUR))
  const which = sql`r.project_id = ${projectId} and r.hour = ${hour}::timestamptz and r.at is null and r.state = 'waiting' and r.uncertain_since is null`
  await sql`update usage_reports r set at = ${last}::timestamptz, value = r.value - ${after} where ${which}`.execute(tx)
  await sql`delete from usage_reports r where r.project_id = ${projectId} and r.hour = ${hour}::timestamptz and r.value <= 0`.execute(tx)
}

/** Appended changes of hours that were reported already, which are otherwise carried when they are added up. */
const carryAppended = (tx: Tx, projectId: string) =>
  sql`
    update billing_meters m set carry = m.carry + coalesce((
      select sum(d.n) from ${countsOfSql()} as d
      where d.project_id = m.project_id and d.kind = m.category and d.hour >= m.since and d.hour <= m.reported_to), 0)
    where m.project_id = ${projectId}
  `.execute(tx)

/** Which meters move, how far, and what an hour counts. */
type Move = {
  which: RawBuilder<unknown>
  upTo: RawBuilder<unknown>
  /** Counts of the meter `m` in its next hour. */
  counted: RawBuilder<unknown>
  at: RawBuilder<unknown>
}

const NEXT_HOUR = sql`m.reported_to + interval '1 hour'`
const ADDED_UP = sql`coalesce((
  select c.count from email_counts c where c.project_id = m.project_id and c.kind = m.category and c.hour = ${NEXT_HOUR}), 0)`
const APPENDED = sql`coalesce((
  select sum(d.n) from ${countsOfSql()} as d where d.project_id = m.project_id and d.kind = m.category and d.hour = ${NEXT_HOUR}), 0)`

/** Every full hour that is over. Changes that are not added up yet are carried to the next report. */
const FULL_HOURS: Move = {
  which: sql`true`,
  upTo: sql`date_trunc('hour', now(), 'UTC') - interval '1 hour'`,
  counted: ADDED_UP,
  at: sql`null::timestamptz`,
}

function closingOf(projectId: string, { end, last }: { end: Date; last: Date }): Move {
  const lastHour = hourOf(last)
  // The whole second of the end still belongs to the subscription.
  const after = acceptedSql(projectId, sql.ref('m.category'), new Date(end.getTime() + SECOND), new Date(lastHour.getTime() + HOUR))
  return {
    which: sql`m.project_id = ${projectId}`,
    upTo: sql`${lastHour}::timestamptz`,
    counted: sql`${ADDED_UP} + ${APPENDED} - case when ${NEXT_HOUR} = ${lastHour}::timestamptz then ${after} else 0 end`,
    at: sql`case when ${NEXT_HOUR} = ${lastHour}::timestamptz then ${last}::timestamptz end`,
  }
}

/** Changes of hours that were reported already: emails that were skipped later, or counted late. */
export async function addToMeters(tx: Tx, changes: EmailCount[]) {
  const usage = changes.filter(({ kind }) => isUsage(kind))
  if (!usage.length) return
  await sql`
    update billing_meters m set carry = m.carry + late.n
    from (
      select m.project_id, m.category, sum(c.n) as n
      from ${changesSql(usage)}
      join billing_meters m on m.project_id = c."projectId" and m.category = c.kind and c.hour >= m.since and c.hour <= m.reported_to
      group by 1, 2
    ) as late
    where m.project_id = late.project_id and m.category = late.category
  `.execute(tx)
}

/** Writes reports of the next full hour. Returns the number of meters that were moved. */
export async function writeReports(tx: Tx): Promise<number> {
  await lockEmailCounts(tx)
  return moveMeters(tx, FULL_HOURS)
}

/** Moves meters on by one hour and writes a report for each that counts something. Less than nothing is left for the next report. */
const moveMeters = (tx: Tx, { which, upTo, counted, at }: Move) =>
  scalar<number>(tx)`
    with due as materialized (
      select m.project_id, m.category, p.customer, ${NEXT_HOUR} as hour, m.carry + ${counted} as value, ${at} as at
      from billing_meters m join projects p on p.id = m.project_id
      where ${which} and m.reported_to < ${upTo} and p.customer is not null
    ), moved as (
      update billing_meters m set reported_to = d.hour, carry = least(d.value, 0)
      from due d where m.project_id = d.project_id and m.category = d.category
      returning 1
    ), written as (${insertReportsSql(sql`select * from due where value > 0`)})
    select count(*)::int from moved
  `

/** Rows of (project_id, category, customer, hour, value, at). A second report of an hour has a number: a subscription ended in that hour. */
const insertReportsSql = (reports: RawBuilder<unknown>) => sql`
  insert into usage_reports (project_id, category, hour, part, value, customer, identifier, at)
  select project_id, category, hour, part, value, customer,
    'sterna-' || project_id || '-' || category || '-' || to_char(hour at time zone 'UTC', 'YYYYMMDDHH24') || case when part > 0 then '-' || part else '' end, at
  from (
    select n.*, coalesce((
      select max(r.part) + 1 from usage_reports r where r.project_id = n.project_id and r.category = n.category and r.hour = n.hour), 0) as part
    from (${reports}) as n
  ) as numbered`

/** A reset keeps them: they are the base of invoices. */
export const wipeBilling = async (tx: Tx, scope: WipeScope) =>
  (await wipeRows(tx, 'billing_meters', scope, { key: ['category'], which: OF_DELETED_PROJECT })) +
  (await wipeRows(tx, 'usage_reports', scope, {
    key: ['category', 'hour', 'part'],
    which: sql`${OF_DELETED_PROJECT} and t.state = 'sent'`,
  }))
