import { sql } from 'kysely'
import { eventWindowsOf, topicsOf } from '../../conditions/references.ts'
import { maybeOne, type Tx } from '../../db/index.ts'
import { listenTo, reactToContacts, type Topic } from '../../events/listen.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { findTrackedDependents, resolveSegments } from '../definition/expressions.ts'
import { recordMembershipEvents } from './membership.ts'
import { queueCompute } from './queue-compute.ts'

type SegmentId = { projectId: string; segmentId: string }

/** Name of a segment among the listeners of its project. */
const listenerOf = (segmentId: string) => `segment:${segmentId}`
/** Topic of a moment at which time alone may change the answer. */
const dueTopic = (segmentId: string): Topic => `due:${segmentId}`

/**
 * Membership of a dynamic segment is tracked from now on, by its present condition. Not called for static segments. Listens to what the
 * condition mentions, and queues a recomputation. Transactions that began before the listener was visible may still
 * write without a reaction: the recomputation waits for them.
 */
export async function startTracking(tx: Tx, { projectId, segmentId }: SegmentId) {
  const [segment] = await resolveSegments(tx, projectId, [segmentId])
  if (!segment) return
  await listenTo(tx, { projectId, listener: listenerOf(segmentId) }, [...topicsOf(segment.expression), dueTopic(segmentId)])
  const windows = eventWindowsOf(segment.expression).map(({ event, ms }) => ({ name: event.name, ms }))
  await sql`
    insert into tracked_segments (project_id, segment_id, windows)
    values (${projectId}, ${segmentId}, ${JSON.stringify(windows)}::jsonb)
    on conflict (project_id, segment_id) do update set revision = tracked_segments.revision + 1, windows = excluded.windows
  `.execute(tx)
  await queueCompute(tx, { projectId, segmentId })
}

/**
 * Membership of a dynamic segment is no longer tracked, or a tracked one was deleted. A job deletes its memberships without events. Not
 * called for static segments.
 */
export async function stopTracking(tx: Tx, { projectId, segmentId }: SegmentId): Promise<void> {
  await listenTo(tx, { projectId, listener: listenerOf(segmentId) }, [])
  await sql`delete from tracked_segments where project_id = ${projectId} and segment_id = ${segmentId}`.execute(tx)
  await enqueue(tx, 'segments.forget-members', { projectId, segmentId })
}

/** The condition of a dynamic segment has changed, whether it is tracked or not: tracked segments may refer to it. */
export async function conditionChanged(tx: Tx, { projectId, segmentId }: SegmentId): Promise<void> {
  for (const dependent of await findTrackedDependents(tx, projectId, segmentId))
    await startTracking(tx, { projectId, segmentId: dependent })
}

type StaticChange = SegmentId & { added: string[]; removed: string[] }

/** Contacts were added to or removed from a static segment, whether it is tracked or not. The rows of members are already written. */
export async function staticMembersChanged(tx: Tx, { projectId, segmentId, added, removed }: StaticChange): Promise<void> {
  await reactToContacts(tx, projectId, [...added, ...removed], [`segment:${segmentId}`])
  const tracked = await maybeOne<{ name: string; slug: string }>(tx)`
    select name, slug from segments where project_id = ${projectId} and id = ${segmentId} and track_membership
  `
  if (!tracked) return
  const segment = { id: segmentId, ...tracked }
  await recordMembershipEvents(tx, projectId, [
    ...added.map((contactId) => ({ segment, contactId, isMember: true })),
    ...removed.map((contactId) => ({ segment, contactId, isMember: false })),
  ])
}
