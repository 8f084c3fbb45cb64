import { z } from 'zod'
import { GivenCondition } from '../../contacts/selection/segment-access.ts'
import type { Db, Pool } from '../../db/index.ts'
import { assertVerified } from '../../domains/verified.ts'
import { Address } from '../../http/core/validate.ts'
import { AppError, fail } from '../../lib/errors/errors.ts'
import { KB, MB } from '../../lib/text/units.ts'
import { DesignOrBody, missingBody, withRenderedBody } from '../../templates/design/body.ts'
import type { Design } from '../../templates/design/schema.ts'
import { templateNotFound } from '../../templates/preview-routes.ts'
import { assertRenderable, assertSenderName, PreviewText, SenderName, Subject } from '../../templates/rendering/content.ts'
import { findTemplate, MAX_NAME, TYPES } from '../../templates/template.ts'
import { type Audience, readAudience } from './audience.ts'
import { AUDIENCE_TYPES } from './campaign.ts'

/** 2 MB for the content, and room for the JSON around it. */
export const CAMPAIGN_BODY_LIMIT = 2 * MB + 64 * KB
/** Most a campaign may be throttled to; faster is no limit. */
const MAX_RATE_PER_MINUTE = 1_000_000

export const RatePerMinute = z.int().min(1).max(MAX_RATE_PER_MINUTE)

export const CampaignBody = z.object({
  name: z.string().trim().min(1).max(MAX_NAME),
  description: z.string().max(1_000).nullish(),
  subject: Subject,
  ...DesignOrBody,
  previewText: PreviewText.nullish(),
  from: Address.describe('Must be on a verified domain.'),
  fromName: SenderName.nullish(),
  replyTo: Address.nullish(),
  type: z.enum(TYPES).default('MARKETING').describe('`MARKETING` by default.'),
  audienceType: z.enum(AUDIENCE_TYPES),
  segmentId: z.uuid().nullish().describe('Required for the audience `SEGMENT`, else ignored.'),
  audienceCondition: GivenCondition.nullish().describe('Required for the audience `FILTERED`, else ignored.'),
  templateId: z.uuid().nullish().describe('Where the content came from.'),
  ratePerMinute: RatePerMinute.nullish(),
})

/** A time with its offset. Not in the past: the handler checks that by the clock of the database. */
export const ScheduledFor = z.iso.datetime({ offset: true }).max(64)

/** A valid campaign, as it is stored. */
type Given = z.output<typeof CampaignBody>
export type CampaignContent = Omit<Given, 'segmentId' | 'audienceCondition' | 'audienceType' | 'body' | 'design'> & {
  body: string
  /** Undefined: that of the stored campaign, if it has the same body. */
  design?: Design | null
  audience: Audience
}

/** Everything about a campaign that can be checked before its transaction. */
export async function checkCampaign(db: Pool, projectId: string, given: Given): Promise<CampaignContent> {
  const { audienceType, segmentId, audienceCondition, ...written } = given
  const audience = readAudience({ audienceType, segmentId, audienceCondition })
  const rendered = await withRenderedBody(db, projectId, written)
  const content = { ...rendered, body: rendered.body ?? missingBody() }
  await assertRenderable(projectId, content)
  assertSenderName(content)
  if (content.templateId && !(await findTemplate(db, projectId, content.templateId))) templateNotFound(content.templateId)
  await assertSender(db, projectId, content.from)
  return { ...content, audience }
}

/** The specification has another code for an unverified sender of a campaign than for that of an email. */
export const assertSender = (db: Db, projectId: string, from: string) =>
  assertVerified(db, projectId, from).catch((err) => {
    if (!(err instanceof AppError) || err.code !== 'DOMAIN_NOT_VERIFIED') throw err
    return fail('INTERNAL_SERVER_ERROR', { ...err.extra, statusCode: err.statusCode, message: err.message })
  })
