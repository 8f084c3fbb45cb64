import { queryOptions } from '@tanstack/react-query'
import { api, projectKey } from '../../api.ts'

export const keyUsageQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'key-usage'), queryFn: () => api.projects.keyUsage(projectId), staleTime: 0 })

/** Forgotten with the page that shows it. */
export const webhookSecretQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'webhook-secret'),
    queryFn: () => api.projects.webhookSecret(projectId),
    gcTime: 0,
  })
