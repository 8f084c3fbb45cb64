import { sql } from 'kysely'
import { z } from 'zod'
import type { ConditionTree } from '../../conditions/schema.ts'
import { type Db, maybeOne } from '../../db/index.ts'
import type { NewContent } from '../../delivery/outbox/contents/new-content.ts'
import { SLOWDOWNS, slowdownsSql } from '../../delivery/outbox/streams/slowdowns.ts'
import { derivedPauseSql } from '../../delivery/outbox/streams/streams.ts'
import type { SkipReason } from '../../delivery/rules/may-send.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { fail } from '../../lib/errors/errors.ts'
import { isId } from '../../lib/id.ts'
import { Design } from '../../templates/design/schema.ts'
import { TYPES } from '../../templates/template.ts'

export const CAMPAIGN_STATUSES = ['DRAFT', 'SCHEDULED', 'SENDING', 'SENT', 'CANCELLED'] as const
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number]
export const AUDIENCE_TYPES = ['ALL', 'SEGMENT', 'FILTERED'] as const

/** The first four are stored and need a resume; the others follow from the state of the project, the provider and the domain. */
const PAUSED_REASONS = [
  'person',
  'spike',
  'billing_limit',
  'audience_failed',
  'project_disabled',
  'provider_quota',
  'provider',
  'domain',
  'domain_paused',
] as const

const time = Timestamp.nullable()
/** A stored tree, which is valid. */
const StoredCondition = z.unknown().meta({ $ref: '#/components/schemas/Condition' })

/** Why a contact of the audience is not a recipient. */
export const EXCLUSION_REASONS = ['unsubscribed', 'suppressed', 'invalid'] as const satisfies SkipReason[]
const ExcludedCounts = z.object({ unsubscribed: z.int(), suppressed: z.int(), invalid: z.int() })

/** Lists leave out the design, which may be larger than the rest of a page. */
export const CampaignListItem = z
  .object({
    id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    subject: z.string(),
    body: z.string(),
    hasDesign: z.boolean().describe('Whether `body` was rendered from a design.'),
    previewText: z.string().nullable(),
    from: z.string(),
    fromName: z.string().nullable(),
    replyTo: z.string().nullable(),
    type: z.enum(TYPES),
    status: z.enum(CAMPAIGN_STATUSES),
    audienceType: z.enum(AUDIENCE_TYPES),
    segmentId: z.uuid().nullable(),
    segment: z.object({ id: z.uuid(), name: z.string() }).nullable(),
    audienceCondition: StoredCondition.nullable(),
    templateId: z
      .uuid()
      .nullable()
      .describe('The template that the content came from. Changes of the template do not change the campaign.'),
    ratePerMinute: z.int().nullable().describe('Most emails that leave in a minute. Null: as fast as the installation sends.'),
    scheduledFor: time,
    startedAt: time.describe('The audience is that of this moment.'),
    startedBy: z
      .object({ by: z.enum(['user', 'key']), userId: z.uuid().nullable() })
      .nullable()
      .describe('The user or the API key that sent or scheduled it.'),
    sentAt: time.describe('When it became `SENT`.'),
    pausedAt: time.describe('Set by a pause that needs a resume.'),
    pausedReason: z
      .enum(PAUSED_REASONS)
      .nullable()
      .describe(
        '`person`, `spike`, `billing_limit` and `audience_failed` (its recipients could not be written, for instance because its conditions ' +
          'take too long) need a resume. The others end by themselves: `provider_quota` (the quota of the provider is used up), `provider` (it ' +
          'accepts nothing for another reason), `domain` (not verified), `domain_paused` (refused by the provider), `project_disabled`.',
      ),
    slowedBy: z
      .array(z.enum(SLOWDOWNS))
      .describe(
        'Why it is sent no faster: `provider_rate` (the provider accepts no more emails a second), `installation_rate` (the limit that this ' +
          'installation has set itself), both shared by all projects, or `recipient_domains` (receivers asked for fewer emails at a time). Empty ' +
          'unless it is being sent.',
      ),
    totalRecipients: z.int().describe('Grows while the audience is being frozen.'),
    sentCount: z.int(),
    deliveredCount: z.int(),
    openedCount: z.int().describe('Recipients, not opens. Opened by a person, not by a machine.'),
    clickedCount: z.int().describe('Recipients, not clicks. Clicked by a person, not by a machine.'),
    machineOpenedCount: z.int(),
    machineClickedCount: z.int(),
    bouncedCount: z.int(),
    complainedCount: z.int(),
    unsubscribedCount: z.int().describe('Unsubscribed by a link of this campaign.'),
    failedCount: z.int(),
    skippedCount: z.int().describe('Recipients that lost eligibility after the start, or were cancelled.'),
    countersClosedAt: time.describe(
      'When its emails were first removed by age. The counters stay as they were; lists of its emails get shorter.',
    ),
    excludedCounts: ExcludedCounts.describe('Contacts of the audience that may not get the email; not among the recipients.'),
    projectId: z.uuid(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'CampaignListItem' })

export const Campaign = CampaignListItem.extend({
  design: Design.nullable().describe('The blocks that `body` was rendered from. Null for an email written as HTML.'),
}).meta({ id: 'Campaign' })

/** A campaign as read from the database: the answer, with the types that the rest of the feature needs. */
export type CampaignRow = Omit<z.output<typeof Campaign>, 'startedAt' | 'audienceCondition'> & {
  startedAt: Date | null
  audienceCondition: ConditionTree | null
}

/** Why the campaign `c` does not send at the moment; null if it does, or is not being sent. */
const PAUSED_REASON = sql`case when c.status = 'SENDING' then
  coalesce(c.paused_reason, ${derivedPauseSql({ projectId: sql`c.project_id`, domain: sql`split_part(c.from_address, '@', 2)` })}) end`

const SLOWED_BY = sql`case when c.status = 'SENDING' then ${slowdownsSql({ projectId: sql`c.project_id`, streamId: sql`c.id` })} else '{}' end`

export const LISTED_COLUMNS = sql`
  c.id, c.name, c.description, c.subject, c.body, c.design is not null as "hasDesign", c.preview_text as "previewText", c.from_address as "from", c.from_name as "fromName",
  c.reply_to as "replyTo", c.type, c.status, c.audience_type as "audienceType", c.segment_id as "segmentId",
  (select jsonb_build_object('id', s.id, 'name', s.name) from segments s where s.project_id = c.project_id and s.id = c.segment_id) as segment,
  c.audience_condition as "audienceCondition", c.template_id as "templateId", c.rate_per_minute as "ratePerMinute",
  c.scheduled_for as "scheduledFor", c.started_at as "startedAt", c.started_by as "startedBy", c.sent_at as "sentAt",
  c.paused_at as "pausedAt", ${PAUSED_REASON} as "pausedReason", ${SLOWED_BY} as "slowedBy", c.total_recipients as "totalRecipients", c.sent_count as "sentCount",
  c.delivered_count as "deliveredCount", c.opened_count as "openedCount", c.clicked_count as "clickedCount",
  c.machine_opened_count as "machineOpenedCount", c.machine_clicked_count as "machineClickedCount", c.bounced_count as "bouncedCount",
  c.complained_count as "complainedCount", c.unsubscribed_count as "unsubscribedCount", c.failed_count as "failedCount",
  c.skipped_count as "skippedCount",
  jsonb_build_object('unsubscribed', c.excluded_unsubscribed, 'suppressed', c.excluded_suppressed, 'invalid', c.excluded_invalid)
    as "excludedCounts", c.counters_closed_at as "countersClosedAt",
  c.project_id as "projectId", c.created_at as "createdAt", c.updated_at as "updatedAt"`
const CAMPAIGN_COLUMNS = sql`${LISTED_COLUMNS}, c.design`

export type CampaignKey = { projectId: string; id: string }

export const findCampaign = (db: Db, { projectId, id }: CampaignKey) => maybeOne<CampaignRow>(db)`
  select ${CAMPAIGN_COLUMNS} from campaigns c where c.project_id = ${projectId} and c.id = ${id} and c.deleted_at is null
`

export const campaignNotFound = (id: string): never =>
  fail('CAMPAIGN_NOT_FOUND', { details: { resource: 'campaign', id: id.slice(0, 100) } })

/** Fails unless the project has this campaign. */
export const getCampaign = async (db: Db, { projectId, id }: CampaignKey): Promise<CampaignRow> =>
  (isId(id) && (await findCampaign(db, { projectId, id }))) || campaignNotFound(id)

/** For an action that the status does not allow. */
export const failByStatus = (status: string, action: string): never =>
  fail('CONFLICT', { message: `A campaign with the status ${status} cannot be ${action}.`, details: { status } })

/** The content of a campaign, in the form of the outbox. */
export function contentOfCampaign(campaign: CampaignRow): Omit<NewContent, 'projectId' | 'id'> {
  const { type, subject, previewText, body, from, fromName, replyTo, templateId } = campaign
  return { type, subject, previewText, body, fromAddress: from, fromName, replyTo, headers: {}, templateId }
}
