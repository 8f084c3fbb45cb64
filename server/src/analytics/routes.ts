import { z } from 'zod'
import { readDays } from '../events/day.ts'
import { choiceParam, integerParam } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { CampaignBreakdown, CampaignMetricParam, listTopCampaigns, readCampaignBreakdown, TopCampaign } from './campaigns.ts'
import { readDeliveryTimes } from './delivery-times.ts'
import { listRecipientDomains } from './domains.ts'
import { FigureFields, RollupFilterQuery } from './figures.ts'
import { GrowthFields, readGrowth } from './growth.ts'
import { LEADERBOARDS, listLeaders } from './leaderboard.ts'
import { PeriodQuery, readPeriod, readTimezone, TimezoneParam } from './period.ts'
import { MAX_HOURLY_DAYS, readDaily, readHourly, readWeek } from './timeseries.ts'
import { listTopEvents } from './top-events.ts'
import { readSummary } from './totals.ts'

const Rate = z.number().describe('Percent of the sent emails, with one decimal.')
const rates = { deliveryRate: Rate, openRate: Rate, clickRate: Rate }

const Point = z
  .object({
    date: z.string().describe('A day such as 2026-01-31; with `interval=hour` the time at which the hour begins.'),
    ...FigureFields,
  })
  .meta({ id: 'AnalyticsPoint' })
const Totals = z.object({ from: z.string(), to: z.string(), ...FigureFields, ...GrowthFields }).meta({ id: 'AnalyticsTotals' })
const DomainFigures = z
  .object({
    domain: z.string(),
    isOther: z.boolean().describe('True for all other domains together.'),
    ...FigureFields,
    ...rates,
    bounceRate: z.number().describe('Percent of the sent or refused emails, with one decimal.'),
    complaintRate: Rate,
  })
  .meta({ id: 'DomainFigures' })
const Leader = z
  .object({ id: z.uuid(), name: z.string().nullable().describe('Null if it was deleted.'), ...FigureFields, ...rates })
  .meta({ id: 'AnalyticsLeader' })
const Growth = z
  .object({
    days: z.array(z.object({ date: z.string(), ...GrowthFields })),
    sources: z.array(
      z.object({ source: z.string().describe('As in the consents of a contact; `unknown` for older contacts.'), ...GrowthFields }),
    ),
    total: z.int().describe('Contacts now.'),
    subscribed: z.int().describe('Subscribed contacts now.'),
  })
  .meta({ id: 'ContactGrowth' })
const DeliveryTimes = z
  .object({
    count: z.int().describe('Emails reported as delivered in the period.'),
    p50Seconds: z.number().nullable().describe('Half of them were delivered within this time. Estimated from the buckets.'),
    p95Seconds: z.number().nullable(),
    buckets: z.array(z.object({ upToSeconds: z.number().nullable(), count: z.int() })),
  })
  .meta({ id: 'DeliveryTimes' })
const TopEvent = z.object({
  name: z.string(),
  count: z.int(),
  previousCount: z.int().describe('In the period of the same length before.'),
  trend: z.number().nullable().describe('Change against the period before, in percent with one decimal. Null if there were none.'),
})

export function analyticsRoutes(app: App, { db }: Deps) {
  const route = routesOf(app, { tags: ['Analytics'], caller: 'project', role: 'MEMBER', scope: 'read', read: true, slowRead: true })

  route.get(
    '/analytics/timeseries',
    {
      summary: 'Get figures of emails by day or hour',
      description: `One point per day or hour, also if nothing happened. Each figure counts at the time at which it happened, a few seconds later. At most 731 days, by the hour ${MAX_HOURLY_DAYS}.`,
      querystring: PeriodQuery.extend({ ...RollupFilterQuery, interval: choiceParam(['day', 'hour'], 'day'), timezone: TimezoneParam }),
      response: z.array(Point),
    },
    (req) => {
      const isHourly = req.query.interval === 'hour'
      const period = readPeriod(req.query, isHourly ? { maxDays: MAX_HOURLY_DAYS } : {})
      const series = { ...req.query, ...period, timezone: readTimezone(req.query.timezone) }
      return (isHourly ? readHourly : readDaily)(db, req.project.id, series)
    },
  )

  route.get(
    '/analytics/summary',
    {
      summary: 'Get the figures of a period and of the one before',
      description: 'By UTC day.',
      querystring: PeriodQuery,
      response: z.object({ current: Totals, previous: Totals }),
    },
    (req) => readSummary(db, req.project.id, readPeriod(req.query)),
  )

  route.get(
    '/analytics/weekday-hours',
    {
      summary: 'Get figures of emails by hour of the week',
      querystring: PeriodQuery.extend({ ...RollupFilterQuery, timezone: TimezoneParam }),
      response: z.array(z.object({ weekday: z.int().describe('1 (Monday) to 7.'), hour: z.int(), ...FigureFields })),
    },
    (req) => readWeek(db, req.project.id, { ...req.query, ...readPeriod(req.query), timezone: readTimezone(req.query.timezone) }),
  )

  route.get(
    '/analytics/top-campaigns',
    {
      summary: 'List the best campaigns',
      description: 'Campaigns that began in the period, or all campaigns if no period is given.',
      querystring: PeriodQuery.extend({ limit: integerParam(10, 100), metric: CampaignMetricParam }),
      response: z.array(TopCampaign),
    },
    (req) => listTopCampaigns(db, req.project.id, { ...req.query, days: readDays(req.query) }),
  )

  route.get(
    '/analytics/campaign-stats',
    {
      summary: 'Count campaigns by status, and their results',
      description: 'With dates: of campaigns that began in the period.',
      querystring: PeriodQuery,
      response: CampaignBreakdown,
    },
    (req) => readCampaignBreakdown(db, req.project.id, readDays(req.query)),
  )

  route.get(
    '/analytics/leaders',
    {
      summary: 'List campaigns, templates or workflows by clicks',
      description: 'By the share of emails that were clicked in the period. Those with fewer than 50 sent emails come last.',
      querystring: PeriodQuery.extend({ by: choiceParam(LEADERBOARDS, 'campaign'), limit: integerParam(10, 100) }),
      response: z.array(Leader),
    },
    (req) => listLeaders(db, req.project.id, { ...req.query, period: readPeriod(req.query) }),
  )

  route.get(
    '/analytics/top-events',
    {
      summary: 'List the most frequent events',
      description: 'Events that API clients track, by UTC day.',
      querystring: PeriodQuery.extend({ limit: integerParam(10, 100) }),
      response: z.array(TopEvent),
    },
    (req) => listTopEvents(db, req.project.id, { ...req.query, period: readPeriod(req.query) }),
  )

  route.get(
    '/analytics/domains',
    {
      summary: 'Get figures of emails by domain of the recipient',
      description: 'The 100 largest domains of a UTC day are counted apart, the others together.',
      querystring: PeriodQuery.extend({ limit: integerParam(20, 100) }),
      response: z.array(DomainFigures),
    },
    (req) => listRecipientDomains(db, req.project.id, { ...req.query, period: readPeriod(req.query) }),
  )

  route.get(
    '/analytics/delivery-times',
    {
      summary: 'Get the time from acceptance to delivery',
      description: 'For emails whose delivery was reported on these UTC days.',
      querystring: PeriodQuery.extend(RollupFilterQuery),
      response: DeliveryTimes,
    },
    (req) => readDeliveryTimes(db, req.project.id, { ...req.query, ...readPeriod(req.query) }),
  )

  route.get(
    '/analytics/growth',
    {
      summary: 'Get new, unsubscribed and deleted contacts by day and source',
      description: 'By UTC day.',
      querystring: PeriodQuery,
      response: Growth,
    },
    (req) => readGrowth(db, req.project.id, readPeriod(req.query)),
  )
}
