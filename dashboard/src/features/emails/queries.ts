import { queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../api.ts'
import { pollInterval } from '../../poll.ts'
import { isUnderWay } from './email-story.ts'

/** An email with its story. Polled until nothing more is being sent. */
export const emailQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'emails', 'one', id),
    queryFn: () => apiOf(projectId).emails.get(id),
    refetchInterval: ({ state }) => (state.data && isUnderWay(state.data) ? pollInterval(state.dataUpdateCount) : false),
    staleTime: 0,
  })

/** The URL of its frame lasts 15 minutes; an older one is fetched again. */
export const emailPreviewQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'emails', 'preview', id),
    queryFn: () => apiOf(projectId).emails.preview(id),
    staleTime: 10 * 60_000,
    gcTime: 0,
  })

/** More templates and campaigns than this are found by their own pages. */
const MAX_OFFERED = 100

/** Names of templates by their ids, for the filter and the column. */
export const templateNamesQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'templates', 'names'),
    queryFn: async () => {
      const { data } = await apiOf(projectId).templates.list({ pageSize: MAX_OFFERED, sort: 'name', dir: 'asc' })
      return Object.fromEntries(data.map(({ id, name }) => [id, name]))
    },
  })

/** Names of the newest campaigns by their ids, for the filter and the facts of an email. */
export const campaignNamesQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'campaigns', 'names'),
    queryFn: async () => {
      const { data } = await apiOf(projectId).campaigns.list({ pageSize: MAX_OFFERED })
      return Object.fromEntries(data.map(({ id, name }) => [id, name]))
    },
  })
