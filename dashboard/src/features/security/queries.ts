import { queryOptions } from '@tanstack/react-query'
import { api, projectKey } from '../../api.ts'

export const securityQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'security'), queryFn: () => api.projects.security(projectId), staleTime: 0 })
