import { queryOptions } from '@tanstack/react-query'
import { api } from '../../api.ts'

export const membersQuery = (projectId: string) =>
  queryOptions({ queryKey: ['members', projectId], queryFn: () => api.members.list(projectId) })

export const invitationsQuery = (projectId: string) =>
  queryOptions({ queryKey: ['invitations', projectId], queryFn: () => api.invitations.list(projectId) })
