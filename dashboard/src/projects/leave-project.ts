import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { invalidateProjects, projectsQuery } from '../data/projects.ts'

/** Leaves a project that no longer exists for this user. Navigates first and refetches after: the current page still renders the project. */
export function useLeaveProject() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  return async (projectId: string) => {
    const other = queries.getQueryData(projectsQuery.queryKey)?.find(({ id }) => id !== projectId)
    if (other) await navigate({ to: '/app/p/$projectId', params: { projectId: other.id } })
    else await navigate({ to: '/app/new' })
    await invalidateProjects(queries)
  }
}
