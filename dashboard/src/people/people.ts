import type { Sterna } from '@sterna/sdk'
import { queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../api.ts'

type Person = { id: string; email: string }
/** Finds contacts to choose from; `scope` names them in the cache. */
export type FindPeople = { scope: string; find: (projectId: string, search: string, limit: number) => Promise<Person[]> }

export const EVERYONE: FindPeople = {
  scope: 'everyone',
  find: async (projectId, search, limit) => (await apiOf(projectId).contacts.list({ limit, ...(search && { search }) })).data,
}

/** Contacts that are offered at once. */
const MAX_PEOPLE = 8

export const peopleQuery = (projectId: string, { scope, find }: FindPeople, search: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'contacts', 'to-choose', scope, search),
    queryFn: () => find(projectId, search, MAX_PEOPLE),
  })

export const personQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'contacts', 'one', id), queryFn: () => apiOf(projectId).contacts.get(id) })

/** The contact with exactly this address: a part of it would find another one, whose executions might then be cancelled. */
export const findByAddress = async (api: Sterna, address: string): Promise<Person | undefined> =>
  (await api.contacts.list({ field: 'email', value: address, limit: 1 })).data[0]
