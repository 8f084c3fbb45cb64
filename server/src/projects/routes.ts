import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { accountEmailDeps } from '../account-emails/account-email.ts'
import { maybeOne, type Pool, type Tx, transact } from '../db/index.ts'
import { transactSurely } from '../db/transact-surely.ts'
import { NO_KEYS, type Role } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { createQuotaCounter } from '../http/limits/quotas.ts'
import { NO_CONTENT, routesOf } from '../http/resource.ts'
import { notFound } from '../lib/errors/errors.ts'
import { keyRoutes } from './api-keys/key-routes.ts'
import { KeyUsage, readKeyUsage } from './api-keys/keys.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { memberRoutes, ProjectId } from './member-routes.ts'
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

type Hooks = {
  /** In the transaction that requests the wipe of a project: stops the work of upper layers. */
  beforeWipe: (tx: Tx, projectId: string) => Promise<unknown>
  /** In the transaction that deletes a project: writes down what was used, before its counts are deleted. */
  afterDelete: (tx: Tx, projectId: string) => Promise<unknown>
}

export function projectRoutes(app: App, deps: Deps, { beforeWipe, afterDelete }: Hooks) {
  const { db, secrets, log } = deps
  const port = accountEmailDeps(deps)
  const attempts = createQuotaCounter(db, secrets)
  const of = (role: Role, tags = ['Projects']) => routesOf(app, { tags, caller: 'session', role, ...NO_KEYS, params: ProjectId })
  const [byOwner, byAdmin, byMember] = [of('OWNER'), of('ADMIN'), of('MEMBER')]
  const person = routesOf(app, { tags: ['Projects'], caller: 'session', role: null, ...NO_KEYS })
  const logChange = (req: FastifyRequest, change: string) =>
    log.info({ projectId: req.project.id, userId: req.person.userId, requestId: req.id }, change)

  person.get('/users/@me/projects', { summary: 'List your projects', response: z.array(Project) }, (req) =>
    listProjects(db, secrets, req.person.userId),
  )

  person.post(
    '/users/@me/projects',
    {
      summary: 'Create a project',
      body: z.object({ name: ProjectName }),
      audit: 'project.create',
      auditsValues: true,
      response: { 201: Project },
    },
    async (req, reply) => {
      const ownerId = req.person.userId
      await attempts.take({ scope: 'create-project', subject: ownerId })
      const project = await transact(req.db, (tx) => createProject(tx, secrets, { name: req.body.name, ownerId }))
      return reply.status(201).send(project)
    },
  )

  byAdmin.patch(
    '/users/@me/projects/:id',
    { summary: 'Update a project', body: ProjectChanges, audit: 'project.update', auditsValues: true, response: Project },
    async (req) => {
      const row = await transact(req.db, (tx) => changeProject(tx, req.project.id, req.body))
      return showProject(secrets, row ?? notFound('project', req.project.id), req.role)
    },
  )

  byOwner.delete(
    '/users/@me/projects/:id',
    { summary: 'Delete a project', audit: 'project.delete', response: NO_CONTENT },
    async (req, reply) => {
      await transactSurely(req.db, async (tx) => {
        await beforeWipe(tx, req.project.id)
        await deleteProject(tx, req.project.id)
        await afterDelete(tx, req.project.id)
      })
      logChange(req, 'project deleted')
      return reply.status(204).send(null)
    },
  )

  byAdmin.post(
    '/users/@me/projects/:id/regenerate-keys',
    {
      summary: 'Regenerate both API keys',
      description: 'When this responds, the old keys no longer work on any node.',
      audit: 'project.regenerate_keys',
      response: Project,
    },
    async (req) => {
      const row = await transact(req.db, (tx) => regenerateKeys(tx, secrets, req.project.id))
      logChange(req, 'API keys regenerated')
      return showProject(secrets, row ?? notFound('project', req.project.id), req.role)
    },
  )

  byOwner.post(
    '/users/@me/projects/:id/reset',
    {
      summary: 'Delete all data of a project',
      description: 'Irreversible. Keeps domains, members, keys and suppressions. Running jobs stop and leave nothing behind.',
      audit: 'project.reset',
      response: z.object({ success: z.literal(true), message: z.string() }),
    },
    async (req) => {
      await transactSurely(req.db, async (tx) => {
        await beforeWipe(tx, req.project.id)
        await requestWipe(tx, req.project.id)
      })
      logChange(req, 'project reset')
      // The reset is stored, and a job carries it out: the request has succeeded, whatever becomes of this look.
      const done = await isWiped(db, req.project.id).catch(() => false)
      return { success: true as const, message: `All data of this project ${done ? 'was' : 'is being'} deleted.` }
    },
  )

  byMember.get('/projects/:id/setup-state', { summary: 'Get the setup state of a project', response: SetupState }, (req) =>
    setupState(db, req.project.id),
  )

  byMember.get('/projects/:id/key-usage', { summary: 'Get when the API keys were last used', response: KeyUsage }, (req) =>
    readKeyUsage(db, req.project),
  )

  keyRoutes({ db, secrets, byAdmin: of('ADMIN', ['Keys']) })
  auditRoutes({ db, secrets, byAdmin: of('ADMIN', ['Audit']) })
  memberRoutes({ db, port, attempts, byAdmin: of('ADMIN', ['Members']), byMember: of('MEMBER', ['Members']) })
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
