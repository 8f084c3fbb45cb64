import { z } from 'zod'
import { transact } from '../db/index.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import { NoContent } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { Id } from '../http/validate.ts'
import { sendsAccountEmails } from '../lib/config.ts'
import { fail, notFound } from '../lib/errors.ts'
import {
  changeRole,
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
import { ProjectId } from './routes.ts'

const MemberId = ProjectId.extend({ userId: Id('member') })
const InvitationId = ProjectId.extend({ invitationId: Id('invitation') })

export function memberRoutes(app: App, { db, secrets, log, config }: Deps) {
  const port = { secrets, log, publicUrl: config.publicUrl, isDelivered: sendsAccountEmails(config) }
  const attempts = createQuotaCounter(db, secrets)
  const tags = ['Members']

  app.get(
    '/projects/:id/members',
    {
      config: { caller: 'session', role: 'MEMBER' },
      schema: { tags, summary: 'List members', params: ProjectId, response: { 200: z.array(Member) } },
    },
    (req) => listMembers(db, req.project.id),
  )

  app.post(
    '/projects/:id/members',
    {
      config: { caller: 'session', role: 'ADMIN', refusals: ['CONFLICT'] },
      schema: { tags, summary: 'Invite a member', params: ProjectId, body: Invite, response: { 201: Invited } },
    },
    async (req, reply) => {
      const projectId = req.project.id
      await attempts.take({ scope: 'invite', subject: projectId })
      // Per address: many projects together must not flood one mailbox.
      await attempts.take({ scope: 'invited', subject: req.body.email })
      return reply.status(201).send(await transact(db, (tx) => inviteMember(tx, port, { projectId, ...req.body })))
    },
  )

  app.patch(
    '/projects/:id/members/:userId',
    {
      config: { caller: 'session', role: 'ADMIN' },
      schema: {
        tags,
        summary: 'Change the role of a member',
        params: MemberId,
        body: z.object({ role: GivenRole }),
        response: { 200: Member },
      },
    },
    async (req) => {
      const who = { projectId: req.project.id, userId: req.params.userId }
      const member = await transact(db, (tx) => changeRole(tx, { ...who, role: req.body.role }))
      if (!member) return refuseOwnerOrUnknown(who)
      return { ...member, createdAt: member.createdAt.toISOString() }
    },
  )

  app.delete(
    '/projects/:id/members/:userId',
    {
      config: { caller: 'session', role: 'MEMBER' },
      schema: { tags, summary: 'Remove a member or leave the project', params: MemberId, response: { 204: NoContent } },
    },
    async (req, reply) => {
      const who = { projectId: req.project.id, userId: req.params.userId }
      if (req.role === 'MEMBER' && who.userId !== req.person.userId) fail('FORBIDDEN', { message: 'Only an owner or admin may do this.' })
      const removed = await transact(db, (tx) => removeMember(tx, who))
      return removed ? reply.status(204).send(null) : refuseOwnerOrUnknown(who)
    },
  )

  app.get(
    '/projects/:id/invitations',
    {
      config: { caller: 'session', role: 'ADMIN' },
      schema: { tags, summary: 'List pending invitations', params: ProjectId, response: { 200: z.array(Invitation) } },
    },
    (req) => listInvitations(db, req.project.id),
  )

  app.delete(
    '/projects/:id/invitations/:invitationId',
    {
      config: { caller: 'session', role: 'ADMIN' },
      schema: { tags, summary: 'Revoke an invitation', params: InvitationId, response: { 204: NoContent } },
    },
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
