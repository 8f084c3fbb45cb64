import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { type Db, maybeScalar, one, type Pool } from '../../db/index.ts'
import { SUPPRESSION_JOINS, verdictSql } from '../../delivery/rules/may-send.ts'
import { findVerified } from '../../domains/verified.ts'
import { failTooSlow, LONG_STATEMENT_MS } from '../../http/limits/too-slow.ts'
import { SECOND } from '../../lib/text/units.ts'
import { scanContacts } from '../../projects/scans.ts'
import { sampleContacts, scaleUp } from '../../segments/evaluation/sample.ts'
import { settleByFields } from '../../templates/known-fields.ts'
import { isStandard } from '../../templates/language/variables.ts'
import { LintIssue, lintTemplate } from '../../templates/lint.ts'
import { inspectTemplate } from '../../templates/rendering/render.ts'
import { audienceOf, audienceScanSql, audienceSql, type ResolvedAudience, resolveAudience } from './audience.ts'
import type { CampaignRow } from './campaign.ts'

export const Preflight = z
  .object({
    audience: z
      .object({
        matches: z.int(),
        unsubscribed: z.int(),
        suppressed: z.int(),
        invalid: z.int(),
        recipients: z.int(),
        estimated: z.boolean().describe('True if the numbers come from a sample of 10,000 contacts.'),
      })
      .describe('matches − unsubscribed − suppressed − invalid = recipients'),
    missingVariables: z
      .array(z.object({ variable: z.string(), contacts: z.int().describe('Recipients without a value for it.') }))
      .describe('Variables that the content uses without a fallback.'),
    lint: z.array(LintIssue),
    sender: z.object({ from: z.string(), verified: z.boolean() }),
    ratePerMinute: z.int().nullable().describe('Null if nothing is known about the rate.'),
    estimatedSeconds: z.int().nullable().describe('Duration at that rate.'),
  })
  .meta({ id: 'CampaignPreflight' })

/** Longest exact count; then a sample is evaluated. */
const EXACT_MS = 4 * SECOND
/** Variables that are counted. */
const MAX_VARIABLES = 20

type Options = { ratePerSecond: number | undefined }

/** Everything worth knowing before a campaign is sent. Changes nothing. */
export async function preflightCampaign(db: Pool, campaign: CampaignRow, options: Options): Promise<z.output<typeof Preflight>> {
  const { projectId, subject, previewText, body, type, from, ratePerMinute } = campaign
  const { problems, references } = await inspectTemplate({ subject, previewText, body }, projectId)
  const settled = problems.length ? [] : await settleByFields(db, projectId, references)
  const needed = settled.filter(({ path, needsValue }) => needsValue && !isStandard(path[0]!)).map(({ path }) => path)
  const variables = [...new Map(needed.map((path) => [path.join('.'), path])).entries()].slice(0, MAX_VARIABLES)
  const audience = await resolveAudience(db, projectId, audienceOf(campaign))
  const { missing, ...numbers } = await countAudience(db, { projectId, type, audience, variables: variables.map(([, path]) => path) })
  const sender = { projectId, address: from }
  const rate = await rateOf(db, ratePerMinute, options)
  return {
    audience: numbers,
    missingVariables: variables
      .map(([variable], index) => ({ variable, contacts: missing[index]! }))
      .filter(({ contacts }) => contacts > 0),
    lint: await lintTemplate(db, projectId, { subject, previewText, body, type }),
    sender: { from, verified: (await findVerified(db, [sender]))(sender) !== undefined },
    ratePerMinute: rate,
    estimatedSeconds: rate === null ? null : Math.ceil((numbers.recipients / rate) * 60),
  }
}

type Question = { projectId: string; type: CampaignRow['type']; audience: ResolvedAudience; variables: string[][] }
type Numbers = { matches: number; unsubscribed: number; suppressed: number; invalid: number; recipients: number; missing: number[] }

async function countAudience(db: Pool, question: Question): Promise<Numbers & { estimated: boolean }> {
  const { projectId } = question
  const exact = await scanContacts(db, { projectId, ms: EXACT_MS }, (tx) => countAll(tx, question))
  return exact ?? scanContacts(db, { projectId, ms: LONG_STATEMENT_MS }, (tx) => countSample(tx, question), failTooSlow)
}

async function countAll(db: Db, question: Question) {
  const scan = await audienceScanSql(db, question.audience, { projectId: question.projectId })
  return { ...(await one(db, numbersSql(question, scan))), estimated: false }
}

async function countSample(db: Db, question: Question) {
  const { ids, total, isComplete } = await sampleContacts(db, question.projectId)
  const inAudience = await audienceSql(db, question.audience, { projectId: question.projectId })
  const matches = sql`contacts.id = any(${ids}::uuid[]) and ${inAudience}`
  const sampled = await one(db, numbersSql(question, { joins: sql``, matches }))
  const scaled = (number: number) => scaleUp(number, ids.length, total)
  const [unsubscribed, suppressed, invalid] = [scaled(sampled.unsubscribed), scaled(sampled.suppressed), scaled(sampled.invalid)]
  const recipients = scaled(sampled.recipients)
  // The sum of the others, so that it adds up after rounding.
  const matching = unsubscribed + suppressed + invalid + recipients
  return { unsubscribed, suppressed, invalid, recipients, matches: matching, missing: sampled.missing.map(scaled), estimated: !isComplete }
}

type Scan = { joins: RawBuilder<unknown>; matches: RawBuilder<unknown> }

function numbersSql({ projectId, type, variables }: Question, { joins, matches }: Scan): RawBuilder<Numbers> {
  const lacking = variables.map((path, index) => sql`, ${lacksSql(path)} as ${sql.ref(`lacks_${index}`)}`)
  const missing = variables.map((_, index) => sql`(count(*) filter (where reason is null and ${sql.ref(`lacks_${index}`)}))::int`)
  const excluded = (reason: string) => sql`(count(*) filter (where reason = ${sql.lit(reason)}))::int`
  return sql<Numbers>`
    select count(*)::int as matches, ${excluded('unsubscribed')} as unsubscribed, ${excluded('suppressed')} as suppressed,
      ${excluded('invalid')} as invalid, (count(*) filter (where reason is null))::int as recipients,
      array[${sql.join(missing)}]::int[] as missing
    from (
      select ${verdictSql(type)} as reason ${sql.join(lacking, sql``)}
      from contacts ${joins} ${SUPPRESSION_JOINS}
      where contacts.project_id = ${projectId} and ${matches}
    ) as judged`
}

/** Missing, null or empty. */
const lacksSql = (path: string[]) => sql`coalesce(contacts.data #>> ${path}::text[], '') = ''`

/** The lowest of the limits; without any, what campaigns of this installation have reached in the last hour. */
async function rateOf(db: Db, ratePerMinute: number | null, { ratePerSecond }: Options): Promise<number | null> {
  const limits = [ratePerMinute, ratePerSecond && ratePerSecond * 60].filter((limit) => typeof limit === 'number')
  if (limits.length) return Math.max(1, Math.floor(Math.min(...limits)))
  const reached = await maybeScalar<number>(db)`
    select sum(sent)::int from campaign_minutes group by minute having sum(sent) > 0 order by 1 desc limit 1
  `
  return reached ?? null
}
