import { useQuery } from '@tanstack/react-query'
import { Navigate } from '@tanstack/react-router'
import { projectsQuery } from '../../data/projects.ts'
import { lastOpened } from '../../projects/last-opened.ts'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Splash } from '../../ui/page/splash.tsx'

/** /app: redirects to the project opened last, or to the creation of the first. */
export function OpenProjectPage() {
  const projects = useQuery(projectsQuery)

  if (projects.isPending) return <Splash />
  if (projects.isLoadingError) return <ErrorState error={projects.error} retry={projects.refetch} />
  const last = lastOpened()
  const project = projects.data.find(({ id }) => id === last) ?? projects.data[0]
  if (!project) return <Navigate to="/app/new" replace />

  return <Navigate to="/app/p/$projectId" params={{ projectId: project.id }} replace />
}
