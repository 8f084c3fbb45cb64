import type { Tx } from '../db/index.ts'

type SegmentId = { projectId: string; segmentId: string }

/** Membership of a dynamic segment is tracked from now on. Not called for static segments. */
export async function startTracking(_tx: Tx, _segment: SegmentId): Promise<void> {}

/** Membership of a dynamic segment is no longer tracked, or a tracked one was deleted. Not called for static segments. */
export async function stopTracking(_tx: Tx, _segment: SegmentId): Promise<void> {}

/** The condition of a dynamic segment has changed, whether it is tracked or not: tracked segments may refer to it. */
export async function conditionChanged(_tx: Tx, _segment: SegmentId): Promise<void> {}

type StaticChange = SegmentId & { added: string[]; removed: string[] }

/** Contacts were added to or removed from a static segment, whether it is tracked or not. The rows of members are already written. */
export async function staticMembersChanged(_tx: Tx, _change: StaticChange): Promise<void> {}
