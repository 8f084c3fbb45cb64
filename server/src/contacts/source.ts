import type { FastifyRequest } from 'fastify'
import type { Source } from './subscription.ts'

/** On routes for a project: a session is a person at the dashboard, everything else came with the secret key. */
export const sourceOf = (req: FastifyRequest): Source =>
  req.person
    ? { by: 'dashboard', details: { userId: req.person.userId, requestId: req.id } }
    : { by: 'secret-key', details: { requestId: req.id } }
