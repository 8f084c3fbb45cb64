import type { Job } from '@sterna/sdk'
import { queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { pollInterval } from '../client/poll.ts'
import { keysOf } from './keys.ts'

const key = keysOf('jobs')

const ACTIVE_MS = 2_000
/** Poll interval for jobs that were started elsewhere. */
const IDLE_MS = 30_000
/** Jobs in the tray; a project may have many more. */
const MAX_ACTIVE = 10

/** Unfinished jobs of this project, started by anyone. */
export const activeJobsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'active'),
    queryFn: async () => (await apiOf(projectId).jobs.list({ active: '1', limit: MAX_ACTIVE })).data,
    refetchInterval: ({ state }) => (state.data?.length ? ACTIVE_MS : IDLE_MS),
    staleTime: 0,
  })

export const isOver = (job: Pick<Job, 'state'> | undefined) => job?.state === 'completed' || job?.state === 'failed'

/** Polled until it is over. */
export const jobQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: key(projectId, 'one', id),
    queryFn: () => apiOf(projectId).jobs.get(id),
    refetchInterval: ({ state }) => (isOver(state.data) || state.status === 'error' ? false : pollInterval(state.dataUpdateCount)),
    staleTime: 0,
  })

/** Failed rows that the page of an import shows; the file has all of them. */
const SHOWN_ERRORS = 100

export const importErrorsQuery = (projectId: string, jobId: string) =>
  queryOptions({
    queryKey: key(projectId, 'import-errors', jobId),
    queryFn: async () => {
      const { result } = await apiOf(projectId).contacts.importStatus(jobId)
      // Written by the import: see the API reference.
      const errors = (result?.errors ?? []) as { row: number; email: string; error: string }[]
      return errors.slice(0, SHOWN_ERRORS).map(({ row, email, error }) => ({ row, email, note: error }))
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
