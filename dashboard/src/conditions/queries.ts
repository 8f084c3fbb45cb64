import type { ConditionInput } from '@sterna/sdk'
import { queryOptions } from '@tanstack/react-query'
import { apiOf, projectKey } from '../api.ts'

/** Names of all segments by their ids. */
export const segmentNamesQuery = (projectId: string) =>
  queryOptions({
    queryKey: projectKey(projectId, 'segments', 'names-by-id'),
    queryFn: async () => Object.fromEntries((await apiOf(projectId).segments.list()).map(({ id, name }) => [id, name])),
  })

/** Who matches a condition that is not saved. */
export const conditionPreviewQuery = (projectId: string, condition: ConditionInput | undefined) =>
  queryOptions({
    queryKey: projectKey(projectId, 'segments', 'preview', JSON.stringify(condition)),
    queryFn: () => apiOf(projectId).segments.preview({ condition: condition! }),
    enabled: condition !== undefined,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
