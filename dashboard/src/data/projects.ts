import type { Result } from '@sterna/sdk'
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { api, apiOf } from '../client/api.ts'
import { invalidate, keysOf } from './keys.ts'

const key = keysOf('setup')
const teamKey = keysOf('team')

/** The projects of the user, each with its keys and settings. */
export const projectsQuery = queryOptions({ queryKey: ['projects'], queryFn: () => api.projects.list() })

export const invalidateProjects = (queries: QueryClient) => queries.invalidateQueries(projectsQuery)

/** The first times of a project, such as its first email. */
export const setupStateQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'state'), queryFn: () => api.projects.setupState(projectId), staleTime: 0 })

export const keyUsageQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'key-usage'), queryFn: () => api.projects.keyUsage(projectId), staleTime: 0 })

/** The pair, and the other keys of the project. */
export const apiKeysQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'keys'), queryFn: () => api.projects.listKeys(projectId), staleTime: 0 })

export const invalidateKeys = (queries: QueryClient, projectId: string) =>
  Promise.all([
    invalidateProjects(queries),
    queries.invalidateQueries(keyUsageQuery(projectId)),
    queries.invalidateQueries(apiKeysQuery(projectId)),
  ])

/** Forgotten with the page that shows it. */
export const webhookSecretQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'webhook-secret'), queryFn: () => api.projects.webhookSecret(projectId), gcTime: 0 })

/** The bounce and complaint rates, with the thresholds from which the project is warned and stopped. */
export const securityQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'security'), queryFn: () => api.projects.security(projectId), staleTime: 0 })

/** A project that is enabled again says so everywhere. */
export const storeSecurity = (queries: QueryClient, projectId: string, security: Result<'GET /projects/{id}/security'>) => {
  queries.setQueryData(securityQuery(projectId).queryKey, security)
  return Promise.all([invalidateProjects(queries), queries.invalidateQueries(securityQuery(projectId))])
}

export const membersQuery = (projectId: string) =>
  queryOptions({ queryKey: teamKey(projectId, 'members'), queryFn: () => api.members.list(projectId) })

export const invitationsQuery = (projectId: string) =>
  queryOptions({ queryKey: teamKey(projectId, 'invitations'), queryFn: () => api.invitations.list(projectId) })

export const invalidateTeam = (queries: QueryClient, projectId: string) => invalidate(queries, projectId, 'team')

const webhookKey = keysOf('webhooks')

export const endpointsQuery = (projectId: string) =>
  queryOptions({ queryKey: webhookKey(projectId, 'list', 'endpoints'), queryFn: () => apiOf(projectId).webhookEndpoints.list() })

export const endpointQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: webhookKey(projectId, 'endpoint', id), queryFn: () => apiOf(projectId).webhookEndpoints.get(id) })

export const invalidateWebhooks = (queries: QueryClient, projectId: string) => invalidate(queries, projectId, 'webhooks')
