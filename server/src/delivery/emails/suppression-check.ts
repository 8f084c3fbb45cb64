import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, one } from '../../db/index.ts'
import { SUPPRESSION_COLUMNS, type SuppressionRow } from '../feedback/reports/suppress.ts'
import { type EmailType, suppressesSql, verdict } from '../rules/may-send.ts'
import { Suppression, showSuppression } from './suppressions.ts'

const RULES = {
  project_disabled: 'The project is disabled: nothing is sent.',
  address_suppressed: 'The address is suppressed.',
  domain_suppressed: 'The whole domain is suppressed.',
  unsubscribed: 'The contact is unsubscribed.',
  no_contact: 'There is no contact with this address, so it has not subscribed.',
} as const
type RuleName = keyof typeof RULES

export const SuppressionCheck = z.object({
  email: z.string(),
  wouldSend: z.object({ transactional: z.boolean(), marketing: z.boolean() }),
  rules: z
    .array(
      z.object({
        rule: z.enum(Object.keys(RULES) as [RuleName, ...RuleName[]]),
        blocks: z.enum(['all', 'marketing']),
        message: z.string(),
        suppression: Suppression.nullable(),
      }),
    )
    .describe('The rules that keep an email from being sent.'),
})

type Facts = {
  isDisabled: boolean
  subscribed: boolean | null
  suppressions: (Omit<SuppressionRow, 'createdAt'> & { createdAt: string })[]
}

/** Whether an email to this address would be sent now, by the rules that hold when it is. */
export async function checkAddress(db: Db, projectId: string, email: string): Promise<z.output<typeof SuppressionCheck>> {
  const { isDisabled, subscribed, suppressions } = await one<Facts>(db)`
    select p.disabled as "isDisabled", (select subscribed from contacts where project_id = p.id and email = ${email}) as subscribed,
      coalesce((select jsonb_agg(s) from (
        select ${SUPPRESSION_COLUMNS} from suppressions s where project_id = p.id and ${suppressesSql(sql`${email}`)}
      ) as s), '[]') as suppressions
    from projects p where p.id = ${projectId}
  `
  const rules = [
    ...suppressions.map((row) => {
      const shown = showSuppression({ ...row, createdAt: new Date(row.createdAt) })
      return showRule(shown.domain === null ? 'address_suppressed' : 'domain_suppressed', 'all', shown)
    }),
    ...(subscribed === false ? [showRule('unsubscribed', 'marketing')] : []),
    ...(subscribed === null ? [showRule('no_contact', 'marketing')] : []),
    ...(isDisabled ? [showRule('project_disabled', 'all')] : []),
  ]
  const facts = { suppressed: suppressions.length > 0, subscribed: subscribed === true }
  const wouldSend = (type: EmailType) => !isDisabled && !verdict(facts, type)
  return { email, wouldSend: { transactional: wouldSend('TRANSACTIONAL'), marketing: wouldSend('MARKETING') }, rules }
}

const showRule = (rule: RuleName, blocks: 'all' | 'marketing', suppression: z.output<typeof Suppression> | null = null) => {
  return { rule, blocks, message: RULES[rule], suppression }
}
