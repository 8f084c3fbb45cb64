import { z } from 'zod'
import { contactResource } from '../contacts/routes.ts'
import { PlainError } from '../http/errors.ts'
import type { App, Deps } from '../http/server.ts'
import { Queued } from '../jobs/job.ts'
import { failPlainly, notFound } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'
import { ContactSegment, listSegmentsOfContact } from './contact-segments.ts'
import { recount } from './counts.ts'
import { explainMembership, MembershipExplanation } from './explain.ts'
import { segmentResource } from './routes.ts'
import { computeSegment } from './tracking/compute.ts'

const NOT_TRACKED = 'The membership of this segment is not tracked.'

/** Who is in a segment, and why. */
export function segmentInsightRoutes(app: App, { db }: Deps) {
  const tags = ['Segments']
  const config = { caller: 'project' as const }
  const slow = { ...config, slowRead: true }
  const { params, find } = segmentResource(db)
  const contacts = contactResource(db)

  app.post(
    '/segments/:id/compute',
    {
      config,
      schema: {
        tags,
        summary: 'Recompute the members of a tracked segment',
        description:
          'Records an entry or exit event for each difference. Waits up to 20 seconds; a longer computation is answered with 202 and goes on. Two requests at the same time share one computation.',
        params,
        response: { 200: z.object({ added: z.int(), removed: z.int(), total: z.int() }), 202: Queued, 400: PlainError },
      },
    },
    async (req, reply) => {
      const { id, projectId, type } = await find(req)
      if (type === 'STATIC') failPlainly('BAD_REQUEST', 'A static segment has no condition to compute.')
      const computed = (await computeSegment(db, { projectId, segmentId: id })) ?? failPlainly('BAD_REQUEST', NOT_TRACKED)
      if (computed.result) return computed.result
      return reply.status(202).send({ message: 'The segment is being computed.', jobId: computed.jobId })
    },
  )

  app.post(
    '/segments/:id/refresh',
    {
      config: { ...slow, onlyReads: true },
      schema: {
        tags,
        summary: 'Count the members of a segment',
        description: 'Refreshes `memberCount`. Changes no membership and records no event.',
        params,
        response: { 200: z.object({ memberCount: z.int() }) },
      },
    },
    async (req) => ({ memberCount: await recount(db, await find(req)) }),
  )

  app.get(
    '/segments/:id/explain/:contactId',
    {
      config,
      schema: {
        tags,
        summary: 'Explain why a contact is in a segment, or not',
        params: params.extend({ contactId: z.string() }),
        response: { 200: MembershipExplanation },
      },
    },
    async (req) => {
      const segment = await find(req)
      const { contactId } = req.params
      return (isId(contactId) && (await explainMembership(db, segment, contactId))) || notFound('contact', contactId)
    },
  )

  app.get(
    '/contacts/:id/segments',
    {
      config: slow,
      schema: {
        tags,
        summary: 'List the segments of a contact',
        description: 'Those that the contact is in now, newest segment first.',
        params,
        response: { 200: z.array(ContactSegment) },
      },
    },
    async (req) => {
      const { projectId, id: contactId } = await contacts.find(req)
      return listSegmentsOfContact(db, { projectId, contactId })
    },
  )
}
