import { z } from 'zod'
import { one, transact } from '../db/index.ts'
import { NO_KEYS } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Id } from '../http/core/validate.ts'
import { routesOf } from '../http/resource.ts'
import { notFound } from '../lib/errors/errors.ts'
import { assertOperator } from '../projects/operators.ts'
import { acknowledge, isSuspended, liftSuspension } from './acknowledge.ts'
import { readSecurity, Security } from './security.ts'

const ProjectId = z.object({ id: Id('project') })

export function reputationRoutes(app: App, { db, log, config }: Deps) {
  const route = routesOf(app, { tags: ['Projects'], caller: 'session', ...NO_KEYS })
  const read = (projectId: string) => readSecurity(db, projectId, { disablesAutomatically: config.autoDisable })

  for (const url of ['/projects/:id/security', '/users/@me/projects/:id/security'] as const)
    route.get(
      url,
      {
        summary: 'Get the reputation of a project',
        description: 'Bounce and complaint rates, their levels, and when the project was disabled because of them.',
        params: ProjectId,
        response: Security,
        role: 'MEMBER',
      },
      (req) => read(req.project.id),
    )

  route.post(
    '/projects/:id/security/acknowledge',
    {
      summary: 'Acknowledge bounces and complaints',
      description:
        'Rates count from now on, and a project that was disabled because of them is enabled. An owner may do this once in 30 days, an ' +
        'operator at any time.',
      params: ProjectId,
      audit: 'project.acknowledge_reputation',
      response: Security,
      role: 'OWNER',
    },
    async (req) => {
      const { userId } = req.person
      const { email } = await one<{ email: string }>(db)`select email from users where id = ${userId}`
      await transact(req.db, (tx) => acknowledge(tx, req.project.id, { userId, email }))
      log.info({ projectId: req.project.id, userId, requestId: req.id }, 'reputation acknowledged')
      return read(req.project.id)
    },
  )
  route.post(
    '/suspensions/:id/lift',
    {
      summary: 'Lift a suspension',
      description:
        'By the id of the suspended project, also if it was deleted: the project is enabled, its domains can be added again, and further ' +
        'projects of its owner that were disabled because of it are enabled. Only for operators.',
      params: ProjectId,
      audit: 'project.lift_suspension',
      response: z.object({ success: z.literal(true) }),
      role: null,
      refusals: ['FORBIDDEN'],
    },
    async (req) => {
      const { userId } = req.person
      if (!(await isSuspended(db, req.params.id))) notFound('suspension', req.params.id)
      await assertOperator(db, userId)
      const { email } = await one<{ email: string }>(db)`select email from users where id = ${userId}`
      await transact(req.db, async (tx) => {
        await liftSuspension(tx, req.params.id, email)
        return { projectId: req.params.id }
      })
      log.info({ projectId: req.params.id, userId, requestId: req.id }, 'suspension lifted')
      return { success: true as const }
    },
  )
}
