import { sql } from 'kysely'
import type { ConditionTree } from '../conditions/schema.ts'
import { maybeOne, one, scalars, type Tx } from '../db/index.ts'
import type { CallingProject } from '../http/auth/key-lookup.ts'
import { requireToChange } from '../http/auth/what-sends.ts'
import { failStale, isRevision, nextRevision } from '../http/core/if-match.ts'
import type { Given } from '../http/core/validate.ts'
import { newId } from '../lib/id.ts'
import { checkReferences, usesOf } from './definition/check-condition.ts'
import { assertRoomForSegment, assertTrackable, awaitSegmentsLock } from './definition/limits.ts'
import { getSegment, SEGMENT_COLUMNS, type SegmentRow } from './definition/segment.ts'
import { slugCandidates } from './definition/slug.ts'
import { copyMembers } from './members/copy-members.ts'
import { conditionChanged, startTracking, stopTracking } from './tracking/tracking.ts'

export const MAX_SEGMENT_NAME = 100

type NewSegment = {
  projectId: string
  name: string
  description?: string | null | undefined
  /** Null: a static segment. */
  condition: ConditionTree | null
  trackMembership: boolean
}

export async function createSegment(tx: Tx, segment: NewSegment): Promise<SegmentRow> {
  const { projectId, condition, trackMembership } = segment
  await awaitSegmentsLock(tx, projectId)
  await assertRoomForSegment(tx, projectId)
  if (condition) await checkReferences(tx, { projectId, tree: condition })
  const row = await insertSegment(tx, segment)
  if (trackMembership) await assertTrackable(tx, projectId)
  if (trackMembership && condition) await startTracking(tx, { projectId, segmentId: row.id })
  return row
}

async function insertSegment(tx: Tx, { projectId, name, description = null, condition, trackMembership }: NewSegment) {
  const id = newId()
  return one<SegmentRow>(tx)`
    insert into segments (project_id, id, name, description, type, condition, uses, slug, track_membership)
    values (${projectId}, ${id}, ${name}, ${description}, ${condition ? 'DYNAMIC' : 'STATIC'}, ${asJson(condition)}::jsonb,
      ${asJson(condition ? usesOf(condition) : {})}::jsonb, ${await freeSlug(tx, { projectId, name, id })}, ${trackMembership})
    returning ${SEGMENT_COLUMNS}
  `
}

const asJson = (value: object | null) => (value === null ? null : JSON.stringify(value))

/** Under the lock of the project's segments, so that it is still free when it is inserted. */
async function freeSlug(tx: Tx, { projectId, name, id }: { projectId: string; name: string; id: string }) {
  const candidates = slugCandidates(name, id)
  const taken = await scalars<string>(tx)`
    select slug from segments where project_id = ${projectId} and slug = any(${candidates}::text[])
  `
  return candidates.find((slug) => !taken.includes(slug))!
}

type SegmentChanges = Given<Pick<SegmentRow, 'name' | 'description' | 'trackMembership'> & { condition: ConditionTree }>
type Edit = { projectId: string; id: string; caller: CallingProject; changes: SegmentChanges; revisions?: string[] | undefined }
type Changed = SegmentRow & { newCondition: boolean }

/** Changes the given fields only; a newer revision is refused. */
export async function changeSegment(tx: Tx, { projectId, id, caller, changes, revisions }: Edit) {
  await awaitSegmentsLock(tx, projectId)
  const stored = await getSegment(tx, projectId, id)
  const condition = stored.condition && changes.condition
  if (condition) await checkReferences(tx, { projectId, id: stored.id, tree: condition })
  const row = await updateSegment(tx, { projectId, id, changes: { ...changes, condition: condition ?? undefined }, revisions })
  if (!row) return failStale(stored.updatedAt)
  // Tracking records entries, which start workflows.
  if (row.newCondition || (row.trackMembership && !stored.trackMembership)) await requireToChange(tx, caller, { segment: stored.id })
  if (condition || (row.trackMembership && !stored.trackMembership)) await assertTrackable(tx, projectId)
  if (row.condition) await followChange(tx, stored, row)
  return { row, hasNewCondition: row.newCondition }
}

const updateSegment = (tx: Tx, { projectId, id, changes, revisions }: Omit<Edit, 'caller'>) => {
  const { name, description, condition, trackMembership } = changes
  const sets = [
    ...(name === undefined ? [] : [sql`name = ${name}`]),
    ...(description === undefined ? [] : [sql`description = ${description}`]),
    ...(trackMembership === undefined ? [] : [sql`track_membership = ${trackMembership}`]),
    // A count of the old condition is not one of the new.
    ...(condition ? [sql`condition = ${asJson(condition)}::jsonb, uses = ${asJson(usesOf(condition))}::jsonb, counted_at = null`] : []),
    sql`updated_at = ${nextRevision(sql.ref('segments.updated_at'))}`,
  ]
  return maybeOne<Changed>(tx)`
    update segments set ${sql.join(sets)}
    from (select condition as old_condition from segments where project_id = ${projectId} and id = ${id}) as before
    where project_id = ${projectId} and id = ${id} and ${isRevision(sql.ref('segments.updated_at'), revisions)}
    returning ${SEGMENT_COLUMNS}, condition is distinct from old_condition as "newCondition"
  `
}

/** Tells tracking what has changed of a dynamic segment. */
async function followChange(tx: Tx, before: SegmentRow, after: Changed) {
  const segment = { projectId: after.projectId, segmentId: after.id }
  if (after.trackMembership && !before.trackMembership) await startTracking(tx, segment)
  if (!after.trackMembership && before.trackMembership) await stopTracking(tx, segment)
  if (after.newCondition) await conditionChanged(tx, segment)
}

const COPY = ' (Copy)'

/** Copies a segment, a static one with its members. The copy is not tracked: tracking it at once would record an entry of every member. */
export async function duplicateSegment(tx: Tx, { projectId, id }: { projectId: string; id: string }) {
  await awaitSegmentsLock(tx, projectId)
  const original = await getSegment(tx, projectId, id)
  await assertRoomForSegment(tx, projectId)
  const { description, condition } = original
  const name = original.name.slice(0, MAX_SEGMENT_NAME - COPY.length) + COPY
  const copy = await insertSegment(tx, { projectId, name, description, condition, trackMembership: false })
  if (copy.type === 'STATIC') await copyMembers(tx, { projectId, from: id, to: copy.id })
  return copy
}
