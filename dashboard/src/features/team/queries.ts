import { queryOptions } from '@tanstack/react-query'
import { api, projectKey } from '../../api.ts'

export const membersQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'members'), queryFn: () => api.members.list(projectId) })

export const invitationsQuery = (projectId: string) =>
  queryOptions({ queryKey: projectKey(projectId, 'invitations'), queryFn: () => api.invitations.list(projectId) })
