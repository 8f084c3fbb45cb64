import { z } from 'zod'
import { readDays } from '../events/day.ts'
import { seesOneTimeValues } from '../events/masked-event.ts'
import { integerParam } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { ActivityList, ActivityQuery, listActivity } from './feed.ts'
import { ActivityStats, countRecent, listSeenTypes, MAX_RECENT, readActivityStats } from './stats.ts'
import { ACTIVITY_TYPES } from './type.ts'
import { listUpcoming, UpcomingActivity } from './upcoming.ts'

const Type = z.enum(ACTIVITY_TYPES)

export function activityRoutes(app: App, { db, secrets }: Deps) {
  const route = routesOf(app, { tags: ['Activity'], caller: 'project', role: 'MEMBER', scope: 'read', read: true })

  route.get(
    '/activity',
    {
      summary: 'List activities, newest first',
      description:
        'Emails, events, subscriptions, suppressions, campaigns and workflows in one list. With `contactId` or dates `total` stops at 10,000.',
      querystring: ActivityQuery,
      response: ActivityList,
      slowRead: true,
    },
    (req) => listActivity(db, secrets, req.project.id, { ...req.query, isMasked: !seesOneTimeValues(req.project) }),
  )

  route.get(
    '/activity/stats',
    {
      summary: 'Count activities',
      description: 'By whole UTC days, including those of `startDate` and `endDate`; without dates of all time.',
      querystring: z.object({ startDate: z.string().optional(), endDate: z.string().optional() }),
      response: ActivityStats,
      slowRead: true,
    },
    (req) => readActivityStats(db, req.project.id, readDays(req.query)),
  )

  route.get(
    '/activity/recent-count',
    {
      summary: 'Count the activities of the last minutes',
      description: `Counts up to ${MAX_RECENT.toLocaleString('en')}.`,
      querystring: z.object({ minutes: integerParam(5, 1_440) }),
      response: z.object({ count: z.int(), minutes: z.int() }),
    },
    async (req) => ({ count: await countRecent(db, req.project.id, req.query.minutes), minutes: req.query.minutes }),
  )

  route.get(
    '/activity/types',
    {
      summary: 'List the types of activities',
      response: z.object({ types: z.array(Type), seen: z.array(Type).describe('Types that have happened in this project.') }),
      slowRead: true,
    },
    async (req) => ({ types: [...ACTIVITY_TYPES], seen: await listSeenTypes(db, req.project.id) }),
  )

  route.get(
    '/activity/upcoming',
    {
      summary: 'List what is due next',
      description: 'Scheduled campaigns, and executions of workflows whose pause ends, the next first.',
      querystring: z.object({ limit: integerParam(20, 100), daysAhead: integerParam(30, 366) }),
      response: z.object({ activities: z.array(UpcomingActivity) }),
    },
    async (req) => ({ activities: await listUpcoming(db, req.project.id, req.query) }),
  )
}
