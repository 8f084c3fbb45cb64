import type { FastifyRequest } from 'fastify'
import type { Source } from './subscription.ts'

/** For routes of a project: a session means the dashboard, everything else the secret key. */
export const sourceOf = (req: FastifyRequest): Source =>
  req.person
    ? { by: 'dashboard', details: { userId: req.person.userId, requestId: req.id } }
    : { by: 'secret-key', details: { requestId: req.id } }

/** Names the user or key that started the job. */
export const jobSource = (by: 'import' | 'bulk', jobId: string, startedBy: Source): Source => ({
  by,
  details: { jobId, startedBy: startedBy.by, ...startedBy.details },
})
