import { z } from 'zod'
import type { AccountEmailDeps } from '../account-emails/account-email.ts'
import { type Pool, transact } from '../db/index.ts'
import { Id } from '../http/core/validate.ts'
import type { createQuotaCounter } from '../http/limits/quotas.ts'
import { NO_CONTENT, type PersonRoutes } from '../http/resource.ts'
import { fail, notFound } from '../lib/errors/errors.ts'
import {
  changeRole,
  createInvitationLink,
  GivenRole,
  Invitation,
  Invite,
  Invited,
  inviteMember,
  isMember,
  listInvitations,
  listMembers,
  Member,
  removeMember,
  withdrawInvitation,
} from './members.ts'

export const ProjectId = z.object({ id: Id('project') })
const MemberId = ProjectId.extend({ userId: Id('member') })
const InvitationId = ProjectId.extend({ invitationId: Id('invitation') })

type Parts = {
  db: Pool
  port: AccountEmailDeps
  attempts: ReturnType<typeof createQuotaCounter>
  byAdmin: PersonRoutes
  byMember: PersonRoutes
}

export function memberRoutes({ db, port, attempts, byAdmin, byMember }: Parts) {
  byMember.get('/projects/:id/members', { summary: 'List members', response: z.array(Member) }, (req) => listMembers(db, req.project.id))

  byAdmin.post(
    '/projects/:id/members',
    {
      summary: 'Invite a member',
      body: Invite,
      audit: 'member.invite',
      auditsValues: true,
      response: { 201: Invited },
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const projectId = req.project.id
      await attempts.take({ scope: 'invite', subject: projectId })
      // Per address: many projects together must not flood one mailbox.
      await attempts.take({ scope: 'invited', subject: req.body.email })
      return reply
        .status(201)
        .send(await transact(req.db, (tx) => inviteMember(tx, port, { projectId, invitedBy: req.person.userId, ...req.body })))
    },
  )

  byAdmin.patch(
    '/projects/:id/members/:userId',
    {
      summary: 'Change the role of a member',
      params: MemberId,
      body: z.object({ role: GivenRole }),
      audit: 'member.update',
      auditsValues: true,
      response: Member,
    },
    async (req) => {
      const who = { projectId: req.project.id, userId: req.params.userId }
      return (await transact(req.db, (tx) => changeRole(tx, { ...who, role: req.body.role }))) ?? refuseOwnerOrUnknown(who)
    },
  )

  byMember.delete(
    '/projects/:id/members/:userId',
    { summary: 'Remove a member or leave the project', params: MemberId, audit: 'member.remove', response: NO_CONTENT },
    async (req, reply) => {
      const who = { projectId: req.project.id, userId: req.params.userId }
      if (req.role === 'MEMBER' && who.userId !== req.person.userId) fail('FORBIDDEN', { message: 'Only an owner or admin may do this.' })
      const removed = await transact(req.db, (tx) => removeMember(tx, who))
      return removed ? reply.status(204).send(null) : refuseOwnerOrUnknown(who)
    },
  )

  byAdmin.get('/projects/:id/invitations', { summary: 'List pending invitations', response: z.array(Invitation) }, (req) =>
    listInvitations(db, req.project.id),
  )

  byAdmin.post(
    '/projects/:id/invitations/:invitationId/link',
    {
      summary: 'Create a link to an invitation',
      description:
        'To pass on by other means than the email. It works once, for the invited address, until the invitation expires, and replaces the link created before. It does not verify the address.',
      params: InvitationId,
      audit: 'invitation.link',
      response: z.object({ url: z.string() }),
    },
    async (req) => {
      const { invitationId } = req.params
      const link = await transact(req.db, (tx) => createInvitationLink(tx, port, { projectId: req.project.id, invitationId }))
      return link ?? notFound('invitation', invitationId)
    },
  )

  byAdmin.delete(
    '/projects/:id/invitations/:invitationId',
    { summary: 'Revoke an invitation', params: InvitationId, audit: 'invitation.revoke', response: NO_CONTENT },
    async (req, reply) => {
      const { invitationId } = req.params
      const withdrawn = await transact(req.db, (tx) => withdrawInvitation(tx, { projectId: req.project.id, invitationId }))
      return withdrawn ? reply.status(204).send(null) : notFound('invitation', invitationId)
    },
  )

  async function refuseOwnerOrUnknown(who: { projectId: string; userId: string }): Promise<never> {
    if (await isMember(db, who)) fail('FORBIDDEN', { message: 'The owner cannot be removed or demoted.' })
    return notFound('member', who.userId)
  }
}
