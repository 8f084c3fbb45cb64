import { queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../api.ts'

export const segmentQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'segments', 'one', id), queryFn: () => apiOf(projectId).segments.get(id) })

/** Uses of all segments by their ids, with the entries and exits of the last seven days. */
export const usageCountsQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'segments', 'usage-counts'),
    queryFn: async () => new Map((await apiOf(projectId).segments.usageCounts()).data.map((uses) => [uses.id, uses])),
  })

export const usageQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'segments', 'usage', id), queryFn: () => apiOf(projectId).segments.usage(id) })

export const explainQuery = (projectId: string, id: string, contactId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'segments', 'explain', id, contactId),
    queryFn: () => apiOf(projectId).segments.explain(id, contactId),
    enabled: contactId !== '',
    staleTime: 0,
  })
