import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { toSnake } from '../db/columns.ts'
import type { FactKind } from '../delivery/outbox/outcomes/email-ledger.ts'
import { percent } from '../lib/text/percent.ts'

const FIGURES = {
  emails: 'sent',
  delivered: 'delivered',
  opens: 'opened',
  clicks: 'clicked',
  machineOpens: 'machineOpened',
  machineClicks: 'machineClicked',
  bounces: 'bounced',
  complaints: 'complained',
  unsubscribes: 'unsubscribed',
} as const satisfies Record<string, FactKind>
type FigureName = keyof typeof FIGURES
export const FIGURE_NAMES = Object.keys(FIGURES) as FigureName[]

export const FigureFields = {
  emails: z.int().describe('Emails that were sent.'),
  delivered: z.int().describe('Emails reported as delivered. 0 if the transport reports none, as plain SMTP.'),
  opens: z.int().describe('Emails that a person opened, each at the time of its first open.'),
  clicks: z.int().describe('Emails in which a person clicked a link, each at the time of its first click.'),
  machineOpens: z.int().describe('Emails that a machine opened, such as a privacy proxy.'),
  machineClicks: z.int().describe('Emails in which a machine followed a link, such as a scanner.'),
  bounces: z.int().describe('Hard bounces, with those refused during transmission.'),
  complaints: z.int(),
  unsubscribes: z.int().describe('By a link of an email.'),
}
export type FigureCounts = Record<FigureName, number>

export const NO_FIGURES = Object.fromEntries(FIGURE_NAMES.map((name) => [name, 0])) as FigureCounts

/** Sums of the roll-up rows of a query, named as in the API. */
export const FIGURE_SUMS: RawBuilder<unknown> = sql.join(
  FIGURE_NAMES.map((name) => sql`coalesce(sum(${sql.ref(toSnake(FIGURES[name]))}), 0)::int as ${sql.ref(name)}`),
)

export const ratesOf = ({ emails, delivered, opens, clicks }: FigureCounts) => ({
  deliveryRate: percent(delivered, emails),
  openRate: percent(opens, emails),
  clickRate: percent(clicks, emails),
})

const SOURCES_OF_EMAILS = ['TRANSACTIONAL', 'CAMPAIGN', 'WORKFLOW'] as const

export const RollupFilterQuery = {
  source: z
    .unknown()
    .optional()
    .transform((given) => SOURCES_OF_EMAILS.find((source) => source === given))
    .meta({
      type: 'string',
      description: '`TRANSACTIONAL`, `CAMPAIGN` or `WORKFLOW`. Any other value counts as all of them, the default.',
    }),
  campaignId: z.uuid().optional(),
  templateId: z.uuid().optional(),
  workflowId: z.uuid().optional(),
}
export type RollupFilter = { [Name in keyof typeof RollupFilterQuery]?: string | undefined }

/** Condition on the rows of a roll-up. */
export const matchingEmails = ({ source, campaignId, templateId, workflowId }: RollupFilter) => sql`
  ${source ? sql`and source = ${source}` : sql``} ${campaignId ? sql`and campaign_id = ${campaignId}` : sql``}
  ${templateId ? sql`and template_id = ${templateId}` : sql``} ${workflowId ? sql`and workflow_id = ${workflowId}` : sql``}`
