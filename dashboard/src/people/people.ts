import type { Sterna } from '@sterna/sdk'
import { apiOf } from '../client/api.ts'
import type { FindPeople } from '../data/contacts.ts'

export const EVERYONE: FindPeople = {
  scope: 'everyone',
  find: async (projectId, search, limit) => (await apiOf(projectId).contacts.list({ limit, ...(search && { q: search }) })).data,
}

/** The contact with exactly this address. A search for a part could find another one, whose executions might then be cancelled. */
export const findByAddress = async (api: Sterna, address: string): Promise<{ id: string; email: string } | undefined> =>
  (await api.contacts.list({ field: 'email', value: address, limit: 1 })).data[0]
