import type { RawBuilder } from 'kysely'
import { z } from 'zod'
import type { Db, Tx } from '../../db/index.ts'
import { notFound } from '../../lib/errors/errors.ts'
import { isId } from '../../lib/id.ts'

type SegmentId = { projectId: string; segmentId: string }

/** The contacts of a segment, those that match a condition, or those that do both. The condition was read by `readCondition`. */
type Members = { segmentId?: string | undefined; condition?: unknown }

/** Questions of contacts about segments, which are in a higher layer: the composition root passes these functions. */
export type SegmentAccess = {
  /** True for these rows of `contacts` now. Undefined when the project has no such segment, or none that the condition refers to. */
  select: (db: Db, projectId: string, members: Members) => Promise<RawBuilder<boolean> | undefined>
  /** The condition that a caller sent, checked; `path` is its field of the request. */
  readCondition: (db: Db, projectId: string, given: { condition: unknown; path: string }) => Promise<unknown>
  /** Locks a static segment against deletion. Returns its type, undefined when there is no such segment; a dynamic one is refused. */
  lock: (tx: Tx, segment: SegmentId) => Promise<string | undefined>
  /** Adds contacts to a static segment. Returns those that exist and those that were added. */
  add: (tx: Tx, addition: SegmentId & { contactIds: string[] }) => Promise<{ found: string[]; changed: string[] } | undefined>
}

/** A tree that a caller sends. Not parsed by the schema: reading it refuses a bomb before it is read as a whole. */
export const GivenCondition = z.unknown().meta({ $ref: '#/components/schemas/ConditionInput' })

export const namesMembers = ({ segmentId, condition }: Members) => Boolean(segmentId) || condition !== undefined

/** For requests: an unknown segment is a 404, a condition that cannot be evaluated a 422. Undefined when every contact is meant. */
export async function selectMembers(segments: SegmentAccess, db: Db, projectId: string, { path, ...given }: Members & { path: string }) {
  if (!namesMembers(given)) return undefined
  const { segmentId, condition } = given
  const read = condition === undefined ? undefined : await segments.readCondition(db, projectId, { condition, path })
  const isPossible = !segmentId || isId(segmentId)
  return (isPossible && (await segments.select(db, projectId, { segmentId, condition: read }))) || notFound('segment', segmentId ?? '')
}
