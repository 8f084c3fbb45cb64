import { sql } from 'kysely'
import { type Db, many, maybeOne } from '../db/index.ts'

export const SEGMENT_TYPES = ['DYNAMIC', 'STATIC'] as const

export type SegmentRow = {
  id: string
  name: string
  description: string | null
  type: (typeof SEGMENT_TYPES)[number]
  /** Null for a static segment. */
  condition: unknown
  slug: string
  trackMembership: boolean
  memberCount: number
  countedAt: Date | null
  countEstimated: boolean
  countMs: number
  projectId: string
  createdAt: Date
  updatedAt: Date
}

/** Segments of a project. */
export const MAX_SEGMENTS = 1_000

export const SEGMENT_COLUMNS = sql`
  id, name, description, type, condition, slug, track_membership as "trackMembership", member_count as "memberCount",
  counted_at as "countedAt", count_estimated as "countEstimated", count_ms as "countMs", project_id as "projectId",
  created_at as "createdAt", updated_at as "updatedAt"`

export const findSegment = (db: Db, projectId: string, id: string) =>
  maybeOne(db, sql<SegmentRow>`select ${SEGMENT_COLUMNS} from segments where project_id = ${projectId} and id = ${id}`)

/** Newest first. */
export const listSegments = (db: Db, projectId: string) =>
  many(db, sql<SegmentRow>`select ${SEGMENT_COLUMNS} from segments where project_id = ${projectId} order by id desc limit ${MAX_SEGMENTS}`)
