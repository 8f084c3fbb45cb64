import { z } from 'zod'
import { sourceOf } from '../contacts/source.ts'
import { PlainError } from '../http/errors.ts'
import { sendPage } from '../http/limits/page-stream.ts'
import { cursorList } from '../http/paging.ts'
import type { App, Deps } from '../http/server.ts'
import { notFound } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'
import { HistoryQuery, listMembershipChanges, SegmentChange } from './history.ts'
import { listSegmentMembers, listSegmentMembersAfter, MemberList, MembersQuery } from './member-list.ts'
import { addAddresses, MAX_ADDRESSES, removeAddresses } from './members.ts'
import { findSegment } from './segment.ts'

const SegmentParam = z.object({ id: z.string() })
const Emails = z.array(z.string().max(1_000)).max(MAX_ADDRESSES)
const NewMembers = z.object({
  emails: Emails,
  createMissing: z.boolean().optional().describe('Create contacts for unknown addresses.'),
  subscribed: z
    .boolean()
    .optional()
    .describe('Subscription of the contacts that are created, true by default. Other contacts keep theirs.'),
})
const Added = z.object({
  added: z.int().describe('Contacts that were not members before.'),
  created: z.int().describe('Contacts that were created.'),
  notFound: z.array(z.string()).describe('Addresses without a contact, and texts that are not an address, as given.'),
})

export function segmentMemberRoutes(app: App, { db, secrets }: Deps) {
  const tags = ['Segments']
  const config = { caller: 'project' as const }

  app.get(
    '/segments/:id/contacts',
    {
      config: { ...config, slowRead: true },
      schema: {
        tags,
        summary: 'List the members of a segment',
        description: 'Newest contacts first. A dynamic segment is evaluated now. Take `page`, or continue with the `cursor` of a page.',
        params: SegmentParam,
        querystring: MembersQuery,
        response: { 200: MemberList },
      },
    },
    async (req, reply) => {
      const segment = await find(req.project.id, req.params.id)
      if (req.query.cursor !== undefined) return listSegmentMembersAfter(db, secrets, segment, req.query)
      return sendPage(reply, await listSegmentMembers(db, secrets, segment, req.query), { alias: 'contacts' }) as never
    },
  )

  app.get(
    '/segments/:id/history',
    {
      config: { ...config, slowRead: true },
      schema: {
        tags,
        summary: 'List entries and exits of a segment',
        description: 'Newest first. They are recorded while the segment is tracked.',
        params: SegmentParam,
        querystring: HistoryQuery,
        response: { 200: cursorList(SegmentChange) },
      },
    },
    async (req) => listMembershipChanges(db, secrets, await find(req.project.id, req.params.id), req.query),
  )

  app.post(
    '/segments/:id/members',
    {
      config,
      schema: {
        tags,
        summary: 'Add contacts to a static segment',
        params: SegmentParam,
        body: NewMembers,
        response: { 200: Added, 400: PlainError },
      },
    },
    async (req) => {
      const { id: segmentId, projectId } = await find(req.project.id, req.params.id)
      const { emails, createMissing = false, subscribed = true } = req.body
      return addAddresses(db, { projectId, segmentId, emails, createMissing, subscribed, source: sourceOf(req) })
    },
  )

  app.delete(
    '/segments/:id/members',
    {
      config,
      schema: {
        tags,
        summary: 'Remove contacts from a static segment',
        description: 'Unknown addresses are ignored.',
        params: SegmentParam,
        body: z.object({ emails: Emails }),
        response: { 200: z.object({ removed: z.int() }), 400: PlainError },
      },
    },
    async (req) => {
      const { id: segmentId, projectId } = await find(req.project.id, req.params.id)
      return removeAddresses(db, { projectId, segmentId, emails: req.body.emails })
    },
  )

  const find = async (projectId: string, id: string) => (isId(id) && (await findSegment(db, projectId, id))) || notFound('segment', id)
}
