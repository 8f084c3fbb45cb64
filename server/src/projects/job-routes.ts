import { z } from 'zod'
import { PlainError } from '../http/errors.ts'
import { CursorQuery, cursorList, readKeysetPage } from '../http/paging.ts'
import { routesOf } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { countJobs, findJob, type JobRow, JobView, selectJobs, showJob } from '../jobs/job.ts'
import { isId } from '../lib/id.ts'
import { jobNotFound } from './csv/csv-export-routes.ts'

const JobsQuery = CursorQuery.extend({ active: z.enum(['1', 'true']).optional().describe('Only jobs that have not finished.') })

/** Jobs of all features: imports, bulk changes, exports, deletions. */
export function jobRoutes(app: App, { db, secrets }: Deps) {
  const route = routesOf(app, { tags: ['Jobs'], caller: 'project' })

  route.get(
    '/jobs',
    {
      summary: 'List jobs, newest first',
      description: 'Jobs are listed for 30 days.',
      querystring: JobsQuery,
      response: cursorList(JobView),
    },
    (req) => {
      const [projectId, active] = [req.project.id, req.query.active !== undefined]
      return readKeysetPage<JobRow, z.output<typeof JobView>>(db, secrets, {
        scope: JSON.stringify(['jobs', projectId, active]),
        query: req.query,
        select: ({ after, limit }) => selectJobs({ projectId, active, after: after?.[0] as string | undefined, limit }),
        positionOf: ({ id }) => [id],
        show: showJob,
        count: () => countJobs(db, { projectId, active }),
      })
    },
  )

  route.get(
    '/jobs/:jobId',
    { summary: 'Get a job', params: z.object({ jobId: z.string() }), response: { 200: JobView, 404: PlainError } },
    async (req) => {
      const { jobId } = req.params
      const job = isId(jobId) ? await findJob(db, { projectId: req.project.id, jobId }) : undefined
      return job ?? jobNotFound()
    },
  )
}
