import { queryOptions } from '@tanstack/react-query'
import { api, apiOf, projectKey } from '../api.ts'

/** The fields of contacts, by the names they have in `data`. */
export const contactFieldsQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'fields', 'for-templates'),
    queryFn: async () => {
      const { fields } = await apiOf(projectId).fields.list()
      return fields.filter(({ isCustom }) => isCustom).map(({ field, coverage }) => ({ field: field.replace(/^data\./, ''), coverage }))
    },
  })

export const personQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'contacts', 'one', id), queryFn: () => apiOf(projectId).contacts.get(id) })

/** People that the picker offers at once. */
const MAX_PEOPLE = 8

type Person = { id: string; email: string }
/** Finds people to preview an email as; `scope` names them in the cache. */
export type FindPeople = { scope: string; find: (projectId: string, search: string, limit: number) => Promise<Person[]> }

export const EVERYONE: FindPeople = {
  scope: 'everyone',
  find: async (projectId, search, limit) => (await apiOf(projectId).contacts.list({ limit, ...(search && { search }) })).data,
}

export const peopleQuery = (projectId: string, { scope, find }: FindPeople, search: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'contacts', 'for-preview', scope, search),
    queryFn: () => find(projectId, search, MAX_PEOPLE),
  })

export const memberAddressesQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'members'), queryFn: () => api.members.list(projectId) })
