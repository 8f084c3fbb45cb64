import type { Campaign, CampaignListItem } from '@sterna/sdk'
import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { namesById } from '../ui/form/options.ts'
import { invalidateLists, keysOf } from './keys.ts'

const key = keysOf('campaigns')

/** More campaigns than this are found by their own page. */
const MAX_OFFERED = 100

const newestCampaignsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'newest'),
    queryFn: async () => (await apiOf(projectId).campaigns.list({ pageSize: MAX_OFFERED })).data,
  })

/** Names of the newest campaigns by their ids. */
export const campaignNamesQuery = (projectId: string) => queryOptions({ ...newestCampaignsQuery(projectId), select: namesById })

const MAX_RECENT = 10

/** Campaigns whose content a new one can start from, the newest first. */
export const recentCampaignsQuery = (projectId: string) =>
  queryOptions({ ...newestCampaignsQuery(projectId), select: (campaigns: CampaignListItem[]) => campaigns.slice(0, MAX_RECENT) })

/** Campaigns that are being sent, or paused. */
export const campaignsUnderWayQuery = (projectId: string) => queryOptions({ ...newestCampaignsQuery(projectId), select: underWay })

const underWay = (campaigns: CampaignListItem[]) =>
  campaigns.filter(({ status, pausedReason }) => status === 'SENDING' || pausedReason !== null)

const BADGE_MS = 30_000
/** A project sends few campaigns at the same time. */
const MAX_SENDING = 10

/** `1 paused` or `2 sending`, for the navigation; null if none is being sent. */
export const sendingCampaignsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'sending'),
    queryFn: async () => {
      const { data, total } = await apiOf(projectId).campaigns.list({ status: 'SENDING', pageSize: MAX_SENDING })
      const paused = data.filter(({ pausedReason }) => pausedReason !== null).length
      return paused > 0 ? `${paused} paused` : total > 0 ? `${total} sending` : null
    },
    refetchInterval: BADGE_MS,
  })

/** Recipients who still wait for the email. */
export const waitingCount = ({ totalRecipients, sentCount, failedCount, skippedCount }: CampaignListItem): number =>
  Math.max(0, totalRecipients - sentCount - failedCount - skippedCount)

export const CAMPAIGN_LIVE_MS = 2_000
/** Poll campaigns that start within five minutes. */
const SOON_MS = 5 * 60_000

/** True while its numbers or its status change by themselves. */
export const isLive = (campaign: CampaignListItem): boolean => {
  const { status, scheduledFor } = campaign
  // The recipients of a cancelled campaign end one by one.
  return (
    status === 'SENDING' ||
    (status === 'CANCELLED' && waitingCount(campaign) > 0) ||
    (status === 'SCHEDULED' && scheduledFor !== null && Date.parse(scheduledFor) - Date.now() < SOON_MS)
  )
}

export const campaignQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: key(projectId, 'one', id),
    queryFn: () => apiOf(projectId).campaigns.get(id),
    refetchInterval: ({ state }) => (state.data && isLive(state.data) ? CAMPAIGN_LIVE_MS : false),
    staleTime: 0,
  })

/** Shows the new state of a campaign everywhere. */
export const storeCampaign = (queries: QueryClient, projectId: string, campaign: Campaign) => {
  queries.setQueryData(campaignQuery(projectId, campaign.id).queryKey, campaign)
  return invalidateLists(queries, projectId, 'campaigns')
}

/** The checks of the saved campaign; `revision` is its `updatedAt`. */
export const preflightQuery = (projectId: string, id: string, revision: string) =>
  queryOptions({
    queryKey: key(projectId, 'preflight', id, revision),
    queryFn: () => apiOf(projectId).campaigns.preflight(id),
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: false,
  })

/** Read again when the counts of the campaign change. */
export const reasonsQuery = (projectId: string, { id, status, failedCount, skippedCount }: Campaign) =>
  queryOptions({
    queryKey: key(projectId, 'reasons', id, status, failedCount, skippedCount),
    queryFn: async () => (await apiOf(projectId).campaigns.reasons(id)).data,
    enabled: failedCount + skippedCount > 0,
    placeholderData: keepPreviousData,
  })

export const campaignHoursQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'hours', id), queryFn: async () => (await apiOf(projectId).campaigns.hours(id)).data })

export const campaignLinksQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'links', id), queryFn: async () => (await apiOf(projectId).campaigns.links(id)).data })

/** The email with the clicks on its links; other clicks are another page. The page in the frame expires. */
export const clickMapQuery = (projectId: string, id: string, clicks: number | undefined) =>
  queryOptions({
    queryKey: key(projectId, 'click-map', id, clicks),
    queryFn: () => apiOf(projectId).campaigns.previewLinks(id),
    enabled: clicks !== undefined,
    placeholderData: keepPreviousData,
    gcTime: 0,
    // It would scroll back to its top.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })

/** The email as it is sent, for a made-up person. The page in the frame expires. */
export const campaignPreviewQuery = (projectId: string, campaign: Campaign) => {
  const { id, subject, previewText, body, type, from, fromName, updatedAt } = campaign
  const content = { subject, ...(previewText && { previewText }), body, type, from, ...(fromName && { fromName }), frame: true }
  return queryOptions({
    queryKey: key(projectId, 'preview', id, updatedAt),
    queryFn: () => apiOf(projectId).templates.previewContent(content),
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
}

export const campaignStatsQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'stats', id), queryFn: () => apiOf(projectId).campaigns.stats(id) })

const MAX_AUDIT = 50

export const campaignAuditQuery = (projectId: string, { id, status, pausedAt }: Campaign) =>
  queryOptions({
    queryKey: key(projectId, 'audit', id, status, pausedAt),
    queryFn: async () => (await apiOf(projectId).campaigns.audit(id, { limit: MAX_AUDIT })).data,
    placeholderData: keepPreviousData,
  })
