import { z } from 'zod'
import { transact } from '../db/index.ts'
import type { createQuotaCounter } from '../http/limits/quotas.ts'
import { routesOf } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { Id } from '../http/validate.ts'
import { sendsAccountEmails } from '../lib/config.ts'
import { fail, notFound } from '../lib/errors.ts'
import {
  changeRole,
  createInvitationLink,
  GivenRole,
  Invitation,
  Invite,
  Invited,
  inviteMember,
  listInvitations,
  listMembers,
  Member,
  removeMember,
  roleOf,
  withdrawInvitation,
} from './members.ts'

const ProjectId = z.object({ id: Id('project') })
const MemberId = ProjectId.extend({ userId: Id('member') })
const InvitationId = ProjectId.extend({ invitationId: Id('invitation') })
const NoContent = z.null().describe('No content')

/** The team of a project, and the invitations to it. */
export function memberRoutes(app: App, { db, secrets, log, config }: Deps, attempts: ReturnType<typeof createQuotaCounter>) {
  const port = { secrets, log, publicUrl: config.publicUrl, isDelivered: sendsAccountEmails(config) }
  const route = routesOf(app, { tags: ['Members'] })

  route.get(
    '/projects/:id/members',
    { summary: 'List members', params: ProjectId, response: z.array(Member), caller: 'session', role: 'MEMBER' },
    (req) => listMembers(db, req.project.id),
  )

  route.post(
    '/projects/:id/members',
    {
      summary: 'Invite a member',
      params: ProjectId,
      body: Invite,
      response: { 201: Invited },
      caller: 'session',
      role: 'ADMIN',
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const projectId = req.project.id
      await attempts.take({ scope: 'invite', subject: projectId })
      // Per address: many projects together must not flood one mailbox.
      await attempts.take({ scope: 'invited', subject: req.body.email })
      return reply.status(201).send(await transact(db, (tx) => inviteMember(tx, port, { projectId, ...req.body })))
    },
  )

  route.patch(
    '/projects/:id/members/:userId',
    {
      summary: 'Change the role of a member',
      params: MemberId,
      body: z.object({ role: GivenRole }),
      response: Member,
      caller: 'session',
      role: 'ADMIN',
    },
    async (req) => {
      const who = { projectId: req.project.id, userId: req.params.userId }
      const member = await transact(db, (tx) => changeRole(tx, { ...who, role: req.body.role }))
      if (!member) return refuseOwnerOrUnknown(who)
      return { ...member, createdAt: member.createdAt.toISOString() }
    },
  )

  route.delete(
    '/projects/:id/members/:userId',
    {
      summary: 'Remove a member or leave the project',
      params: MemberId,
      response: { 204: NoContent },
      caller: 'session',
      role: 'MEMBER',
    },
    async (req, reply) => {
      const who = { projectId: req.project.id, userId: req.params.userId }
      if (req.role === 'MEMBER' && who.userId !== req.person.userId) fail('FORBIDDEN', { message: 'Only an owner or admin may do this.' })
      const removed = await transact(db, (tx) => removeMember(tx, who))
      return removed ? reply.status(204).send(null) : refuseOwnerOrUnknown(who)
    },
  )

  route.get(
    '/projects/:id/invitations',
    { summary: 'List pending invitations', params: ProjectId, response: z.array(Invitation), caller: 'session', role: 'ADMIN' },
    (req) => listInvitations(db, req.project.id),
  )

  route.post(
    '/projects/:id/invitations/:invitationId/link',
    {
      summary: 'Create a link to an invitation',
      description:
        'To pass on by other means than the email. It works once, for the invited address, until the invitation expires, and replaces the link created before. It does not verify the address.',
      params: InvitationId,
      response: z.object({ url: z.string() }),
      caller: 'session',
      role: 'ADMIN',
    },
    async (req) => {
      const { invitationId } = req.params
      const link = await transact(db, (tx) => createInvitationLink(tx, port, { projectId: req.project.id, invitationId }))
      return link ?? notFound('invitation', invitationId)
    },
  )

  route.delete(
    '/projects/:id/invitations/:invitationId',
    { summary: 'Revoke an invitation', params: InvitationId, response: { 204: NoContent }, caller: 'session', role: 'ADMIN' },
    async (req, reply) => {
      const { invitationId } = req.params
      const withdrawn = await transact(db, (tx) => withdrawInvitation(tx, { projectId: req.project.id, invitationId }))
      return withdrawn ? reply.status(204).send(null) : notFound('invitation', invitationId)
    },
  )

  async function refuseOwnerOrUnknown(who: { projectId: string; userId: string }): Promise<never> {
    if (await roleOf(db, who)) fail('FORBIDDEN', { message: 'The owner cannot be removed or demoted.' })
    return notFound('member', who.userId)
  }
}
