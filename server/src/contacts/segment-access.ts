import type { RawBuilder } from 'kysely'
import type { Db, Tx } from '../db/index.ts'
import { notFound } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'

type SegmentId = { projectId: string; segmentId: string }

/** What contacts ask of segments, which are in a higher layer: the composition root passes these functions. */
export type SegmentAccess = {
  /** True for the rows of `contacts` that are in the segment now. Undefined when the project has no such segment. */
  select: (db: Db, projectId: string, segmentId: string) => Promise<RawBuilder<boolean> | undefined>
  /** Locks a static segment against deletion. Undefined when there is no such segment; a dynamic one is refused. */
  hold: (tx: Tx, segment: SegmentId) => Promise<object | undefined>
  /** Adds contacts to a static segment. Returns those that exist and those that were added. */
  add: (tx: Tx, addition: SegmentId & { contactIds: string[] }) => Promise<{ found: string[]; changed: string[] } | undefined>
}

/** For requests: an unknown segment is a 404. */
export const selectInSegment = async (segments: SegmentAccess, db: Db, projectId: string, segmentId: string) =>
  (isId(segmentId) && (await segments.select(db, projectId, segmentId))) || notFound('segment', segmentId)
