import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { invalidate, keysOf } from './keys.ts'

const key = keysOf('domains')

export const domainsQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'list'), queryFn: () => apiOf(projectId).domains.list() })

export const invalidateDomains = (queries: QueryClient, projectId: string) => invalidate(queries, projectId, 'domains')
