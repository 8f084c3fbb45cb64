import type { FastifyRequest } from 'fastify'
import type { Source } from './subscription.ts'

/** On routes for a project: a session is a person at the dashboard, everything else came with the secret key. */
export const sourceOf = (req: FastifyRequest): Source =>
  req.person
    ? { by: 'dashboard', details: { userId: req.person.userId, requestId: req.id } }
    : { by: 'secret-key', details: { requestId: req.id } }

/** A change that a job makes names the person or key that started the job. Jobs queued by an older version do not know it. */
export const jobSource = (by: 'import' | 'bulk', jobId: string, startedBy?: Source): Source => ({
  by,
  details: { jobId, ...(startedBy ? { startedBy: startedBy.by, ...startedBy.details } : {}) },
})
