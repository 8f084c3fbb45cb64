import { queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../api.ts'
import { pollInterval } from '../poll.ts'
import { isOver } from './job-result.ts'

const ACTIVE_MS = 2_000
/** Interval of looking for jobs that were started elsewhere. */
const IDLE_MS = 30_000
/** Jobs in the tray; a project may have many more. */
const MAX_ACTIVE = 10

/** Jobs of this project that have not finished, whoever started them. */
export const activeJobsQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'jobs', 'active'),
    queryFn: async () => (await apiOf(projectId).jobs.list({ active: '1', limit: MAX_ACTIVE })).data,
    refetchInterval: ({ state }) => (state.data?.length ? ACTIVE_MS : IDLE_MS),
    staleTime: 0,
  })

/** Polled until it is over. */
export const jobQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'jobs', 'one', id),
    queryFn: () => apiOf(projectId).jobs.get(id),
    refetchInterval: ({ state }) => (isOver(state.data) || state.status === 'error' ? false : pollInterval(state.dataUpdateCount)),
    staleTime: 0,
  })
