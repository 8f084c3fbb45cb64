import type { Result } from '@sterna/sdk'
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { type Period, splitSeries, sumOf } from '../figures/period.ts'
import { configQuery } from './installation.ts'
import { keysOf } from './keys.ts'

const key = keysOf('analytics')

export type DayFigures = Result<'GET /analytics/timeseries'>[number]
export type Source = 'TRANSACTIONAL' | 'CAMPAIGN' | 'WORKFLOW'

const withSource = (source: Source | undefined) => (source ? { source } : {})
const datesOf = ({ from, to }: Period) => ({ startDate: from, endDate: to })

/** Days of the period and of the one before, in the time zone of the project. */
export const seriesQuery = (projectId: string, period: Period, source?: Source) =>
  queryOptions({
    queryKey: key(projectId, 'series', period, source),
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
    queryKey: key(projectId, 'leaders', period, by),
    queryFn: () => apiOf(projectId).analytics.leaders({ ...datesOf(period), by, limit: 20 }),
    placeholderData: keepPreviousData,
  })

export const weekQuery = (projectId: string, period: Period, source: Source | undefined) =>
  queryOptions({
    queryKey: key(projectId, 'week', period, source),
    queryFn: () => apiOf(projectId).analytics.weekdayHours({ ...datesOf(period), timezone: period.timezone, ...withSource(source) }),
    placeholderData: keepPreviousData,
  })

export const recipientDomainsQuery = (projectId: string, period: Period) =>
  queryOptions({
    queryKey: key(projectId, 'domains', period),
    queryFn: () => apiOf(projectId).analytics.domains({ ...datesOf(period), limit: 20 }),
    placeholderData: keepPreviousData,
  })

export const deliveryTimesQuery = (projectId: string, period: Period, source: Source | undefined) =>
  queryOptions({
    queryKey: key(projectId, 'delivery-times', period, source),
    queryFn: () => apiOf(projectId).analytics.deliveryTimes({ ...datesOf(period), ...withSource(source) }),
    placeholderData: keepPreviousData,
  })

/** UTC days of the period and of the one before. */
export const growthQuery = (projectId: string, period: Period) =>
  queryOptions({
    queryKey: key(projectId, 'growth', period),
    queryFn: async () => {
      const { days, total, subscribed } = await apiOf(projectId).analytics.growth({ startDate: period.beforeFrom, endDate: period.to })
      return { total, subscribed, ...splitSeries(days, period) }
    },
    placeholderData: keepPreviousData,
  })

/** Where the contacts of the period came from. */
export const contactSourcesQuery = (projectId: string, period: Period) =>
  queryOptions({
    queryKey: key(projectId, 'sources', period),
    queryFn: async () => (await apiOf(projectId).analytics.growth(datesOf(period))).sources,
    placeholderData: keepPreviousData,
  })

export const topEventsQuery = (projectId: string, period: Period) =>
  queryOptions({
    queryKey: key(projectId, 'top-events', period),
    queryFn: () => apiOf(projectId).analytics.topEvents({ ...datesOf(period), limit: 10 }),
    placeholderData: keepPreviousData,
  })

export const topCampaignsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'top-campaigns'),
    queryFn: () => apiOf(projectId).analytics.topCampaigns({ limit: 5, metric: 'clicks' }),
  })

/** Whether deliveries are known. Plain SMTP reports none: a rate of zero would be wrong. */
export function useReportsDelivery(days: DayFigures[]): boolean {
  const transport = useQuery(configQuery).data?.features.email.transport
  return transport !== 'smtp' || sumOf(days, 'delivered') > 0
}
