import type { Email, Sterna } from '@sterna/sdk'
import { readChoices, readRange } from '../../list/filters.ts'
import type { ListRequest } from '../../list/list-search.ts'

type Query = NonNullable<Parameters<Sterna['emails']['list']>[0]>

export const STATUS_WORDS: Record<Email['status'], string> = {
  PENDING: 'Queued',
  SENDING: 'Sending',
  SENT: 'Sent',
  DELIVERED: 'Delivered',
  OPENED: 'Opened',
  CLICKED: 'Clicked',
  BOUNCED: 'Bounced',
  COMPLAINED: 'Complained',
  FAILED: 'Failed',
  SKIPPED: 'Skipped',
}
export const SOURCE_WORDS: Record<Email['sourceType'], string> = {
  TRANSACTIONAL: 'API',
  CAMPAIGN: 'Campaign',
  WORKFLOW: 'Workflow',
  INBOUND: 'Received',
}

const isStatus = (value: string): value is Email['status'] => Object.hasOwn(STATUS_WORDS, value)
const isSource = (value: string | undefined): value is Email['sourceType'] => value !== undefined && Object.hasOwn(SOURCE_WORDS, value)
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The filters of the URL as the API takes them. What it would refuse is left out: anyone can edit a URL. */
export function emailsQuery({ q, limit, cursor, filters }: ListRequest): Query {
  const { from, to } = readRange(filters.created)
  const status = readChoices(filters.status).filter(isStatus)
  return {
    limit,
    ...(cursor && { cursor }),
    ...(q && { q }),
    ...(status.length > 0 && { status }),
    ...(isSource(filters.source) && { sourceType: filters.source }),
    ...(filters.template && UUID.test(filters.template) && { templateId: filters.template }),
    ...(filters.campaign && { campaignId: filters.campaign.trim() }),
    ...(filters.domain && { domain: filters.domain.replace(/^.*@/, '') }),
    ...(from && { createdFrom: from }),
    ...(to && { createdTo: to }),
  }
}
