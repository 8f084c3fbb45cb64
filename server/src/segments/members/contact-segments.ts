import { z } from 'zod'
import { readFacts } from '../../conditions/facts.ts'
import { evaluationOf, matchesInTurns } from '../../conditions/match.ts'
import { type Db, many } from '../../db/index.ts'
import { pagePortions } from '../../http/limits/page-stream.ts'
import { createYield } from '../../lib/concurrency/yield-to-loop.ts'
import { resolveSegments } from '../definition/expressions.ts'
import { MAX_SEGMENTS, SEGMENT_TYPES } from '../definition/segment.ts'
import { readContext } from '../evaluation/evaluate.ts'

export const ContactSegment = z.object({
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  type: z.enum(SEGMENT_TYPES),
  trackMembership: z.boolean(),
})

type Row = z.output<typeof ContactSegment> & { bytes: number; hasRows: boolean; isMember: boolean }

/** The segments that a contact is in now, newest segment first. Static segments have rows of members, and tracked ones once they are computed; the others are evaluated. */
export async function listSegmentsOfContact(db: Db, { projectId, contactId }: { projectId: string; contactId: string }) {
  const segments = await many<Row>(db)`
    select s.id, s.name, s.slug, s.type, s.track_membership as "trackMembership", coalesce(octet_length(s.condition::text), 0) as bytes,
      s.type = 'STATIC' or t.segment_id is not null as "hasRows", m.contact_id is not null as "isMember"
    from segments s
    left join tracked_segments t on t.project_id = s.project_id and t.segment_id = s.id and t.computed_revision = t.revision
    left join segment_members m on m.project_id = s.project_id and m.segment_id = s.id and m.contact_id = ${contactId}
    where s.project_id = ${projectId} order by s.id desc limit ${MAX_SEGMENTS}
  `
  const unstored = segments.filter(({ hasRows }) => !hasRows)
  const evaluated = await findMatching(db, { projectId, contactId }, unstored)
  return segments
    .filter(({ id, hasRows, isMember }) => (hasRows ? isMember : evaluated.has(id)))
    .map(({ id, name, slug, type, trackMembership }) => ({ id, name, slug, type, trackMembership }))
}

/** In portions of 1 MB of conditions: all of them together may have 64 MB. */
async function findMatching(db: Db, { projectId, contactId }: { projectId: string; contactId: string }, segments: Row[]) {
  const matching = new Set<string>()
  const pause = createYield()
  for (const ids of pagePortions(segments)) {
    const resolved = await resolveSegments(db, projectId, ids)
    const expressions = resolved.map(({ expression }) => expression)
    const context = await readContext(db, projectId, expressions)
    const [facts] = await readFacts(db, { projectId, contactIds: [contactId], expressions })
    if (!facts) return matching
    const evaluation = evaluationOf(facts, context)
    for (const { id, expression } of resolved) if (await matchesInTurns(expression, evaluation, pause)) matching.add(id)
  }
  return matching
}
