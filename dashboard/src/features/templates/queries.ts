import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../api.ts'

export const templateQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'templates', 'one', id), queryFn: () => apiOf(projectId).templates.get(id) })

export const usageQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'templates', 'usage', id), queryFn: () => apiOf(projectId).templates.usage(id) })

/** How often each template of a page of the list is used. */
export const usageCountsQuery = (projectId: string, ids: string[]) =>
  queryOptions({
    queryKey: projectKey(projectId, 'templates', 'usage-counts', ids.join()),
    queryFn: async () => {
      const { data } = await apiOf(projectId).templates.usageCounts({ ids: ids.join() })
      return new Map(data.map((counts) => [counts.id, counts]))
    },
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  })

export const versionsQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'templates', 'versions', id),
    queryFn: async () => (await apiOf(projectId).templates.listVersions(id)).data,
  })

/** The content of a version never changes. */
export const versionQuery = (projectId: string, id: string, version: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'templates', 'version', id, version),
    queryFn: () => apiOf(projectId).templates.getVersion(id, version),
    staleTime: Number.POSITIVE_INFINITY,
  })
