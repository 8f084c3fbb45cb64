import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readCondition } from '../conditions/schema.ts'
import { GivenCondition } from '../contacts/selection/segment-access.ts'
import type { Tx } from '../db/index.ts'
import { transactSurely } from '../db/transact-surely.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import { PlainError } from '../http/core/errors.ts'
import { readIfMatch } from '../http/core/if-match.ts'
import type { App, Deps } from '../http/core/types.ts'
import { pagePortions, sendList } from '../http/limits/page-stream.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { NO_CONTENT, routesOf } from '../http/resource.ts'
import { failPlainly } from '../lib/errors/errors.ts'
import { readOwnCondition } from './definition/check-condition.ts'
import { listSegmentSizes, listSegments, SEGMENT_TYPES, Segment, showSegment } from './definition/segment.ts'
import { segmentResource } from './definition/segment-resource.ts'
import { deleteSegment } from './delete.ts'
import { countAfterChange, refreshCounts } from './evaluation/counts.ts'
import { previewCondition, SegmentPreview } from './evaluation/preview.ts'
import { createSegmentTurns } from './evaluation/turns.ts'
import { changeSegment, createSegment, duplicateSegment, MAX_SEGMENT_NAME } from './save.ts'

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

export function segmentRoutes(app: App, { db, config: { poolSize } }: Deps) {
  const turns = createSegmentTurns({ poolSize })
  const write = <T>({ project, db }: FastifyRequest, work: (tx: Tx) => Promise<T>) =>
    turns.write(project.id, () => transactSurely(db, work))
  const route = routesOf(app, { tags: ['Segments'], caller: 'project', role: 'MEMBER', scope: 'contacts', read: true, ...SENDS_NOTHING })
  const ofSegment = segmentResource(app, db)

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
      audit: null,
      onlyReads: true,
    },
    (req) => previewCondition(db, req.project.id, readCondition(req.body.condition, 'condition')),
  )

  ofSegment.get('/segments/:id', { summary: 'Get a segment', response: Segment, etag: true }, async (_req, segment) => {
    await refreshCounts(db, segment.projectId, [segment])
    return showSegment(segment)
  })

  ofSegment.patch(
    '/segments/:id',
    {
      summary: 'Update a segment',
      body: Changes,
      audit: 'segment.update',
      senders: ['live'],
      stops: 'some',
      response: { 200: Segment, 400: PlainError },
      takesHeaders: [IF_MATCH],
      refusals: ['CONFLICT'],
      etag: true,
    },
    async (req, { id, projectId, type }) => {
      const { name, description, trackMembership } = req.body
      const condition = type === 'STATIC' || req.body.condition === undefined ? undefined : readOwnCondition(req.body.condition)
      const edit = {
        projectId,
        id,
        caller: req.project,
        changes: { name, description, condition, trackMembership },
        revisions: readIfMatch(req),
      }
      const changed = await write(req, (tx) => changeSegment(tx, edit))
      return showSegment(changed.hasNewCondition ? await countAfterChange(db, turns, changed.row) : changed.row)
    },
  )

  ofSegment.delete(
    '/segments/:id',
    {
      summary: 'Delete a segment',
      description: 'Refused while it is in use; `details.usedBy` names the users.',
      audit: 'segment.delete',
      response: NO_CONTENT,
      refusals: ['CONFLICT'],
    },
    async (req, { id, projectId }, reply) => {
      await write(req, (tx) => deleteSegment(tx, { projectId, segmentId: id }))
      return reply.status(204).send(null)
    },
  )

  ofSegment.post(
    '/segments/:id/duplicate',
    {
      summary: 'Duplicate a segment',
      description: 'A static segment is copied with its members. The copy is not tracked.',
      audit: 'segment.duplicate',
      response: { 201: Segment },
      refusals: ['CONFLICT'],
    },
    async (req, { id, projectId }, reply) => {
      const copy = await write(req, (tx) => duplicateSegment(tx, { projectId, id }))
      return reply.status(201).send(showSegment(await countAfterChange(db, turns, copy)))
    },
  )
}
