import { sql } from 'kysely'
import { z } from 'zod'
import { columns, type RowOf, toSnake } from '../db/columns.ts'
import { type Db, many, one } from '../db/index.ts'
import type { Days } from '../events/day.ts'
import { Timestamp } from '../http/core/validate.ts'
import { percent } from '../lib/text/percent.ts'

const Rate = z.number().describe('Percent of the sent emails, with one decimal.')

const Counts = {
  sentCount: z.int(),
  deliveredCount: z.int(),
  openedCount: z.int(),
  clickedCount: z.int(),
  bouncedCount: z.int(),
  complainedCount: z.int(),
  unsubscribedCount: z.int(),
}
const COUNTS = Object.keys(Counts) as (keyof typeof Counts)[]
const TOP_COLUMNS = columns('campaigns', 'campaigns', ['id', 'name', 'subject', 'startedAt', ...COUNTS])

export const TopCampaign = z
  .object({
    id: z.uuid(),
    name: z.string(),
    subject: z.string(),
    ...Counts,
    openRate: Rate,
    clickRate: Rate,
    startedAt: Timestamp.nullable(),
  })
  .meta({ id: 'TopCampaign' })

/** A rate of fewer emails says little: such campaigns come last. */
const FEW_EMAILS = 50
const rate = (column: string) =>
  sql`case when sent_count >= ${sql.lit(FEW_EMAILS)} then ${sql.ref(column)}::float8 / sent_count else ${sql.ref(column)}::float8 / greatest(sent_count, 1) - 1 end`

const ORDERS = {
  opens: sql`opened_count`,
  clicks: sql`clicked_count`,
  sent: sql`sent_count`,
  openRate: rate('opened_count'),
  clickRate: rate('clicked_count'),
}
type CampaignMetric = keyof typeof ORDERS

/** Spellings of each. */
const SPELLINGS: Record<CampaignMetric, string[]> = {
  opens: ['opens', 'openedCount', 'opened'],
  clicks: ['clicks', 'clickedCount', 'clicked'],
  sent: ['sent', 'sentCount', 'emails'],
  openRate: ['openRate'],
  clickRate: ['clickRate'],
}
const METRICS = Object.keys(ORDERS) as CampaignMetric[]

export const CampaignMetricParam = z
  .unknown()
  .optional()
  .transform((given) => METRICS.find((metric) => SPELLINGS[metric].some((spelling) => spelling === given)) ?? 'opens')
  .meta({
    type: 'string',
    description: `\`opens\`, \`clicks\`, \`sent\`, \`openRate\` or \`clickRate\`. Any other value counts as \`opens\`, the default. By rate, campaigns with fewer than ${FEW_EMAILS} sent emails come last.`,
  })

type Top = { metric: CampaignMetric; limit: number; days: Days }

/** Campaigns that began in the period, the best first. */
export async function listTopCampaigns(db: Db, projectId: string, { metric, limit, days }: Top) {
  const rows = await many<RowOf<typeof TOP_COLUMNS>>(db)`
    select ${TOP_COLUMNS}
    from campaigns where project_id = ${projectId} and deleted_at is null and sent_count > 0 ${startedIn(days)}
    order by ${ORDERS[metric]} desc, id desc limit ${limit}
  `
  return rows.map((row) => ({
    ...row,
    openRate: percent(row.openedCount, row.sentCount),
    clickRate: percent(row.clickedCount, row.sentCount),
  }))
}

const startedIn = ({ from, to }: Days) => sql`
  ${from ? sql`and started_at >= (${from}::timestamp at time zone 'utc')` : sql``}
  ${to ? sql`and started_at < ((${to}::date + 1)::timestamp at time zone 'utc')` : sql``}`

export const CampaignBreakdown = z
  .object({
    total: z.int(),
    active: z.int().describe('Scheduled or being sent.'),
    completed: z.int().describe('Sent.'),
    drafts: z.int(),
    scheduled: z.int(),
    sending: z.int(),
    cancelled: z.int(),
    totalRecipients: z.int(),
    ...Counts,
    averageOpenRate: z.number().describe('Opened of all sent emails of campaigns, in percent with one decimal.'),
    averageClickRate: z.number(),
  })
  .meta({ id: 'CampaignBreakdown' })

export async function readCampaignBreakdown(db: Db, projectId: string, days: Days) {
  const sum = (name: string) => sql`coalesce(sum(${sql.ref(toSnake(name))}), 0)::int as ${sql.ref(name)}`
  const counts = await one<Omit<z.output<typeof CampaignBreakdown>, 'averageOpenRate' | 'averageClickRate'>>(db)`
    select count(*)::int as total, count(*) filter (where status in ('SCHEDULED', 'SENDING'))::int as active,
      count(*) filter (where status = 'SENT')::int as completed, count(*) filter (where status = 'DRAFT')::int as drafts,
      count(*) filter (where status = 'SCHEDULED')::int as scheduled, count(*) filter (where status = 'SENDING')::int as sending,
      count(*) filter (where status = 'CANCELLED')::int as cancelled,
      ${sql.join(['totalRecipients', ...COUNTS].map(sum))}
    from campaigns where project_id = ${projectId} and deleted_at is null ${startedIn(days)}
  `
  return {
    ...counts,
    averageOpenRate: percent(counts.openedCount, counts.sentCount),
    averageClickRate: percent(counts.clickedCount, counts.sentCount),
  }
}
