import { z } from 'zod'
import { type Db, one } from '../db/index.ts'
import { Timestamp } from '../http/core/validate.ts'
import { DAY } from '../lib/text/units.ts'
import { listSuspensions } from '../projects/suspensions.ts'
import { readReputation } from './figures.ts'
import { type Figures, judgeRates, LEVELS, MIN_EMAILS, RULE_NAMES, RULES, type RuleName, rate } from './levels.ts'

const ShownFigures = z
  .object({
    total: z.int().describe('Emails sent, or refused by the receiver. Without emails of the sandbox and tests.'),
    bounces: z.int().describe('Hard bounces of these emails.'),
    complaints: z.int(),
    bounceRate: z.number().describe('From 0 to 1.'),
    complaintRate: z.number(),
  })
  .meta({ id: 'ReputationFigures' })

const Level = z.enum(LEVELS)
const Threshold = z.object({ warning: z.number(), critical: z.number() })
const byRule = <Schema extends z.ZodType>(schema: Schema) =>
  z.object(Object.fromEntries(RULE_NAMES.map((name) => [name, schema])) as Record<RuleName, Schema>)

export const Security = z
  .object({
    status: z.object({
      isHealthy: z.boolean(),
      shouldDisable: z.boolean().describe('A rate is critical: the project is disabled within a minute, unless that is switched off.'),
      twentyFourHour: ShownFigures,
      sevenDay: ShownFigures,
      allTime: ShownFigures.describe('Since the last acknowledgement, if there is one.'),
      violations: z.array(z.string()).describe('A sentence for each critical rate.'),
      warnings: z.array(z.string()),
    }),
    suspensions: z
      .array(
        z.object({
          at: Timestamp,
          reason: z.string(),
          until: Timestamp.nullable().describe('Null while it lasts.'),
          liftedBy: z.string().nullable(),
          isInherited: z.boolean().describe('The project was created while another project of its owner was suspended.'),
          endsAt: Timestamp.nullable().describe('When an inherited suspension ends by itself.'),
        }),
      )
      .describe('The last ten, the latest first.'),
    levels: byRule(Level),
    isDisabled: z.boolean(),
    disabledReason: z.string().nullable(),
    history: ShownFigures.describe('Figures of all time, whatever was acknowledged.'),
    thresholds: byRule(Threshold),
    minimumEmails: z.int().describe('A window with fewer emails is healthy.'),
    disablesAutomatically: z.boolean(),
    acknowledgement: z.object({
      at: Timestamp.nullable(),
      by: z.string().nullable(),
      nextAt: Timestamp.nullable().describe('The owner may acknowledge again from then on. Null: now.'),
    }),
  })
  .meta({ id: 'Security' })

/** An owner may acknowledge once in this time. */
export const ACKNOWLEDGE_DAYS = 30

const show = (figures: Figures) => ({
  ...figures,
  bounceRate: rate(figures.bounces, figures),
  complaintRate: rate(figures.complaints, figures),
})

const THRESHOLDS = Object.fromEntries(
  RULE_NAMES.map((name) => [name, { warning: RULES[name].warning, critical: RULES[name].critical }]),
) as Record<RuleName, z.output<typeof Threshold>>

/** The reputation of a project: its rates, what follows from them, and what has followed. */
export async function readSecurity(
  db: Db,
  projectId: string,
  { disablesAutomatically }: { disablesAutomatically: boolean },
): Promise<z.output<typeof Security>> {
  const { history, acknowledgedAt, acknowledgedBy, ...windows } = await readReputation(db, projectId)
  const { levels, ...verdict } = judgeRates(windows)
  const { disabled, reason, now } = await one<{ disabled: boolean; reason: string | null; now: Date }>(db)`
    select disabled, disabled_reason as reason, now() as now from projects where id = ${projectId}
  `
  const next = acknowledgedAt && new Date(acknowledgedAt.getTime() + ACKNOWLEDGE_DAYS * DAY)
  return {
    status: {
      ...verdict,
      twentyFourHour: show(windows.twentyFourHour),
      sevenDay: show(windows.sevenDay),
      allTime: show(windows.allTime),
    },
    suspensions: await listSuspensions(db, projectId),
    levels,
    isDisabled: disabled,
    disabledReason: reason,
    history: show(history),
    thresholds: THRESHOLDS,
    minimumEmails: MIN_EMAILS,
    disablesAutomatically,
    acknowledgement: { at: acknowledgedAt, by: acknowledgedBy, nextAt: next && next > now ? next : null },
  }
}
