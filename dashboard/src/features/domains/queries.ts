import { queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../api.ts'

export const domainsQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'domains'), queryFn: () => apiOf(projectId).domains.list() })
