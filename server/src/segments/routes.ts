import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readCondition } from '../conditions/schema.ts'
import { contactNotFound, findContact } from '../contacts/contact.ts'
import { GivenCondition } from '../contacts/segment-access.ts'
import type { Tx } from '../db/index.ts'
import { transactSurely } from '../db/transact-surely.ts'
import { PlainError } from '../http/errors.ts'
import { readIfMatch } from '../http/if-match.ts'
import { pagePortions, sendList } from '../http/limits/page-stream.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { NO_CONTENT, routesOf } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { Queued } from '../jobs/job.ts'
import { failPlainly, notFound } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'
import { readOwnCondition } from './check-condition.ts'
import { countAfterChange, recount, refreshCounts } from './counts.ts'
import { deleteSegment } from './delete.ts'
import { explainMembership, MembershipExplanation } from './explain.ts'
import { ContactSegment, listSegmentsOfContact } from './members/contact-segments.ts'
import { previewCondition, SegmentPreview } from './preview.ts'
import { changeSegment, createSegment, duplicateSegment, MAX_SEGMENT_NAME } from './save.ts'
import { findSegment, listSegmentSizes, listSegments, SEGMENT_TYPES, Segment, showSegment } from './segment.ts'
import { computeSegment } from './tracking/compute.ts'
import { createSegmentTurns } from './turns.ts'

const SegmentParam = z.object({ id: z.string() })
const Name = z.string().trim().min(1).max(MAX_SEGMENT_NAME)
const Description = z.string().max(500).nullish()
/** The handler refuses a missing name with a plain error, so it is optional here and required in the OpenAPI document. */
const NewSegment = z
  .object({
    name: z.preprocess((given) => given ?? undefined, Name.optional()),
    description: Description,
    type: z.enum(SEGMENT_TYPES).optional().describe('`DYNAMIC` by default.'),
    condition: GivenCondition.optional().describe('Required for a dynamic segment; ignored for a static one.'),
    trackMembership: z.boolean().optional(),
  })
  .meta({ required: ['name'] })
const Changes = z.object({
  name: Name.optional(),
  description: Description,
  condition: GivenCondition.optional().describe('Ignored for a static segment.'),
  trackMembership: z.boolean().optional(),
})

const segmentNotFound = (id: string): never => notFound('segment', id)

const NOT_TRACKED = 'The membership of this segment is not tracked.'

export function segmentRoutes(app: App, { db, config: { poolSize } }: Deps) {
  const turns = createSegmentTurns({ poolSize })
  const write = <T>({ project, db }: FastifyRequest, work: (tx: Tx) => Promise<T>) =>
    turns.write(project.id, () => transactSurely(db, work))
  const route = routesOf(app, { tags: ['Segments'], caller: 'project' })

  route.get(
    '/segments',
    { summary: 'List segments', description: 'All of them, newest first.', response: z.array(Segment) },
    async (req, reply) => {
      const projectId = req.project.id
      const portions = pagePortions(await listSegmentSizes(db, projectId))
      const read = async (ids: string[]) => {
        const rows = await listSegments(db, projectId, ids)
        await refreshCounts(db, projectId, rows)
        return rows.map(showSegment)
      }
      return sendList(reply, { portions, read })
    },
  )

  route.post(
    '/segments',
    {
      summary: 'Create a segment',
      description: 'A dynamic segment has the contacts that match its condition; a static one those that were added to it.',
      body: NewSegment,
      audit: 'segment.create',
      response: { 201: Segment, 400: PlainError },
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const { description, type = 'DYNAMIC', trackMembership = false } = req.body
      const name = req.body.name ?? failPlainly('BAD_REQUEST', 'The field "name" is required.')
      const condition = type === 'STATIC' ? null : readOwnCondition(req.body.condition)
      const segment = { projectId: req.project.id, name, description, condition, trackMembership }
      const created = await countAfterChange(db, turns, await write(req, (tx) => createSegment(tx, segment)))
      return reply.status(201).send(showSegment(created))
    },
  )

  route.post(
    '/segments/preview',
    {
      summary: 'Preview a condition',
      description: 'Counts the contacts that match a condition, and those that remain after each filter. Stores nothing.',
      body: z.object({ condition: GivenCondition }),
      response: SegmentPreview,
      slowRead: true,
      onlyReads: true,
    },
    (req) => previewCondition(db, req.project.id, readCondition(req.body.condition, 'condition')),
  )

  route.get('/segments/:id', { summary: 'Get a segment', params: SegmentParam, response: Segment, etag: true }, async (req) => {
    const row = await find(req.project.id, req.params.id)
    await refreshCounts(db, req.project.id, [row])
    return showSegment(row)
  })

  route.patch(
    '/segments/:id',
    {
      summary: 'Update a segment',
      params: SegmentParam,
      body: Changes,
      audit: 'segment.update',
      response: { 200: Segment, 400: PlainError },
      takesHeaders: [IF_MATCH],
      refusals: ['CONFLICT'],
      etag: true,
    },
    async (req) => {
      const { id, projectId, type } = await find(req.project.id, req.params.id)
      const { name, description, trackMembership } = req.body
      const condition = type === 'STATIC' || req.body.condition === undefined ? undefined : readOwnCondition(req.body.condition)
      const edit = { projectId, id, changes: { name, description, condition, trackMembership }, revisions: readIfMatch(req) }
      const changed = (await write(req, (tx) => changeSegment(tx, edit))) ?? segmentNotFound(id)
      return showSegment(changed.hasNewCondition ? await countAfterChange(db, turns, changed.row) : changed.row)
    },
  )

  route.delete(
    '/segments/:id',
    {
      summary: 'Delete a segment',
      description: 'Refused while it is in use; `details.usedBy` names the users.',
      params: SegmentParam,
      audit: 'segment.delete',
      response: NO_CONTENT,
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const { id } = req.params
      const projectId = req.project.id
      const deleted = isId(id) && (await write(req, (tx) => deleteSegment(tx, { projectId, segmentId: id })))
      return deleted ? reply.status(204).send(null) : segmentNotFound(id)
    },
  )

  route.post(
    '/segments/:id/duplicate',
    {
      summary: 'Duplicate a segment',
      description: 'A static segment is copied with its members. The copy is not tracked.',
      params: SegmentParam,
      audit: 'segment.duplicate',
      response: { 201: Segment },
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const { id } = req.params
      const projectId = req.project.id
      const copy = isId(id) && (await write(req, (tx) => duplicateSegment(tx, { projectId, id })))
      return reply.status(201).send(showSegment(await countAfterChange(db, turns, copy || segmentNotFound(id))))
    },
  )

  route.post(
    '/segments/:id/compute',
    {
      summary: 'Recompute the members of a tracked segment',
      description:
        'Records an entry or exit event for each difference. Waits up to 20 seconds; a longer computation is answered with 202 and goes on. Two requests at the same time share one computation.',
      params: SegmentParam,
      audit: 'segment.compute',
      response: { 200: z.object({ added: z.int(), removed: z.int(), total: z.int() }), 202: Queued, 400: PlainError },
    },
    async (req, reply) => {
      const { id, projectId, type } = await find(req.project.id, req.params.id)
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
      params: SegmentParam,
      response: z.object({ memberCount: z.int() }),
      slowRead: true,
      onlyReads: true,
    },
    async (req) => ({ memberCount: await recount(db, await find(req.project.id, req.params.id)) }),
  )

  route.get(
    '/segments/:id/explain/:contactId',
    {
      summary: 'Explain why a contact is in a segment, or not',
      params: z.object({ id: z.string(), contactId: z.string() }),
      response: MembershipExplanation,
      slowRead: true,
    },
    async (req) => {
      const segment = await find(req.project.id, req.params.id)
      const { contactId } = req.params
      return (isId(contactId) && (await explainMembership(db, segment, contactId))) || contactNotFound(contactId)
    },
  )

  route.get(
    '/contacts/:id/segments',
    {
      summary: 'List the segments of a contact',
      description: 'Those that the contact is in now, newest segment first.',
      params: SegmentParam,
      response: z.array(ContactSegment),
      slowRead: true,
    },
    async (req) => {
      const { id } = req.params
      const contact = (isId(id) && (await findContact(db, req.project.id, id))) || contactNotFound(id)
      return listSegmentsOfContact(db, { projectId: req.project.id, contactId: contact.id })
    },
  )

  const find = async (projectId: string, id: string) => (isId(id) && (await findSegment(db, projectId, id))) || segmentNotFound(id)
}
