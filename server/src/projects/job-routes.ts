import { sql } from 'kysely'
import { z } from 'zod'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import type { Scope } from '../http/auth/scopes.ts'
import { PlainError } from '../http/core/errors.ts'
import { CursorQuery, cursorList, readKeysetPage } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { routesOf } from '../http/resource.ts'
import { countJobs, findJob, type JobRow, JobView, selectJobs, showJob } from '../jobs/job.ts'
import { isId } from '../lib/id.ts'
import { jobNotFound } from './csv/csv-export-routes.ts'

const JobsQuery = CursorQuery.extend({ active: z.enum(['1', 'true']).optional().describe('Only jobs that have not finished.') })

/** Types of the jobs that a scope may start, as regular expressions. */
const STARTED_BY: Partial<Record<Scope, string>> = {
  contacts: '^(import|bulk-.*|delete-field|compute-segment)$',
  campaigns: '^campaign-copy-to-segment$',
}

/** A key reads the jobs that it may start. Undefined: all of them. */
function readableTypes(scopes: readonly Scope[] | null) {
  if (scopes === null || scopes.includes('full') || scopes.includes('read')) return undefined
  return scopes.flatMap((scope) => STARTED_BY[scope] ?? []).join('|')
}

/** Jobs of all features: imports, bulk changes, exports, deletions. */
export function jobRoutes(app: App, { db, secrets }: Deps) {
  const route = routesOf(app, {
    tags: ['Jobs'],
    caller: 'project',
    role: 'MEMBER',
    scope: ['contacts', 'campaigns'],
    read: true,
    ...SENDS_NOTHING,
  })

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
      const types = readableTypes(req.project.scopes)
      const isOfType = types === undefined ? undefined : sql`type ~ ${types}`
      return readKeysetPage<JobRow, z.output<typeof JobView>>(db, secrets, {
        scope: JSON.stringify(['jobs', projectId, active, types]),
        query: req.query,
        select: ({ after, limit }) => selectJobs({ projectId, active, isOfType, after: after?.[0] as string | undefined, limit }),
        positionOf: ({ id }) => [id],
        show: showJob,
        count: () => countJobs(db, { projectId, active, isOfType }),
      })
    },
  )

  route.get(
    '/jobs/:jobId',
    { summary: 'Get a job', params: z.object({ jobId: z.string() }), response: { 200: JobView, 404: PlainError } },
    async (req) => {
      const { jobId } = req.params
      const job = isId(jobId) ? await findJob(db, { projectId: req.project.id, jobId }) : undefined
      const types = readableTypes(req.project.scopes)
      return job && (types === undefined || new RegExp(types).test(job.type)) ? job : jobNotFound()
    },
  )
}
