import type { Campaign } from '@sterna/sdk'
import { queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../api.ts'
import { openCount } from './words.ts'

export const LIVE_MS = 2_000
/** A campaign that starts so soon is watched. */
const SOON_MS = 5 * 60_000

/** True while its numbers or its status change by themselves. */
export const isLive = (campaign: Campaign): boolean => {
  const { status, scheduledFor } = campaign
  // The recipients of a cancelled campaign end one by one.
  return (
    status === 'SENDING' ||
    (status === 'CANCELLED' && openCount(campaign) > 0) ||
    (status === 'SCHEDULED' && scheduledFor !== null && Date.parse(scheduledFor) - Date.now() < SOON_MS)
  )
}

export const campaignQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'campaigns', 'one', id),
    queryFn: () => apiOf(projectId).campaigns.get(id),
    refetchInterval: ({ state }) => (state.data && isLive(state.data) ? LIVE_MS : false),
    staleTime: 0,
  })

/** The checks of the saved campaign; `revision` is its `updatedAt`. */
export const preflightQuery = (projectId: string, id: string, revision: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'campaigns', 'preflight', id, revision),
    queryFn: () => apiOf(projectId).campaigns.preflight(id),
    placeholderData: (previous) => previous,
    refetchOnWindowFocus: false,
  })

/** `state` names the numbers of the campaign: others have other reasons. */
export const reasonsQuery = (projectId: string, { id, status, failedCount, skippedCount }: Campaign) =>
  queryOptions({
    queryKey: projectKey(projectId, 'campaigns', 'reasons', id, status, failedCount, skippedCount),
    queryFn: async () => (await apiOf(projectId).campaigns.reasons(id)).data,
    enabled: failedCount + skippedCount > 0,
    placeholderData: (previous) => previous,
  })

export const hoursQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'campaigns', 'hours', id),
    queryFn: async () => (await apiOf(projectId).campaigns.hours(id)).data,
  })

export const linksQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'campaigns', 'links', id),
    queryFn: async () => (await apiOf(projectId).campaigns.links(id)).data,
  })

export const statsQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'campaigns', 'stats', id), queryFn: () => apiOf(projectId).campaigns.stats(id) })

const MAX_AUDIT = 50

export const auditQuery = (projectId: string, { id, status, pausedAt }: Campaign) =>
  queryOptions({
    queryKey: projectKey(projectId, 'campaigns', 'audit', id, status, pausedAt),
    queryFn: async () => (await apiOf(projectId).campaigns.audit(id, { limit: MAX_AUDIT })).data,
    placeholderData: (previous) => previous,
  })

export const segmentChoicesQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'segments', 'choices'),
    queryFn: async () => Object.fromEntries((await apiOf(projectId).segments.list()).map(({ id, name }) => [id, name])),
  })

/** More templates than this are found on their own page, which can be copied from. */
const MAX_TEMPLATES = 100

export const templateChoicesQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'templates', 'choices'),
    queryFn: async () => (await apiOf(projectId).templates.list({ pageSize: MAX_TEMPLATES, sort: 'updatedAt', dir: 'desc' })).data,
  })

export const sendersQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'domains'), queryFn: () => apiOf(projectId).domains.list() })

const BADGE_MS = 30_000
/** A project sends few campaigns at the same time. */
const MAX_SENDING = 10

/** `1 paused` or `2 sending`, for the navigation; null if none is under way. */
export const sendingCampaignsQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'campaigns', 'sending'),
    queryFn: async () => {
      const { data, total } = await apiOf(projectId).campaigns.list({ status: 'SENDING', pageSize: MAX_SENDING })
      const paused = data.filter(({ pausedReason }) => pausedReason !== null).length
      return paused > 0 ? `${paused} paused` : total > 0 ? `${total} sending` : null
    },
    refetchInterval: BADGE_MS,
  })
