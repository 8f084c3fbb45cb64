import { z } from 'zod'
import { Explanation, explainExpression } from '../conditions/explain.ts'
import { type Expression, toExpression } from '../conditions/expression.ts'
import { readFacts } from '../conditions/facts.ts'
import { evaluationOf } from '../conditions/match.ts'
import { referencesOf } from '../conditions/references.ts'
import type { ConditionTree } from '../conditions/schema.ts'
import { findContact } from '../contacts/record/contact.ts'
import { type Db, many, scalar } from '../db/index.ts'
import { Timestamp } from '../http/core/validate.ts'
import { createYield } from '../lib/concurrency/yield-to-loop.ts'
import { loadLookup, resolveSegment } from './definition/expressions.ts'
import { entryEventOf, exitEventOf, type SegmentRow } from './definition/segment.ts'
import { readContext } from './evaluation/evaluate.ts'
import { ContactSegment } from './members/contact-segments.ts'

/** Entries and exits shown. */
const MAX_HISTORY = 100

export const MembershipExplanation = z.object({
  matches: z.boolean().describe('Whether the contact is in the segment now.'),
  segment: ContactSegment,
  explanation: Explanation.nullable().describe('The evaluated condition with the actual values. Null for a static segment.'),
  isMember: z
    .boolean()
    .nullable()
    .describe('Whether the contact is a stored member: of a static or tracked segment. Null for a dynamic segment that is not tracked.'),
  history: z
    .array(z.object({ type: z.enum(['entry', 'exit']), at: Timestamp, eventId: z.uuid() }))
    .describe(`Entries and exits while the segment was tracked, newest first, at most ${MAX_HISTORY}.`),
})

type Explained = z.output<typeof MembershipExplanation>

/** Why a contact is in a segment, or not. Undefined when there is no such contact. */
export async function explainMembership(db: Db, segment: SegmentRow, contactId: string): Promise<Explained | undefined> {
  const { id, projectId, name, slug, type, trackMembership } = segment
  const expression = await resolveSegment(db, projectId, id)
  const explanation = expression ? await explainFor(db, { projectId, expression, contactId }) : null
  if (explanation === undefined || !(expression || (await findContact(db, projectId, contactId)))) return undefined
  const isStored = await isStoredMember(db, segment, contactId)
  return {
    matches: explanation ? explanation.matches : isStored,
    segment: { id, name, slug, type, trackMembership },
    explanation,
    isMember: type === 'STATIC' || trackMembership ? isStored : null,
    history: await readHistory(db, segment, contactId),
  }
}

export const ConditionMatch = z.object({ matches: z.boolean(), explanation: Explanation })

/** Whether a contact matches a condition that is not stored, and why. Undefined when there is no such contact. */
export async function explainCondition(
  db: Db,
  { projectId, tree, contactId }: { projectId: string; tree: ConditionTree; contactId: string },
) {
  const expression = toExpression(tree, await loadLookup(db, projectId, referencesOf(tree).segments))
  const explanation = await explainFor(db, { projectId, expression, contactId })
  return explanation && { matches: explanation.matches, explanation }
}

async function explainFor(db: Db, { projectId, expression, contactId }: { projectId: string; expression: Expression; contactId: string }) {
  const [facts] = await readFacts(db, { projectId, contactIds: [contactId], expressions: [expression] })
  if (!facts) return undefined
  const context = await readContext(db, projectId, [expression])
  return explainExpression(expression, evaluationOf(facts, context), createYield())
}

const isStoredMember = (db: Db, { projectId, id }: SegmentRow, contactId: string) => scalar<boolean>(db)`
  select exists (select from segment_members where project_id = ${projectId} and segment_id = ${id} and contact_id = ${contactId})
`

async function readHistory(db: Db, { projectId, slug }: SegmentRow, contactId: string) {
  const entry = entryEventOf(slug)
  const rows = await many<{ id: string; name: string; createdAt: Date }>(db)`
    select id, name, created_at as "createdAt" from events
    where project_id = ${projectId} and name = any(${[entry, exitEventOf(slug)]}::text[]) and contact_id = ${contactId}
    order by id desc limit ${MAX_HISTORY}
  `
  return rows.map(({ id: eventId, name, createdAt: at }) => ({
    type: name === entry ? ('entry' as const) : ('exit' as const),
    at,
    eventId,
  }))
}
