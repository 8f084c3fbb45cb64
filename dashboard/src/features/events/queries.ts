import { queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../api.ts'

const DAYS = 30

/** Event names with their counts of the last 30 days, most frequent first; names without an event in that time come last. */
export const eventNamesQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'events', 'names'),
    queryFn: async () => {
      const startDate = new Date(Date.now() - DAYS * 86_400_000).toISOString().slice(0, 10)
      const api = apiOf(projectId)
      const [{ eventNames }, stats] = await Promise.all([api.events.names(), api.events.stats({ startDate })])
      const counts = new Map(stats.map(({ name, count }) => [name, count]))
      return eventNames.map((name) => ({ name, count: counts.get(name) ?? 0 })).sort((a, b) => b.count - a.count)
    },
  })

/** Names of events with their figures, the most frequent first. Counting people reads events, so it is requested for a chosen name only. */
export const eventDetailsQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'events', 'details'),
    queryFn: async () => (await apiOf(projectId).events.namesDetails({ pageSize: 100 })).data,
  })

export const eventUsageQuery = (projectId: string, name: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'events', 'usage', name), queryFn: () => apiOf(projectId).events.usage(name) })
