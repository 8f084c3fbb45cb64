import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../api.ts'
import { type Kind, typesOf } from './contact/timeline-entry.ts'

export const contactQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'contacts', 'one', id), queryFn: () => apiOf(projectId).contacts.get(id) })

/** The changes of a contact's subscription, newest first. */
export const consentQuery = (projectId: string, id: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'contacts', 'consent', id),
    queryFn: () => apiOf(projectId).contacts.consent(id, { limit: 1 }),
  })

/** What happened to a contact, newest first, in pages. */
export const contactActivityQuery = (projectId: string, contactId: string, kind: Kind | undefined) =>
  infiniteQueryOptions({
    queryKey: projectKey(projectId, 'activity', 'of-contact', contactId, kind),
    queryFn: ({ pageParam }) =>
      apiOf(projectId).activity.list({
        contactId,
        limit: 50,
        ...(kind && { types: typesOf(kind) }),
        ...(pageParam && { cursor: pageParam }),
      }),
    initialPageParam: '',
    getNextPageParam: ({ cursor }) => cursor,
  })

/** Failed rows that the page of an import shows; the file has all of them. */
const SHOWN_ERRORS = 100

export const importErrorsQuery = (projectId: string, jobId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'jobs', 'import-errors', jobId),
    queryFn: async () => {
      const { result } = await apiOf(projectId).contacts.importStatus(jobId)
      // Written by the import: see the API reference.
      const errors = (result?.errors ?? []) as { row: number; email: string; error: string }[]
      return errors.slice(0, SHOWN_ERRORS).map(({ row, email, error }) => ({ row, email, note: error }))
    },
    staleTime: Number.POSITIVE_INFINITY,
  })

export const segmentsQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'segments', 'names'), queryFn: () => apiOf(projectId).segments.list() })

/** Workflows that are on, by name: as many as a choice can offer. */
export const runningWorkflowsQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'workflows', 'running'),
    queryFn: async () => (await apiOf(projectId).workflows.list({ status: 'active', pageSize: 100, sort: 'name', dir: 'asc' })).data,
  })

/** The segments that a contact is in now. */
export const contactSegmentsQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'contacts', 'segments', id), queryFn: () => apiOf(projectId).contacts.segments(id) })

/** The fields that contacts of this project have, by the names they have in `data`. The API prefixes them: `data.plan`. */
export const fieldsQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'fields', 'list'),
    queryFn: async () => {
      const { fields } = await apiOf(projectId).fields.list()
      return fields.filter(({ isCustom }) => isCustom).map(({ field, ...rest }) => ({ ...rest, field: field.replace(/^data\./, '') }))
    },
  })

export const fieldValuesQuery = (projectId: string, field: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'fields', 'values', field),
    queryFn: () => apiOf(projectId).fields.values(field, { limit: 50 }),
  })

export const fieldUsageQuery = (projectId: string, field: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'fields', 'usage', field), queryFn: () => apiOf(projectId).fields.usage(field) })
