import { z } from 'zod'
import { getContact } from '../contacts/record/contact.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import { PlainError } from '../http/core/errors.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { Queued } from '../jobs/job.ts'
import { contactNotFound, failPlainly } from '../lib/errors/errors.ts'
import { isId } from '../lib/id.ts'
import { SegmentParam, segmentResource } from './definition/segment-resource.ts'
import { recount } from './evaluation/counts.ts'
import { explainMembership, MembershipExplanation } from './explain.ts'
import { ContactSegment, listSegmentsOfContact } from './members/contact-segments.ts'
import { computeSegment } from './tracking/compute.ts'

const NOT_TRACKED = 'The membership of this segment is not tracked.'

/** Computing, counting and explaining which contacts are in a segment. */
export function membershipRoutes(app: App, { db }: Deps) {
  const route = segmentResource(app, db)

  route.post(
    '/segments/:id/compute',
    {
      summary: 'Recompute the members of a tracked segment',
      description:
        'Records an entry or exit event for each difference. Waits up to 20 seconds; a longer computation is answered with 202 and goes on. Two requests at the same time share one computation.',
      audit: 'segment.compute',
      response: { 200: z.object({ added: z.int(), removed: z.int(), total: z.int() }), 202: Queued, 400: PlainError },
    },
    async (req, { id, projectId, type }, reply) => {
      if (type === 'STATIC') failPlainly('BAD_REQUEST', 'A static segment has no condition to compute.')
      const computed = (await computeSegment(req.db, { projectId, segmentId: id })) ?? failPlainly('BAD_REQUEST', NOT_TRACKED)
      if (computed.result) return computed.result
      return reply.status(202).send({ message: 'The segment is being computed.', jobId: computed.jobId })
    },
  )

  route.post(
    '/segments/:id/refresh',
    {
      summary: 'Count the members of a segment',
      description: 'Refreshes `memberCount`. Changes no membership and records no event.',
      response: z.object({ memberCount: z.int() }),
      slowRead: true,
      audit: null,
      onlyReads: true,
    },
    async (_req, segment) => ({ memberCount: await recount(db, segment) }),
  )

  route.get(
    '/segments/:id/explain/:contactId',
    {
      summary: 'Explain why a contact is in a segment, or not',
      params: z.object({ id: z.string(), contactId: z.string() }),
      response: MembershipExplanation,
      slowRead: true,
    },
    async (req, segment) => {
      const { contactId } = req.params
      return (isId(contactId) && (await explainMembership(db, segment, contactId))) || contactNotFound(contactId)
    },
  )

  routesOf(app, { tags: ['Segments'], caller: 'project', role: 'MEMBER', scope: 'contacts', read: true, ...SENDS_NOTHING }).get(
    '/contacts/:id/segments',
    {
      summary: 'List the segments of a contact',
      description: 'Segments that the contact is in now, newest segment first.',
      params: SegmentParam,
      response: z.array(ContactSegment),
      slowRead: true,
    },
    async (req) => {
      const { projectId, id: contactId } = await getContact(db, req.project.id, req.params.id)
      return listSegmentsOfContact(db, { projectId, contactId })
    },
  )
}
