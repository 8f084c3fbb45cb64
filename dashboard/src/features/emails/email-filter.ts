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

/** The outcomes of an email, as the figures of analytics count them. */
export const FACT_WORDS: Record<NonNullable<Query['fact']>, string> = {
  sent: 'Sent',
  delivered: 'Delivered',
  opened: 'Opened by a person',
  clicked: 'Clicked by a person',
  bounced: 'Bounced',
  complained: 'Marked as spam',
  unsubscribed: 'Unsubscribed',
}

const isFact = (value: string | undefined): value is NonNullable<Query['fact']> => value !== undefined && Object.hasOwn(FACT_WORDS, value)
const isStatus = (value: string): value is Email['status'] => Object.hasOwn(STATUS_WORDS, value)
const isSource = (value: string | undefined): value is Email['sourceType'] => value !== undefined && Object.hasOwn(SOURCE_WORDS, value)
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const emailsQuery = ({ limit, cursor, ...request }: ListRequest): Query => ({
  limit,
  ...(cursor && { cursor }),
  ...emailFilter(request),
})

/** The filters of the URL as the API takes them. Values that it would refuse are left out: anyone can edit a URL. */
export function emailFilter({ q, filters }: Pick<ListRequest, 'q' | 'filters'>) {
  const { from, to } = readRange(filters.created)
  const { from: since, to: until } = readRange(filters.when)
  const fact = isFact(filters.fact) ? filters.fact : since || until ? 'sent' : undefined
  const status = readChoices(filters.status).filter(isStatus)
  return {
    ...(q && { search: q }),
    ...(status.length > 0 && { status }),
    ...(filters.scheduled === 'true' && { scheduled: 'true' as const }),
    ...(isSource(filters.source) && { sourceType: filters.source }),
    ...(filters.template && UUID.test(filters.template) && { templateId: filters.template }),
    ...(filters.campaign && { campaignId: filters.campaign.trim() }),
    ...(filters.domain && { domain: filters.domain.replace(/^.*@/, '') }),
    ...(from && { createdFrom: from }),
    ...(to && { createdTo: to }),
    ...(fact && { fact }),
    ...(since && { factFrom: since }),
    ...(until && { factTo: until }),
  }
}
