import { queryOptions } from '@tanstack/react-query'
import { api, apiOf, projectKey } from '../../api.ts'

export const setupStateQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'setup-state'), queryFn: () => api.projects.setupState(projectId) })

/** The same key as the page of domains uses. */
export const domainsQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'domains'), queryFn: () => apiOf(projectId).domains.list() })

/** Names of events that the customer tracks: the sign that an app has called the API. */
export const trackedNamesQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'events', 'tracked-names'),
    queryFn: async () => (await apiOf(projectId).events.names()).eventNames.filter((name) => !/^(email|contact|segment)\./.test(name)),
  })

export const latestEventsQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'events', 'newest'), queryFn: () => apiOf(projectId).events.list({ limit: 10 }) })

export const latestEmailsQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'emails', 'newest'), queryFn: () => apiOf(projectId).emails.list({ limit: 10 }) })
