import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, apiOf, projectKey } from '../../api.ts'
import { type Period, splitSeries } from '../../figures/period.ts'

export const setupStateQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'setup-state'), queryFn: () => api.projects.setupState(projectId), staleTime: 0 })

/** The same key as the page of domains uses. */
export const domainsQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'domains'), queryFn: () => apiOf(projectId).domains.list() })

/** Whether anything was ever sent. */
export const latestEmailsQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'emails', 'newest'), queryFn: () => apiOf(projectId).emails.list({ limit: 1 }) })

/** Days of the period and of the one before, in the time zone of the project. */
export const seriesQuery = (projectId: string, period: Period) =>
  queryOptions({
    queryKey: projectKey(projectId, 'analytics', 'series', period, undefined),
    queryFn: async () => {
      const { beforeFrom, to, timezone } = period
      return splitSeries(await apiOf(projectId).analytics.timeseries({ startDate: beforeFrom, endDate: to, timezone }), period)
    },
    placeholderData: keepPreviousData,
  })

export const growthQuery = (projectId: string, period: Period) =>
  queryOptions({
    queryKey: projectKey(projectId, 'analytics', 'growth-days', period),
    queryFn: async () => {
      const { days } = await apiOf(projectId).analytics.growth({ startDate: period.beforeFrom, endDate: period.to })
      return splitSeries(days, period)
    },
    placeholderData: keepPreviousData,
  })

export const newestActivityQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'activity', 'newest'),
    queryFn: async () => (await apiOf(projectId).activity.list({ limit: 10 })).data,
  })

export const upcomingQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'activity', 'upcoming'),
    queryFn: async () => (await apiOf(projectId).activity.upcoming({ limit: 5 })).activities,
  })

export const topCampaignsQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'analytics', 'top-campaigns'),
    queryFn: () => apiOf(projectId).analytics.topCampaigns({ limit: 5, metric: 'clicks' }),
  })

export const underWayQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'campaigns', 'under-way'),
    queryFn: async () => {
      const { data } = await apiOf(projectId).campaigns.list({ pageSize: 100 })
      return data.filter(({ status, pausedReason }) => status === 'SENDING' || pausedReason !== null)
    },
  })

/** The same key as the page of the doctor uses. Only operators may ask. */
export const verdictQuery = queryOptions({
  queryKey: ['doctor'],
  queryFn: () => api.doctor.get(),
  select: ({ verdict }) => verdict,
})

export const securityQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'security'), queryFn: () => api.projects.security(projectId), staleTime: 0 })

export const limitsQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'billing', 'limits'), queryFn: () => api.projects.billingLimits(projectId), staleTime: 0 })
