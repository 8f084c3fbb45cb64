import type { ConditionInput, Segment } from '@sterna/sdk'
import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { apiOf } from '../client/api.ts'
import { namesById } from '../ui/form/options.ts'
import { invalidate, keysOf } from './keys.ts'

const key = keysOf('segments')

/** All segments: the API lists them at once, at most 1,000. */
export const segmentsQuery = (projectId: string) =>
  queryOptions({ queryKey: key(projectId, 'list', 'all'), queryFn: () => apiOf(projectId).segments.list() })

/** Names of all segments by their ids. */
export const segmentNamesQuery = (projectId: string) => queryOptions({ ...segmentsQuery(projectId), select: namesById })

/** Ids and names of all segments by their slugs, which their events have. */
export const segmentsBySlugQuery = (projectId: string) => queryOptions({ ...segmentsQuery(projectId), select: bySlug })

const bySlug = (segments: Segment[]) => Object.fromEntries(segments.map(({ slug, id, name }) => [slug, { id, name }]))

export const segmentQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'one', id), queryFn: () => apiOf(projectId).segments.get(id) })

export const invalidateSegments = (queries: QueryClient, projectId: string) => invalidate(queries, projectId, 'segments')

export const storeSegment = (queries: QueryClient, projectId: string, segment: Segment) => {
  queries.setQueryData(segmentQuery(projectId, segment.id).queryKey, segment)
  return invalidateSegments(queries, projectId)
}

/** Uses of all segments by their ids, with the entries and exits of the last seven days. */
export const segmentUseCountsQuery = (projectId: string) =>
  queryOptions({
    queryKey: key(projectId, 'use-counts'),
    queryFn: async () => new Map((await apiOf(projectId).segments.usageCounts()).data.map((uses) => [uses.id, uses])),
  })

export const segmentUsageQuery = (projectId: string, id: string) =>
  queryOptions({ queryKey: key(projectId, 'usage', id), queryFn: () => apiOf(projectId).segments.usage(id) })

/** Why a contact is in a segment, or not. */
export const segmentExplanationQuery = (projectId: string, id: string, contactId: string) =>
  queryOptions({
    queryKey: key(projectId, 'explain', id, contactId),
    queryFn: () => apiOf(projectId).segments.explain(id, contactId),
    enabled: contactId !== '',
    staleTime: 0,
  })

/** Whether a contact matches a condition that is not saved, and why. */
export const conditionExplanationQuery = (projectId: string, condition: ConditionInput, contactId: string) =>
  queryOptions({
    queryKey: key(projectId, 'explain-condition', JSON.stringify(condition), contactId),
    queryFn: () => apiOf(projectId).segments.explainCondition({ condition, contactId }),
    enabled: contactId !== '',
    gcTime: 0,
  })

/** The contacts that match an unsaved condition. */
export const conditionPreviewQuery = (projectId: string, condition: ConditionInput | undefined) =>
  queryOptions({
    queryKey: key(projectId, 'preview', JSON.stringify(condition)),
    queryFn: () => apiOf(projectId).segments.preview({ condition: condition! }),
    enabled: condition !== undefined,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
