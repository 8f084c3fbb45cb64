import { sql } from 'kysely'
import { countAffected, type Db, many, maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { dropRows } from '../db/wipe-rows.ts'
import { backoffSql } from '../lib/concurrency/backoff.ts'
import type { StripeConfig } from '../lib/config.ts'
import type { Log } from '../lib/process/log.ts'
import { storable } from '../lib/text/storable.ts'
import { HOUR, MINUTE } from '../lib/text/units.ts'
import { USAGE_CATEGORIES, type UsageCategory } from '../projects/email-counts.ts'
import { writeReports } from './meters.ts'
import { isRefusal, openStripe } from './stripe.ts'

/** Stripe drops a second report with the same identifier for at least 24 hours. */
const REPEATABLE_HOURS = 23
/** Reports sent in one run; the next run, some minutes later, sends the rest. */
const MAX_SENT = 1_000
const PAGE = 50
/** Hours written in one run: more than Stripe accepts reports of. */
const MAX_HOURS = 36 * 24
/** After a report that Stripe did not take. */
const REST_MS = { first: MINUTE, longest: HOUR }

type Report = {
  projectId: string
  category: UsageCategory
  hour: Date
  at: Date | null
  value: number
  customer: string
  identifier: string
  attempts: number
}

/** `mayLeave`: false while sending is held. Reports wait. */
export type ReportDeps = { db: Pool; log: Log; mayLeave: () => boolean }

/** Reports usage to Stripe, hour by hour. */
export async function reportUsage(deps: ReportDeps, config: StripeConfig) {
  const { db } = deps
  for (let hours = 0; hours < MAX_HOURS && (await transact(db, (tx) => writeReports(tx))) > 0; hours++);
  await transact(db, (tx) => giveUp(tx))
  await sendReports(deps, config)
}

/** Sends reports that are due, also of projects without a subscription; with `projectId`, only those of this project. */
export async function sendReports({ db, log, mayLeave }: ReportDeps, config: StripeConfig, projectId?: string) {
  for (let sent = 0; sent < MAX_SENT && mayLeave(); sent += PAGE) {
    const reports = await transact(db, (tx) => claimReports(tx, config, projectId))
    for (const report of reports) await send(db, config, report, log)
    if (reports.length < PAGE) return
  }
}

/** Before the request: if this process dies during it, Stripe may have the report. Due again in five minutes, when nobody sends it any more. */
const claimReports = (tx: Tx, { meters }: StripeConfig, projectId: string | undefined) =>
  many<Report>(tx)`
    update usage_reports r set uncertain_since = coalesce(uncertain_since, now()), attempts = attempts + 1,
      due_at = now() + interval '5 minutes'
    where (project_id, category, hour, part) in (
      select project_id, category, hour, part from usage_reports
      where state = 'waiting' and due_at <= now() and category = any(${Object.keys(meters)}::text[])
        ${projectId === undefined ? sql`` : sql`and project_id = ${projectId}`}
      order by due_at limit ${PAGE} for update skip locked)
    returning project_id as "projectId", category, hour, at, value::float8 as value, customer, identifier, attempts
  `

/** Never repeated after this time: a second copy would be billed. `doctor` lists them. */
const giveUp = (tx: Tx) =>
  sql`
    update usage_reports set state = 'unknown'
    where state = 'waiting' and uncertain_since < now() - make_interval(hours => ${REPEATABLE_HOURS})
  `.execute(tx)

async function send(db: Pool, config: StripeConfig, report: Report, log: Log) {
  try {
    const stripe = await openStripe(config)
    await stripe.billing.meterEvents.create({
      event_name: config.meters[report.category]!,
      identifier: report.identifier,
      // The last second of the hour, which belongs to the period of the hour.
      timestamp: report.at ? Math.floor(report.at.getTime() / 1000) : Math.floor(report.hour.getTime() / 1000) + 3_599,
      payload: { stripe_customer_id: report.customer, value: String(report.value) },
    })
    await transact(db, (tx) => markSent(tx, report))
  } catch (err) {
    await noteFailure(db, report, err, log)
  }
}

/** Stripe says so when it has a report with this identifier. */
const isRepetition = (err: unknown) => {
  const { code = '', message = '' } = err as { code?: string; message?: string }
  return /duplicate_meter_event|resource_already_exists/.test(code) || (/identifier/i.test(message) && /already/i.test(message))
}

async function noteFailure(db: Pool, report: Report, err: unknown, log: Log) {
  if (isRepetition(err)) return transact(db, (tx) => markSent(tx, report))
  const refused = isRefusal(err)
  const reason = storable((err as Error).message).slice(0, 500)
  log.error({ projectId: report.projectId, identifier: report.identifier, reason }, 'usage was not reported to Stripe; retrying')
  // A refused report is certainly not there, so the time to repeat it does not run.
  await transact(db, (tx) =>
    sql`
      update usage_reports set error = ${reason}, uncertain_since = case when ${refused} then null else uncertain_since end,
        due_at = now() + ${backoffSql(sql`attempts`, REST_MS)}
      where identifier = ${report.identifier} and state = 'waiting'
    `.execute(tx),
  )
}

const markSent = (tx: Tx, { identifier }: Report) =>
  sql`update usage_reports set state = 'sent', sent_at = now(), error = null where identifier = ${identifier}`.execute(tx)

/** Whether a project has reports that are still going to be sent. Older ones are listed by `doctor`, and waited for no longer. */
export const hasUnsentReports = async (db: Db, { meters }: StripeConfig, projectId: string) =>
  Boolean(
    await maybeOne(db)`
      select 1 from usage_reports where project_id = ${projectId} and state = 'waiting' and category = any(${Object.keys(meters)}::text[])
        and created_at > now() - make_interval(hours => ${REPEATABLE_HOURS}) limit 1
    `,
  )

/** For the doctor: reports whose outcome is unknown, that Stripe refuses, or that wait for more than an hour. */
export const listStuckReports = (db: Db, limit: number, categories: string[] = [...USAGE_CATEGORIES]) =>
  many<{ identifier: string; value: number; state: string; error: string | null }>(db)`
    select identifier, value::float8 as value, state, error from usage_reports
    where state = 'unknown' or state = 'waiting' and error is not null
      or state = 'waiting' and created_at < now() - interval '1 hour' and category = any(${categories}::text[])
    order by created_at limit ${limit}
  `

/** Stores what an operator found out at Stripe about a report whose outcome was unknown. False if there is none. */
export async function resolveReport(tx: Tx, identifier: string, isThere: boolean) {
  const state = isThere ? sql`state = 'sent', sent_at = now()` : sql`state = 'waiting', uncertain_since = null, due_at = now()`
  return (await countAffected(tx)`update usage_reports set ${state} where identifier = ${identifier} and state = 'unknown'`) > 0
}

/** Reports that were sent are kept for a year, to explain invoices. */
export const dropOldReports = (tx: Tx, limit: number) =>
  dropRows(tx, 'usage_reports', sql`created_at < now() - interval '400 days' and state = 'sent'`, limit)
