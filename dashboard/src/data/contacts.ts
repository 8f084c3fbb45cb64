import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { invalidate, keysOf } from './keys.ts'

const key = keysOf('contacts')
const fieldKey = keysOf('fields')

export const contactQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'one', id), queryFn: () => apiOf(projectId).contacts.get(id) })

type Person = { id: string; email: string; data?: Record<string, unknown> | null }
/** Finds contacts to choose from; `scope` names them in the cache. */
export type FindPeople = { scope: string; find: (projectId: string, search: string, limit: number) => Promise<Person[]> }

/** Contacts that are offered at once. */
const MAX_PEOPLE = 8

export const peopleQuery = (projectId: string, { scope, find }: FindPeople, search: string) =>
  queryOptions({ queryKey: key(projectId, 'to-choose', scope, search), queryFn: () => find(projectId, search, MAX_PEOPLE) })

/** The last change of a contact's subscription. */
export const consentQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'consent', id), queryFn: () => apiOf(projectId).contacts.consent(id, { limit: 1 }) })

/** The segments that a contact is in now. */
export const contactSegmentsQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'segments', id), queryFn: () => apiOf(projectId).contacts.segments(id) })

/** Everything that shows contacts, and the names that a new contact can be the first to have. */
export const invalidateContacts = (queries: QueryClient, projectId: string) =>
  invalidate(queries, projectId, 'contacts', 'fields', 'setup', 'events', 'activity')

/** After a job on many contacts. */
export const invalidateManyContacts = (queries: QueryClient, projectId: string) =>
  invalidate(queries, projectId, 'contacts', 'fields', 'segments')

/** The fields that contacts of this project have, by the names they have in `data`. The API prefixes them: `data.plan`. */
export const fieldsQuery = (projectId: string) =>
  queryOptions({
    queryKey: fieldKey(projectId, 'list'),
    queryFn: async () => {
      const { fields } = await apiOf(projectId).fields.list()
      return fields.filter(({ isCustom }) => isCustom).map(({ field, ...rest }) => ({ ...rest, field: field.replace(/^data\./, '') }))
    },
  })

export const fieldValuesQuery = (projectId: string, field: string) =>
  queryOptions({ queryKey: fieldKey(projectId, 'values', field), queryFn: () => apiOf(projectId).fields.values(field, { limit: 50 }) })

export const fieldUsageQuery = (projectId: string, field: string) =>
  queryOptions({ queryKey: fieldKey(projectId, 'usage', field), queryFn: () => apiOf(projectId).fields.usage(field) })

/** A field is gone from every contact. */
export const invalidateFields = (queries: QueryClient, projectId: string) => invalidate(queries, projectId, 'fields', 'contacts')
