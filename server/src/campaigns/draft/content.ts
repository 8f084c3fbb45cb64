import type { NewContent } from '../../delivery/outbox/enqueue.ts'
import type { CampaignRow } from './campaign.ts'

/** What a campaign says, as the outbox takes it. */
export function contentOfCampaign(campaign: CampaignRow): Omit<NewContent, 'projectId' | 'id'> {
  const { type, subject, previewText, body, from, fromName, replyTo, templateId } = campaign
  return { type, subject, previewText, body, fromAddress: from, fromName, replyTo, headers: {}, templateId }
}
