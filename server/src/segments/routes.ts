import { z } from 'zod'
import { readCondition } from '../conditions/schema.ts'
import type { Pool, Tx } from '../db/index.ts'
import { transactSurely } from '../db/transact-surely.ts'
import { PlainError } from '../http/errors.ts'
import { readIfMatch } from '../http/if-match.ts'
import { pagePortions, sendList } from '../http/limits/page-stream.ts'
import { EDITING, NoContent, resource, tagged } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { failPlainly, notFound } from '../lib/errors.ts'
import { readOwnCondition } from './check-condition.ts'
import { countAfterChange, refreshCounts } from './counts.ts'
import { deleteSegment } from './delete.ts'
import { previewCondition, SegmentPreview } from './preview.ts'
import { changeSegment, createSegment, duplicateSegment, MAX_SEGMENT_NAME } from './save.ts'
import { findSegment, GivenCondition, listSegmentSizes, listSegments, SEGMENT_TYPES, Segment, showSegment } from './segment.ts'
import { createSegmentTurns } from './turns.ts'

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

/** Of the routes below `/segments/:id`. */
export const segmentResource = (db: Pool) => resource('segment', ({ projectId, id }) => findSegment(db, projectId, id))

const tags = ['Segments']
const config = { caller: 'project' as const }
const slow = { ...config, slowRead: true }

export function segmentRoutes(app: App, deps: Deps) {
  const turns = createSegmentTurns(deps.config)
  const write: Write = (projectId, work) => turns.write(projectId, () => transactSurely(deps.db, work))
  collectionRoutes(app, deps, { turns, write })
  itemRoutes(app, deps, { turns, write })
}

type Write = <T>(projectId: string, work: (tx: Tx) => Promise<T>) => Promise<T>
type Writing = { turns: ReturnType<typeof createSegmentTurns>; write: Write }

function collectionRoutes(app: App, { db }: Deps, { turns, write }: Writing) {
  app.get(
    '/segments',
    { config, schema: { tags, summary: 'List segments', description: 'All of them, newest first.', response: { 200: z.array(Segment) } } },
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

  app.post(
    '/segments',
    {
      config: { ...config, refusals: ['CONFLICT'] },
      schema: {
        tags,
        summary: 'Create a segment',
        description: 'A dynamic segment has the contacts that match its condition; a static one those that were added to it.',
        body: NewSegment,
        response: { 201: Segment, 400: PlainError },
      },
    },
    async (req, reply) => {
      const { description, type = 'DYNAMIC', trackMembership = false } = req.body
      const name = req.body.name ?? failPlainly('BAD_REQUEST', 'The field "name" is required.')
      const condition = type === 'STATIC' ? null : readOwnCondition(req.body.condition)
      const segment = { projectId: req.project.id, name, description, condition, trackMembership }
      const created = await countAfterChange(db, turns, await write(segment.projectId, (tx) => createSegment(tx, segment)))
      return reply.status(201).send(showSegment(created))
    },
  )

  app.post(
    '/segments/preview',
    {
      config: { ...slow, onlyReads: true },
      schema: {
        tags,
        summary: 'Preview a condition',
        description: 'Counts the contacts that match a condition, and those that remain after each filter. Stores nothing.',
        body: z.object({ condition: GivenCondition }),
        response: { 200: SegmentPreview },
      },
    },
    (req) => previewCondition(db, req.project.id, readCondition(req.body.condition, 'condition')),
  )
}

function itemRoutes(app: App, { db }: Deps, { turns, write }: Writing) {
  const { params, find, on } = segmentResource(db)

  app.get(
    '/segments/:id',
    { config, schema: { tags, summary: 'Get a segment', params, response: { 200: Segment } } },
    async (req, reply) => {
      const row = await find(req)
      await refreshCounts(db, req.project.id, [row])
      return tagged(reply, showSegment(row))
    },
  )

  app.patch(
    '/segments/:id',
    {
      config: { ...config, ...EDITING },
      schema: { tags, summary: 'Update a segment', params, body: Changes, response: { 200: Segment, 400: PlainError } },
    },
    async (req, reply) => {
      const { id, projectId, type } = await find(req)
      const { name, description, trackMembership } = req.body
      const condition = type === 'STATIC' || req.body.condition === undefined ? undefined : readOwnCondition(req.body.condition)
      const edit = { projectId, id, changes: { name, description, condition, trackMembership }, revisions: readIfMatch(req) }
      const changed = (await write(projectId, (tx) => changeSegment(tx, edit))) ?? notFound('segment', id)
      return tagged(reply, showSegment(changed.hasNewCondition ? await countAfterChange(db, turns, changed.row) : changed.row))
    },
  )

  app.delete(
    '/segments/:id',
    {
      config: { ...config, refusals: ['CONFLICT'] },
      schema: {
        tags,
        summary: 'Delete a segment',
        description: 'Refused while it is in use; `details.usedBy` names the users.',
        params,
        response: { 204: NoContent },
      },
    },
    async (req, reply) => {
      await on(req, ({ projectId, id }) => write(projectId, (tx) => deleteSegment(tx, { projectId, segmentId: id })))
      return reply.status(204).send(null)
    },
  )

  app.post(
    '/segments/:id/duplicate',
    {
      config: { ...config, refusals: ['CONFLICT'] },
      schema: {
        tags,
        summary: 'Duplicate a segment',
        description: 'A static segment is copied with its members. The copy is not tracked.',
        params,
        response: { 201: Segment },
      },
    },
    async (req, reply) => {
      const copy = await on(req, (key) => write(key.projectId, (tx) => duplicateSegment(tx, key)))
      return reply.status(201).send(showSegment(await countAfterChange(db, turns, copy)))
    },
  )
}
