import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../api.ts'
import { invalidate, keysOf } from './keys.ts'

const key = keysOf('webhooks')

export const endpointsQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'list', 'endpoints'), queryFn: () => apiOf(projectId).webhookEndpoints.list() })

export const endpointQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'endpoint', id), queryFn: () => apiOf(projectId).webhookEndpoints.get(id) })

export const invalidateWebhooks = (queries: QueryClient, projectId: string) => invalidate(queries, projectId, 'webhooks')
