import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { keysOf } from './keys.ts'

const key = keysOf('activity')

const NEWEST = 10
const LIVE_MS = 30_000
const MAX_UPCOMING = 5

export const newestActivityQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'newest'),
    queryFn: async () => (await apiOf(projectId).activity.list({ limit: NEWEST })).data,
    refetchInterval: LIVE_MS,
  })

/** Activities that are due next. */
export const upcomingQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'upcoming'),
    queryFn: async () => (await apiOf(projectId).activity.upcoming({ limit: MAX_UPCOMING })).activities,
    refetchInterval: LIVE_MS,
  })

/** The activities of a contact, newest first, in pages; `types` as the API takes them. */
export const contactActivityQuery = (projectId: string, contactId: string, types: string | undefined) =>
  infiniteQueryOptions({
    queryKey: key(projectId, 'of-contact', contactId, types),
    queryFn: ({ pageParam }) =>
      apiOf(projectId).activity.list({ contactId, limit: 50, ...(types && { types }), ...(pageParam && { cursor: pageParam }) }),
    initialPageParam: '',
    getNextPageParam: ({ cursor }) => cursor,
  })
