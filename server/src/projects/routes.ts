import { z } from 'zod'
import { maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { transactSurely } from '../db/transact-surely.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import { routesOf } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { Id } from '../http/validate.ts'
import { sendsAccountEmails } from '../lib/config.ts'
import { fail, notFound } from '../lib/errors.ts'
import { KeyUsage, readKeyUsage } from './keys.ts'
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
import {
  changeProject,
  createProject,
  deleteProject,
  listProjects,
  Project,
  ProjectChanges,
  ProjectName,
  regenerateKeys,
  requestWipe,
  showProject,
} from './project.ts'
import { SetupState, setupState } from './setup-state.ts'

const ProjectId = z.object({ id: Id('project') })
const MemberId = ProjectId.extend({ userId: Id('member') })
const InvitationId = ProjectId.extend({ invitationId: Id('invitation') })
const NoContent = z.null().describe('No content')

type Hooks = {
  /** In the transaction that requests the wipe of a project: stops the work of upper layers. */
  beforeWipe: (tx: Tx, projectId: string) => Promise<unknown>
  /** In the transaction that deletes a project: writes down what was used, before its counts are deleted. */
  afterDelete: (tx: Tx, projectId: string) => Promise<unknown>
}

export function projectRoutes(app: App, { db, secrets, log, config }: Deps, { beforeWipe, afterDelete }: Hooks) {
  const port = { secrets, log, publicUrl: config.publicUrl, isDelivered: sendsAccountEmails(config) }
  const attempts = createQuotaCounter(db, secrets)
  const tags = ['Projects']
  const route = routesOf(app, { tags })

  route.get('/users/@me/projects', { summary: 'List your projects', response: z.array(Project), caller: 'session' }, (req) =>
    listProjects(db, secrets, req.person.userId),
  )

  route.post(
    '/users/@me/projects',
    { summary: 'Create a project', body: z.object({ name: ProjectName }), response: { 201: Project }, caller: 'session' },
    async (req, reply) => {
      const ownerId = req.person.userId
      await attempts.take({ scope: 'create-project', subject: ownerId })
      const project = await transact(db, (tx) => createProject(tx, secrets, { name: req.body.name, ownerId }))
      return reply.status(201).send(project)
    },
  )

  route.patch(
    '/users/@me/projects/:id',
    { summary: 'Update a project', params: ProjectId, body: ProjectChanges, response: Project, caller: 'session', role: 'ADMIN' },
    async (req) => {
      const row = await transact(db, (tx) => changeProject(tx, req.project.id, req.body))
      return showProject(secrets, row ?? notFound('project', req.project.id), req.role)
    },
  )

  route.delete(
    '/users/@me/projects/:id',
    { summary: 'Delete a project', params: ProjectId, response: { 204: NoContent }, caller: 'session', role: 'OWNER' },
    async (req, reply) => {
      await transactSurely(db, async (tx) => {
        await beforeWipe(tx, req.project.id)
        await deleteProject(tx, req.project.id)
        await afterDelete(tx, req.project.id)
      })
      log.info({ projectId: req.project.id, userId: req.person.userId, requestId: req.id }, 'project deleted')
      return reply.status(204).send(null)
    },
  )

  route.post(
    '/users/@me/projects/:id/regenerate-keys',
    {
      summary: 'Regenerate both API keys',
      description: 'When this responds, the old keys no longer work on any node.',
      params: ProjectId,
      response: Project,
      caller: 'session',
      role: 'ADMIN',
    },
    async (req) => {
      const row = await transact(db, (tx) => regenerateKeys(tx, secrets, req.project.id))
      log.info({ projectId: req.project.id, userId: req.person.userId, requestId: req.id }, 'API keys regenerated')
      return showProject(secrets, row ?? notFound('project', req.project.id), req.role)
    },
  )

  route.post(
    '/users/@me/projects/:id/reset',
    {
      summary: 'Delete all data of a project',
      description: 'Irreversible. Keeps domains, members, keys and suppressions. Running jobs stop and leave nothing behind.',
      params: ProjectId,
      response: z.object({ success: z.literal(true), message: z.string() }),
      caller: 'session',
      role: 'OWNER',
    },
    async (req) => {
      await transactSurely(db, async (tx) => {
        await beforeWipe(tx, req.project.id)
        await requestWipe(tx, req.project.id)
      })
      log.info({ projectId: req.project.id, userId: req.person.userId, requestId: req.id }, 'project reset')
      // The reset is stored, and a job carries it out: the request has succeeded, whatever becomes of this look.
      const done = await isWiped(db, req.project.id).catch(() => false)
      return {
        success: true as const,
        message: done ? 'All data of this project was deleted.' : 'All data of this project is being deleted.',
      }
    },
  )

  route.get(
    '/projects/:id/setup-state',
    { summary: 'Get the setup state of a project', params: ProjectId, response: SetupState, caller: 'session', role: 'MEMBER' },
    (req) => setupState(db, req.project.id),
  )

  route.get(
    '/projects/:id/key-usage',
    { summary: 'Get when the API keys were last used', params: ProjectId, response: KeyUsage, caller: 'session', role: 'MEMBER' },
    (req) => readKeyUsage(db, req.project),
  )

  memberRoutes()

  function memberRoutes() {
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

    route.delete(
      '/projects/:id/invitations/:invitationId',
      { summary: 'Revoke an invitation', params: InvitationId, response: { 204: NoContent }, caller: 'session', role: 'ADMIN' },
      async (req, reply) => {
        const { invitationId } = req.params
        const withdrawn = await transact(db, (tx) => withdrawInvitation(tx, { projectId: req.project.id, invitationId }))
        return withdrawn ? reply.status(204).send(null) : notFound('invitation', invitationId)
      },
    )
  }

  async function refuseOwnerOrUnknown(who: { projectId: string; userId: string }): Promise<never> {
    if (await roleOf(db, who)) fail('FORBIDDEN', { message: 'The owner cannot be removed or demoted.' })
    return notFound('member', who.userId)
  }
}

const WAIT_MS = 3_000
const POLL_MS = 50

/** Waits a moment, so that a small project is empty before the response. Workers finish a large one later. */
async function isWiped(db: Pool, projectId: string) {
  for (const deadline = performance.now() + WAIT_MS; performance.now() < deadline; ) {
    if (!(await maybeOne(db)`select 1 from project_wipes where project_id = ${projectId}`)) return true
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  return false
}
