import type { Result } from '@sterna/sdk'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, apiOf, projectKey } from '../../api.ts'
import { type Period, splitSeries } from '../../figures/period.ts'

export type Source = 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW'
export type Point = Result<'GET /analytics/timeseries'>[number]

const withSource = (source: Source | undefined) => (source ? { source } : {})
const datesOf = ({ from, to }: Period) => ({ startDate: from, endDate: to })

/** Days of the period and of the one before, in the time zone of the project. */
export const seriesQuery = (projectId: string, period: Period, source: Source | undefined) =>
  queryOptions({
    queryKey: projectKey(projectId, 'analytics', 'series', period, source),
    queryFn: async () => {
      const { beforeFrom, to, timezone } = period
      const points = await apiOf(projectId).analytics.timeseries({ startDate: beforeFrom, endDate: to, timezone, ...withSource(source) })
      return splitSeries(points, period)
    },
    placeholderData: keepPreviousData,
  })

export type Board = 'campaign' | 'template' | 'workflow'

export const leadersQuery = (projectId: string, period: Period, by: Board) =>
  queryOptions({
    queryKey: projectKey(projectId, 'analytics', 'leaders', period, by),
    queryFn: () => apiOf(projectId).analytics.leaders({ ...datesOf(period), by, limit: 20 }),
    placeholderData: keepPreviousData,
  })

export const weekQuery = (projectId: string, period: Period, source: Source | undefined) =>
  queryOptions({
    queryKey: projectKey(projectId, 'analytics', 'week', period, source),
    queryFn: () => apiOf(projectId).analytics.weekdayHours({ ...datesOf(period), timezone: period.timezone, ...withSource(source) }),
    placeholderData: keepPreviousData,
  })

export const domainsQuery = (projectId: string, period: Period) =>
  queryOptions({
    queryKey: projectKey(projectId, 'analytics', 'domains', period),
    queryFn: () => apiOf(projectId).analytics.domains({ ...datesOf(period), limit: 20 }),
    placeholderData: keepPreviousData,
  })

export const deliveryTimesQuery = (projectId: string, period: Period, source: Source | undefined) =>
  queryOptions({
    queryKey: projectKey(projectId, 'analytics', 'delivery-times', period, source),
    queryFn: () => apiOf(projectId).analytics.deliveryTimes({ ...datesOf(period), ...withSource(source) }),
    placeholderData: keepPreviousData,
  })

/** UTC days of the period and of the one before. */
export const growthQuery = (projectId: string, period: Period) =>
  queryOptions({
    queryKey: projectKey(projectId, 'analytics', 'growth', period),
    queryFn: async () => {
      const { days, ...rest } = await apiOf(projectId).analytics.growth({ startDate: period.beforeFrom, endDate: period.to })
      const { sources } = await apiOf(projectId).analytics.growth(datesOf(period))
      return { ...rest, ...splitSeries(days, period), sources }
    },
    placeholderData: keepPreviousData,
  })

export const topEventsQuery = (projectId: string, period: Period) =>
  queryOptions({
    queryKey: projectKey(projectId, 'analytics', 'top-events', period),
    queryFn: () => apiOf(projectId).analytics.topEvents({ ...datesOf(period), limit: 10 }),
    placeholderData: keepPreviousData,
  })

/** The thresholds from which the project is warned and stopped. */
export const thresholdsQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'security'), queryFn: () => api.projects.security(projectId) })
