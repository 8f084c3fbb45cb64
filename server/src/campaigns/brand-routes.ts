import { z } from 'zod'
import { transact } from '../db/index.ts'
import { NO_KEYS } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { Queued } from '../jobs/job.ts'
import { ProjectId } from '../projects/member-routes.ts'
import { queueBrand } from './draft/apply-brand.ts'

export function brandRoutes(app: App, _deps: Deps) {
  const route = routesOf(app, { tags: ['Designs'], caller: 'session', role: 'ADMIN', ...NO_KEYS, params: ProjectId })

  route.post(
    '/projects/:id/brand/apply',
    {
      summary: 'Apply the brand to saved designs',
      description:
        'Starts a job that renders the designs of templates and draft campaigns again, in the brand as it is now. A template gets a new version; ' +
        'campaigns that are scheduled or were sent never change. With `dryRun` the job changes nothing, and its result (`templates`, `campaigns`, ' +
        '`changedTemplates`, `changedCampaigns`) says what it would change.',
      body: z.object({ dryRun: z.boolean().default(false) }),
      bodyOptional: true,
      audit: 'brand.apply',
      response: { 202: Queued },
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const { dryRun } = req.body
      const work = { projectId: req.project.id, dryRun, savedBy: req.person.userId }
      const jobId = await transact(req.db, (tx) => queueBrand(tx, work))
      return reply.status(202).send({ message: dryRun ? 'Comparing emails with the brand.' : 'Applying the brand.', jobId })
    },
  )
}
