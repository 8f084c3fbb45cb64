import type { Body, Campaign, ConditionInput } from '@sterna/sdk'
import { printCondition, readConditionText } from '../../../conditions/builder/condition-text.ts'
import { type ContentValues, contentOf } from '../../../content/values/content-values.ts'
import { ordered } from '../../../design/document/design-json.ts'

/** The fields of the composer. An empty text is a field that is not set. */
export type CampaignValues = ContentValues & {
  name: string
  description: string
  replyTo: string
  audienceType: Campaign['audienceType']
  segmentId: string
  /** The condition of a filtered audience, as JSON. */
  condition: string
  templateId: string
  ratePerMinute: string
}

export const campaignValuesOf = (campaign: Campaign): CampaignValues => ({
  name: campaign.name,
  description: campaign.description ?? '',
  subject: campaign.subject,
  previewText: campaign.previewText ?? '',
  body: campaign.body,
  design: ordered(campaign.design),
  type: campaign.type,
  from: campaign.from,
  fromName: campaign.fromName ?? '',
  replyTo: campaign.replyTo ?? '',
  audienceType: campaign.audienceType,
  segmentId: campaign.segmentId ?? '',
  condition: printCondition(campaign.audienceCondition),
  templateId: campaign.templateId ?? '',
  ratePerMinute: campaign.ratePerMinute === null ? '' : String(campaign.ratePerMinute),
})

/** PUT replaces all of a campaign. */
export function bodyOf(values: CampaignValues): Body<'PUT /campaigns/{id}'> {
  const { name, subject, body, design, type, from, audienceType, segmentId, ratePerMinute } = values
  const text = (value: string) => value.trim() || null
  return {
    name: name.trim(),
    description: text(values.description),
    subject,
    previewText: text(values.previewText),
    ...contentOf({ body, design }),
    ...(!design && { design: null }),
    type,
    from: from.trim(),
    fromName: text(values.fromName),
    replyTo: text(values.replyTo),
    audienceType,
    segmentId: audienceType === 'SEGMENT' ? segmentId : null,
    audienceCondition: audienceType === 'FILTERED' ? conditionOf(values.condition) : null,
    templateId: values.templateId || null,
    ratePerMinute: ratePerMinute.trim() ? Number(ratePerMinute) : null,
  }
}

function conditionOf(text: string): ConditionInput | null {
  const read = readConditionText(text)
  return 'condition' in read ? read.condition : null
}

const MAX_RATE = 1_000_000

/** Why this cannot be saved yet; undefined if it can. */
export function campaignProblemOf(values: CampaignValues, syntaxErrors: { message: string }[] = []): string | undefined {
  const { name, subject, body, design, from, audienceType, segmentId, condition, ratePerMinute } = values
  if (!name.trim()) return 'the campaign needs a name'
  if (audienceType === 'SEGMENT' && !segmentId) return 'choose a segment'
  if (audienceType === 'FILTERED' && 'problem' in readConditionText(condition)) return 'the filter is not complete'
  if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(from.trim())) return 'the campaign needs a sender address'
  if (!subject.trim()) return 'the campaign needs a subject'
  if (!design && !body.trim()) return 'the campaign needs a body'
  if (ratePerMinute.trim() && !(/^\d+$/.test(ratePerMinute.trim()) && Number(ratePerMinute) >= 1 && Number(ratePerMinute) <= MAX_RATE))
    return 'the rate must be a whole number of emails'
  return syntaxErrors.length > 0 ? `the ${design ? 'email' : 'code'} has an error` : undefined
}
