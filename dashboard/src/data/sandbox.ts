import { queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { keysOf } from './keys.ts'

const key = keysOf('sandbox')

const NEWEST = 20

/** For the badge: messages since the page was last looked at. */
export const newestMessagesQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'list', 'newest'), queryFn: () => apiOf(projectId).sandbox.list({ limit: NEWEST }) })

/** The message of an email that was sent just now. */
export const messageOfEmailQuery = (projectId: string, emailId: string) =>
  queryOptions({
    queryKey: key(projectId, 'of-email', emailId),
    queryFn: async () => {
      const { data } = await apiOf(projectId).sandbox.list({ limit: NEWEST })
      const found = data.find((each) => each.emailId === emailId)
      return found ? apiOf(projectId).sandbox.get(found.id) : null
    },
  })

/** The parts of a message. The URL of its frame lasts 15 minutes; an older one is fetched again. */
export const messageQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: key(projectId, 'parts', id),
    queryFn: () => apiOf(projectId).sandbox.preview(id),
    staleTime: 10 * 60_000,
    gcTime: 0,
  })

export const messageSourceQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'source', id), queryFn: () => apiOf(projectId).sandbox.get(id) })
