import { readFacts, readMemberships } from '../../conditions/facts.ts'
import { evaluationOf, isQuick, matchesExpression, matchesInTurns, nextChangeAt } from '../../conditions/match.ts'
import { eventsOf } from '../../conditions/references.ts'
import { type Db, scalars, type Tx } from '../../db/index.ts'
import { prepared } from '../../db/prepared.ts'
import type { Reaction, ReactionHandler } from '../../events/dispatch.ts'
import type { EventQuery } from '../../events/last-events.ts'
import { groupBy } from '../../lib/collections/group-by.ts'
import { createYield } from '../../lib/concurrency/yield-to-loop.ts'
import { type ResolvedSegment, resolveSegments } from '../definition/expressions.ts'
import { readContext } from '../evaluation/evaluate.ts'
import { type DueCheck, mayBecomeDue, saveDue } from './due.ts'
import { changeMemberships, type MembershipChange } from './membership.ts'
import { queueCompute } from './queue-compute.ts'

/** Segments that one contact is checked against. */
type Check = { contactId: string; segmentIds: string[] }

/**
 * Handles reactions for tracked segments: a change of one contact re-checks that contact against the segments that mention what changed,
 * a change that concerns the whole project recomputes them. The dispatcher holds the lock of the project, so two re-checks never overlap,
 * and a later one sees at least what an earlier one saw.
 */
export const recheckSegments: ReactionHandler = async (tx, { projectId, reactions }) => {
  // Events without a contact concern no segment.
  const ofProject = reactions.filter(({ contactId, eventId }) => contactId === null && eventId === null)
  for (const segmentId of segmentIdsOf(ofProject)) {
    await queueCompute(tx, { projectId, segmentId })
  }
  await recheckContacts(tx, projectId, checksOf(reactions))
}

const segmentIdsOf = (reactions: Reaction[]) => {
  const [first, ...others] = new Set(reactions.map(({ listeners }) => listeners))
  if (!first) return []
  return others.length ? [...new Set([first, ...others].flatMap(idsOf))].sort() : idsOf(first)
}

/** Reactions with the same topics share the array of their listeners. */
const idsByListeners = new WeakMap<string[], string[]>()

function idsOf(listeners: string[]) {
  const known = idsByListeners.get(listeners) ?? listeners.map((listener) => listener.slice('segment:'.length)).sort()
  idsByListeners.set(listeners, known)
  return known
}

function checksOf(reactions: Reaction[]): Check[] {
  const byContact = groupBy(
    reactions.filter(({ contactId }) => contactId !== null),
    ({ contactId }) => contactId!,
  )
  return [...byContact].map(([contactId, several]) => ({ contactId, segmentIds: segmentIdsOf(several) }))
}

/** Brings the memberships of these contacts up to date. Returns the changes. The caller holds the lock of the project's reactions. */
export async function recheckContacts(tx: Tx, projectId: string, checks: Check[]): Promise<MembershipChange[]> {
  const segments = await readTracked(tx, projectId, [...new Set(checks.flatMap(({ segmentIds }) => segmentIds))])
  if (!segments.size) return []
  const checksById = new Map(checks.map(({ contactId, segmentIds }) => [contactId, segmentIds]))
  const expressions = [...segments.values()].map(({ expression }) => expression)
  const eventsFor = eventsAsked(segments, (contactId) => checksById.get(contactId)!)
  const facts = await readFacts(tx, { projectId, contactIds: [...checksById.keys()], expressions, eventsFor })
  const context = await readContext(tx, projectId, expressions)
  const contactIds = facts.map(({ contact }) => contact.id)
  const isMember = await readMemberships(tx, { projectId, contactIds, segmentIds: [...segments.keys()] })
  const pause = createYield()
  const changes: MembershipChange[] = []
  const due: DueCheck[] = []
  for (const contact of facts) {
    const contactId = contact.contact.id
    const evaluation = evaluationOf(contact, context)
    for (const segmentId of checksById.get(contactId) ?? []) {
      const segment = segments.get(segmentId)
      if (!segment) continue
      const { expression } = segment
      const matches = isQuick(expression) ? matchesExpression(expression, evaluation) : await matchesInTurns(expression, evaluation, pause)
      if (matches !== isMember(contactId, segmentId)) changes.push({ segment, contactId, isMember: matches })
      if (segment.mayBecomeDue) due.push({ segmentId, contactId, dueAt: nextChangeAt(expression, evaluation) })
    }
    await pause()
  }
  await saveDue(tx, projectId, due)
  return changeMemberships(tx, projectId, changes)
}

/** The events that the segments of a contact ask about. Many contacts share the array of their segments. */
function eventsAsked(segments: Map<string, TrackedSegment>, segmentIdsFor: (contactId: string) => string[]) {
  const known = new Map<string[], EventQuery[]>()
  return (contactId: string) => {
    const ids = segmentIdsFor(contactId)
    const events = known.get(ids) ?? eventsOf(ids.flatMap((id) => segments.get(id)?.expression ?? []))
    known.set(ids, events)
    return events
  }
}

type TrackedSegment = ResolvedSegment & { mayBecomeDue: boolean }

/** Without segments whose earlier memberships are still being deleted: their recomputation follows. */
async function readTracked(db: Db, projectId: string, ids: string[]): Promise<Map<string, TrackedSegment>> {
  const tracked = await scalars<string>(
    db,
    prepared`
    select segment_id from tracked_segments where project_id = ${projectId} and segment_id = any(${ids}::uuid[]) and not clearing
  `,
  )
  const resolved = await resolveSegments(db, projectId, tracked)
  return new Map(resolved.map((segment) => [segment.id, { ...segment, mayBecomeDue: mayBecomeDue(segment.expression) }]))
}
