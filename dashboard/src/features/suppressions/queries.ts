import type { Suppression } from '@sterna/sdk'
import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { apiOf, projectKey } from '../../api.ts'
import { useProject } from '../../projects/current.ts'
import { REASONS } from './suppressions-query.ts'

/** How many there are of each reason. */
export const figuresQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'suppressions', 'figures'),
    queryFn: async () => {
      const reasons = Object.keys(REASONS) as Suppression['reason'][]
      return Promise.all(
        reasons.map(async (reason) => ({ reason, count: (await apiOf(projectId).suppressions.list({ reason, limit: 1 })).total })),
      )
    },
  })

/** A suppression also unsubscribes, or once did. */
export function useInvalidateSuppressions() {
  const project = useProject()
  const queries = useQueryClient()
  return () =>
    Promise.all(['suppressions', 'contacts'].map((part) => queries.invalidateQueries({ queryKey: projectKey(project.id, part) })))
}
