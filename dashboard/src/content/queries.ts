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

export const memberAddressesQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'members'), queryFn: () => api.members.list(projectId) })
