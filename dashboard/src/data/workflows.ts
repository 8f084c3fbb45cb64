import type { Workflow } from '@sterna/sdk'
import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { invalidate, invalidateLists, keysOf } from './keys.ts'

const key = keysOf('workflows')

/** More workflows than this are found on their own page. */
const MAX_OFFERED = 100

/** Workflows that are on, by name. */
export const runningWorkflowsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'running'),
    queryFn: async () =>
      (await apiOf(projectId).workflows.list({ status: 'active', pageSize: MAX_OFFERED, sort: 'name', dir: 'asc' })).data,
  })

export const workflowQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'one', id), queryFn: () => apiOf(projectId).workflows.get(id) })

/** Turning the first one on is a step of the set-up. */
export const storeWorkflow = (queries: QueryClient, projectId: string, workflow: Workflow) => {
  queries.setQueryData(workflowQuery(projectId, workflow.id).queryKey, workflow)
  return Promise.all([
    invalidateLists(queries, projectId, 'workflows'),
    queries.invalidateQueries(workflowStatsQuery(projectId, workflow.id)),
    invalidate(queries, projectId, 'setup'),
  ])
}

const LIVE_MS = 10_000

/** Counts of each step, while contacts can be in the workflow. */
export const workflowStatsQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: key(projectId, 'stats', id),
    queryFn: () => apiOf(projectId).workflows.stats(id),
    refetchInterval: LIVE_MS,
    staleTime: 0,
  })

/** How many executions have one of these statuses, at most 10,000. */
export const executionCountQuery = (projectId: string, id: string, status: ('RUNNING' | 'WAITING')[]) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'execution-count', id, status),
    queryFn: async () => (await apiOf(projectId).workflows.listExecutions(id, { status, pageSize: 1 })).total,
    refetchInterval: LIVE_MS,
    staleTime: 0,
  })

const RUNNING_MS = 2_000

/** Polled until the execution has ended; one that waits may do so for days. */
export const executionQuery = (projectId: string, id: string, executionId: string) =>
  queryOptions({
    queryKey: key(projectId, 'execution', id, executionId),
    queryFn: () => apiOf(projectId).workflows.getExecution(id, executionId),
    refetchInterval: ({ state: { data } }) => (data?.status === 'RUNNING' ? RUNNING_MS : data?.status === 'WAITING' ? LIVE_MS : false),
    staleTime: 0,
  })

/** After an execution was started or cancelled. */
export const invalidateExecutions = (queries: QueryClient, projectId: string) => invalidate(queries, projectId, 'workflows')

export const workflowExplanationQuery = (projectId: string, id: string, contactId: string) =>
  queryOptions({
    queryKey: key(projectId, 'explain', id, contactId),
    queryFn: () => apiOf(projectId).workflows.explain(id, contactId),
    staleTime: 0,
  })

/** `person` undefined: a made-up subscribed one. `answers` are branches to take, `inspect` the position in the path of a step to inspect. */
type Tried = {
  person: string | undefined
  eventName: string
  eventData: unknown
  answers: Record<string, string>
  inspect: number | undefined
}

/** The path that was shown stays while the next one is computed. */
export const simulationQuery = (projectId: string, { id, version }: Pick<Workflow, 'id' | 'version'>, tried: Tried) =>
  queryOptions({
    queryKey: key(projectId, 'simulate', id, version, tried),
    queryFn: () => {
      const { person, eventName, eventData, answers, inspect } = tried
      const data = typeof eventData === 'object' && eventData !== null ? { data: { ...eventData } } : {}
      return apiOf(projectId).workflows.simulate(id, {
        ...(person && { contactId: person }),
        ...(eventName && { event: { name: eventName, ...data } }),
        ...(Object.keys(answers).length > 0 && { answers }),
        ...(inspect !== undefined && { inspect }),
      })
    },
    placeholderData: keepPreviousData,
    staleTime: 0,
    gcTime: 0,
  })

export const conditionFieldsQuery = (projectId: string, eventName: string | undefined) =>
  queryOptions({
    queryKey: key(projectId, 'fields', eventName),
    queryFn: async () => (await apiOf(projectId).workflows.fields(eventName ? { eventName } : {})).typedFields,
  })

export const workflowVersionsQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: key(projectId, 'versions', id),
    queryFn: async () => (await apiOf(projectId).workflows.listVersions(id)).data,
    staleTime: 0,
  })

/** The steps of a version never change. */
export const workflowVersionQuery = (projectId: string, id: string, version: number) =>
  queryOptions({
    queryKey: key(projectId, 'version', id, version),
    queryFn: () => apiOf(projectId).workflows.getVersion(id, String(version)),
    staleTime: Number.POSITIVE_INFINITY,
  })

const MAX_RECENT = 10

/** The last executions, of one contact or of all. */
export const recentExecutionsQuery = (projectId: string, id: string, contactId: string | undefined) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'recent-executions', id, contactId),
    queryFn: async () =>
      (await apiOf(projectId).workflows.listExecutions(id, { pageSize: MAX_RECENT, ...(contactId && { contactId }) })).data,
    refetchInterval: LIVE_MS,
    staleTime: 0,
  })

export const recipesQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'recipes'),
    queryFn: async () => (await apiOf(projectId).workflows.listRecipes()).data,
    staleTime: Number.POSITIVE_INFINITY,
  })

/** A recipe also makes templates, and a segment for a schedule. */
export const invalidateRecipeParts = (queries: QueryClient, projectId: string) => invalidate(queries, projectId, 'templates', 'segments')

const MAX_REPLIES = 5

/** The last visits of a WEBHOOK step, with what the host answered. */
export const stepRepliesQuery = (projectId: string, id: string, stepId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'replies', id, stepId),
    queryFn: async () => (await apiOf(projectId).workflows.stepVisits(id, stepId, { limit: MAX_REPLIES })).data,
    refetchInterval: LIVE_MS,
    staleTime: 0,
  })
