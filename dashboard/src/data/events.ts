import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { invalidate, keysOf } from './keys.ts'

const key = keysOf('events')

export const eventNamesQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'list', 'names'), queryFn: async () => (await apiOf(projectId).events.names()).eventNames })

const COUNTED_DAYS = 30

/** Event names with their counts of the last 30 days, most frequent first; names without an event in that time come last. */
export const eventCountsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'counts'),
    queryFn: async () => {
      const startDate = new Date(Date.now() - COUNTED_DAYS * 86_400_000).toISOString().slice(0, 10)
      const api = apiOf(projectId)
      const [{ eventNames }, stats] = await Promise.all([api.events.names(), api.events.stats({ startDate })])
      const counts = new Map(stats.map(({ name, count }) => [name, count]))
      return eventNames.map((name) => ({ name, count: counts.get(name) ?? 0 })).sort((a, b) => b.count - a.count)
    },
  })

/** Names of events with their figures, the most frequent first. Counting people reads events, so it is requested for a chosen name only. */
export const eventDetailsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'details'),
    queryFn: async () => (await apiOf(projectId).events.namesDetails({ pageSize: 100 })).data,
  })

export const eventUsageQuery = (projectId: string, name: string) =>
  queryOptions({ queryKey: key(projectId, 'usage', name), queryFn: () => apiOf(projectId).events.usage(name) })

export const invalidateEvents = (queries: QueryClient, projectId: string) => invalidate(queries, projectId, 'events')

/** An event can be the first of its name, make a contact, and carry fields. */
export const invalidateTracked = (queries: QueryClient, projectId: string) =>
  invalidate(queries, projectId, 'events', 'contacts', 'fields', 'setup')
