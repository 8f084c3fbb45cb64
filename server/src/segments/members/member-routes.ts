import { z } from 'zod'
import { sourceOf } from '../../contacts/record/source.ts'
import { PlainError } from '../../http/core/errors.ts'
import { cursorList } from '../../http/core/paging.ts'
import type { App, Deps } from '../../http/core/types.ts'
import { sendPage } from '../../http/limits/page-stream.ts'
import { segmentResource } from '../definition/segment-resource.ts'
import { HistoryQuery, listMembershipChanges, SegmentChange } from './history.ts'
import { listSegmentMembers, listSegmentMembersAfter, MemberList, MembersQuery } from './member-list.ts'
import { addAddresses, MAX_ADDRESSES, removeAddresses } from './members.ts'

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
  const route = segmentResource(app, db)

  route.get(
    '/segments/:id/contacts',
    {
      summary: 'List the members of a segment',
      description: 'Newest contacts first. A dynamic segment is evaluated now. Take `page`, or continue with the `cursor` of a page.',
      querystring: MembersQuery,
      response: MemberList,
      slowRead: true,
    },
    async (req, segment, reply) => {
      if (req.query.cursor !== undefined) return listSegmentMembersAfter(db, secrets, segment, req.query)
      return sendPage(reply, await listSegmentMembers(db, secrets, segment, req.query), { alias: 'contacts' }) as never
    },
  )

  route.get(
    '/segments/:id/history',
    {
      summary: 'List entries and exits of a segment',
      description: 'Newest first. They are recorded while the segment is tracked.',
      querystring: HistoryQuery,
      response: cursorList(SegmentChange),
      slowRead: true,
    },
    (req, segment) => listMembershipChanges(db, secrets, segment, req.query),
  )

  route.post(
    '/segments/:id/members',
    {
      summary: 'Add contacts to a static segment',
      body: NewMembers,
      audit: 'segment.add_members',
      auditsOnlyPeople: true,
      response: { 200: Added, 400: PlainError },
    },
    (req, { id: segmentId, projectId }) => {
      const { emails, createMissing = false, subscribed = true } = req.body
      return addAddresses(req.db, { projectId, segmentId, emails, createMissing, subscribed, source: sourceOf(req) })
    },
  )

  route.delete(
    '/segments/:id/members',
    {
      summary: 'Remove contacts from a static segment',
      description: 'Unknown addresses are ignored.',
      body: z.object({ emails: Emails }),
      audit: 'segment.remove_members',
      auditsOnlyPeople: true,
      response: { 200: z.object({ removed: z.int() }), 400: PlainError },
    },
    (req, { id: segmentId, projectId }) => removeAddresses(req.db, { projectId, segmentId, emails: req.body.emails }),
  )
}
