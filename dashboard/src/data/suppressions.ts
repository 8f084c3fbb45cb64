import type { Suppression } from '@sterna/sdk'
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { invalidate, keysOf } from './keys.ts'

const key = keysOf('suppressions')

const REASONS: Suppression['reason'][] = ['BOUNCE', 'COMPLAINT', 'MANUAL']

/** Counts by reason. */
export const suppressionCountsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'list', 'counts'),
    queryFn: () =>
      Promise.all(
        REASONS.map(async (reason) => ({ reason, count: (await apiOf(projectId).suppressions.list({ reason, limit: 1 })).total })),
      ),
  })

/** A suppression also unsubscribes, or once did. */
export const invalidateSuppressions = (queries: QueryClient, projectId: string) =>
  invalidate(queries, projectId, 'suppressions', 'contacts')
