import { queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../api.ts'

/** The parts of a message. The URL of its frame lasts 15 minutes; an older one is fetched again. */
export const messageQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'sandbox', 'parts', id),
    queryFn: () => apiOf(projectId).sandbox.preview(id),
    staleTime: 10 * 60_000,
    gcTime: 0,
  })

export const sourceQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'sandbox', 'source', id), queryFn: () => apiOf(projectId).sandbox.get(id) })

/** For the badge: messages since the page was last looked at. */
export const newestMessagesQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'sandbox', 'newest'), queryFn: () => apiOf(projectId).sandbox.list({ limit: 20 }) })
