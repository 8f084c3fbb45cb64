import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, transact } from '../db/index.ts'
import { NO_KEYS } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Id, Timestamp } from '../http/core/validate.ts'
import { routesOf } from '../http/resource.ts'
import { changeCaps, readUsage, type UsageLimits } from '../projects/caps.ts'
import { allEmailCounts, USAGE_CATEGORIES, type UsageCategory } from '../projects/email-counts.ts'
import { readBilled } from './customer.ts'
import { previewInvoice, readCredits, UpcomingInvoice } from './invoices.ts'
import { openStripe } from './stripe.ts'

const ProjectId = z.object({ id: Id('project') })

const CapState = z.object({
  limit: z.int().nullable().describe('Emails in a period. Null: no limit.'),
  usage: z.int().describe('Emails of this period that were accepted and not skipped.'),
  percentage: z.number().nullable(),
  isWarning: z.boolean().describe('From 80 % on.'),
  isBlocked: z.boolean().describe('The limit is reached: further emails are refused.'),
})

/** A record of the four categories. */
const byCategory = <Value>(of: (category: UsageCategory) => Value) =>
  Object.fromEntries(USAGE_CATEGORIES.map((category) => [category, of(category)])) as Record<UsageCategory, Value>

const BillingLimits = z.object({ ...byCategory(() => CapState), currency: z.string().nullable() }).meta({ id: 'BillingLimits' })
/** Larger numbers are no limit. */
const MAX_CAP = 1_000_000_000_000
const ChangedLimits = z.object(
  byCategory(() => z.int().min(1).max(MAX_CAP).nullish().describe('Null removes the limit; without a value it stays as it is.')),
)

const Consumption = z
  .object({
    period: z.object({ start: Timestamp, end: Timestamp }),
    usage: z.object({
      total: z.int(),
      records: z
        .array(z.object({ date: z.string().describe('YYYY-MM-DD'), category: z.enum(USAGE_CATEGORIES), count: z.int() }))
        .describe('By UTC day and category, without zeros.'),
    }),
    credits: z.int().nullable().describe('In the smallest unit of the currency. Null without a customer.'),
    upcomingInvoice: UpcomingInvoice.describe('Null without a subscription.'),
  })
  .meta({ id: 'BillingConsumption' })

/** Usage and its limits, with or without a billing provider. */
export function usageLimitRoutes(app: App, { db, config, log }: Deps) {
  const route = routesOf(app, { tags: ['Billing'], caller: 'session', ...NO_KEYS })

  route.get(
    '/users/@me/projects/:id/billing-limits',
    {
      summary: 'Get the billing limits and their usage',
      description: 'Also without a billing provider.',
      params: ProjectId,
      response: BillingLimits,
      role: 'MEMBER',
    },
    (req) => showLimits(db, req.project.id),
  )

  route.put(
    '/users/@me/projects/:id/billing-limits',
    {
      summary: 'Change the billing limits',
      description:
        'Emails beyond a limit are refused with 402 `BILLING_LIMIT_EXCEEDED`; campaigns pause, workflows fail the step, and received emails ' +
        'are refused with 452, until the limit is raised or the next period begins.',
      params: ProjectId,
      body: ChangedLimits,
      audit: 'billing.limits',
      auditsValues: true,
      response: BillingLimits,
      role: 'ADMIN',
    },
    async (req) => {
      const limits = await transact(req.db, async (tx) => {
        await changeCaps(tx, req.project.id, givenLimits(req.body))
        return showLimits(tx, req.project.id)
      })
      log.info({ projectId: req.project.id, userId: req.person.userId, requestId: req.id }, 'billing limits changed')
      return limits
    },
  )

  route.get(
    '/users/@me/projects/:id/billing-consumption',
    {
      summary: 'Get the consumption of the current period',
      description: 'The period is that of the subscription, else the calendar month in UTC.',
      params: ProjectId,
      response: Consumption,
      role: 'MEMBER',
    },
    async (req) => {
      const { usage, start, end } = await readUsage(db, req.project.id)
      const records = await listUsage(db, req.project.id, start)
      return {
        period: { start: start.toISOString(), end: end.toISOString() },
        usage: { total: USAGE_CATEGORIES.reduce((sum, category) => sum + usage[category].usage, 0), records },
        ...(await readAccount(req.project.id)),
      }
    },
  )

  /** Usage is shown even if Stripe does not answer. */
  async function readAccount(projectId: string) {
    const nothing = { credits: null, upcomingInvoice: null }
    const { customer, subscription } = await readBilled(db, projectId)
    if (!config.stripe || !customer) return nothing
    try {
      const stripe = await openStripe(config.stripe)
      const [credits, upcomingInvoice] = await Promise.all([
        readCredits(stripe, customer),
        subscription ? previewInvoice(stripe, { customer, subscription }) : null,
      ])
      return { credits, upcomingInvoice }
    } catch (err) {
      log.warn({ projectId, reason: (err as Error).message }, 'Stripe did not tell the next invoice')
      return nothing
    }
  }
}

/** Without the keys that were not given. */
const givenLimits = (body: z.output<typeof ChangedLimits>) =>
  Object.fromEntries(Object.entries(body).filter(([, limit]) => limit !== undefined)) as Partial<Record<UsageCategory, number | null>>

const showCap = ({ limit, usage }: UsageLimits[UsageCategory]): z.output<typeof CapState> => ({
  limit,
  usage,
  percentage: limit === null ? null : Math.round((usage / limit) * 1000) / 10,
  isWarning: limit !== null && usage >= 0.8 * limit,
  isBlocked: limit !== null && usage >= limit,
})

async function showLimits(db: Db, projectId: string): Promise<z.output<typeof BillingLimits>> {
  const { usage, currency } = await readUsage(db, projectId)
  return { ...byCategory((category) => showCap(usage[category])), currency }
}

/** Days of the longest period, times categories. */
const MAX_RECORDS = 4 * 400

const listUsage = (db: Db, projectId: string, start: Date) =>
  many<{ date: string; category: UsageCategory; count: number }>(db)`
    select to_char(hour at time zone 'UTC', 'YYYY-MM-DD') as date, kind as category, sum(n)::float8 as count
    from ${allEmailCounts(projectId, sql`hour >= ${start} and kind = any(${[...USAGE_CATEGORIES]}::text[])`)}
    group by 1, 2 having sum(n) <> 0 order by 1, 2 limit ${MAX_RECORDS}
  `
