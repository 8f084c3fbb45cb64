import type { Workflow } from '@sterna/sdk'
import { queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../api.ts'
import type { Graph } from './steps/graph.ts'

export const workflowQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'workflows', 'one', id), queryFn: () => apiOf(projectId).workflows.get(id) })

const LIVE_MS = 10_000

/** Counts of each step, while contacts can be in the workflow. */
export const statsQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'workflows', 'stats', id),
    queryFn: () => apiOf(projectId).workflows.stats(id),
    refetchInterval: LIVE_MS,
    staleTime: 0,
  })

/** How many executions have one of these statuses, at most 10,000. */
export const executionCountQuery = (projectId: string, id: string, status: ('RUNNING' | 'WAITING')[]) =>
  queryOptions({
    queryKey: projectKey(projectId, 'workflows', 'executions', id, 'count', status),
    queryFn: async () => (await apiOf(projectId).workflows.listExecutions(id, { status, pageSize: 1 })).total,
    refetchInterval: LIVE_MS,
    staleTime: 0,
  })

const RUNNING_MS = 2_000

/** Polled until the execution has ended; one that waits may do so for days. */
export const executionQuery = (projectId: string, id: string, executionId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'workflows', 'executions', id, 'one', executionId),
    queryFn: () => apiOf(projectId).workflows.getExecution(id, executionId),
    refetchInterval: ({ state: { data } }) => (data?.status === 'RUNNING' ? RUNNING_MS : data?.status === 'WAITING' ? LIVE_MS : false),
    staleTime: 0,
  })

export const explanationQuery = (projectId: string, id: string, contactId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'workflows', 'explain', id, contactId),
    queryFn: () => apiOf(projectId).workflows.explain(id, contactId),
    staleTime: 0,
  })

/** `contactId` undefined: a made-up subscribed person. */
export const simulationQuery = (
  projectId: string,
  workflow: Pick<Workflow, 'id' | 'version'>,
  contactId: string | undefined,
  event: string,
) =>
  queryOptions({
    queryKey: projectKey(projectId, 'workflows', 'simulate', workflow.id, workflow.version, contactId, event),
    queryFn: () =>
      apiOf(projectId).workflows.simulate(workflow.id, {
        ...(contactId && { contactId }),
        ...(event && { event: { name: event } }),
      }),
    staleTime: 0,
  })

/** More than these are found by their own pages. */
const MAX_OFFERED = 100

const byName = (rows: { id: string; name: string }[]) => Object.fromEntries(rows.map(({ id, name }) => [id, name]))

export const templateNamesQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'templates', 'names'),
    queryFn: async () => byName((await apiOf(projectId).templates.list({ pageSize: MAX_OFFERED, sort: 'name', dir: 'asc' })).data),
  })

export const segmentNamesQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'segments', 'names-for-workflows'),
    queryFn: async () => byName((await apiOf(projectId).segments.list()).slice(0, MAX_OFFERED)),
  })

export const eventNamesQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'events', 'all-names'),
    queryFn: async () => (await apiOf(projectId).events.names()).eventNames,
  })

export const conditionFieldsQuery = (projectId: string, eventName: string | undefined) =>
  queryOptions({
    queryKey: projectKey(projectId, 'workflows', 'fields', eventName),
    queryFn: async () => (await apiOf(projectId).workflows.fields(eventName ? { eventName } : {})).typedFields,
  })

/** The steps and transitions as the editor changes them. */
export const graphOf = ({ steps, transitions }: Pick<Workflow, 'steps' | 'transitions'>): Graph => ({
  steps: steps.map(({ id, type, name, position, config }) => ({ id, type, name, position, config })),
  transitions: transitions.map(({ id, fromStepId, toStepId, branch, priority }) => ({ id, fromStepId, toStepId, branch, priority })),
})
