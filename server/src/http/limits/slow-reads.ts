import { availableParallelism } from 'node:os'
import type { FastifyRequest as Request } from 'fastify'
import { createSharedSemaphore } from '../../lib/concurrency/shares.ts'
import { AppError, fail } from '../../lib/errors.ts'
import type { App } from '../server.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Marks reads whose cost grows with the project's data: all of the route, or those of the predicate. A few run at a time per project. */
    slowRead?: boolean | ((req: Request) => boolean)
  }
}

/**
 * Slow reads of one project that run at once on this node. Each may occupy a processor of the database for seconds; half of the processors
 * stay free for the other projects when the database runs on this machine.
 */
export const SLOW_READS_PER_PROJECT = Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)))
/** Slow reads that may wait; more are refused at once. */
const MAX_WAITING = 16
/** Longest wait: longer than a slow read usually takes, shorter than clients wait. */
const MAX_WAIT_MS = 5_000
/** Quick ones one after the other would leave the event loop to one project; long ones wait for the database, which leaves it free. */
const MAX_REST_MS = 50

/**
 * Runs the handlers of routes with `slowRead` under a semaphore per project. All of them together get half of the pool; the other half
 * stays free for quick reads and writes of all projects.
 */
export function limitSlowReads(app: App, { poolSize }: { poolSize: number }) {
  const share = createSharedSemaphore({
    total: Math.max(1, Math.floor(poolSize / 2)),
    each: SLOW_READS_PER_PROJECT,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    maxRestMs: MAX_REST_MS,
    refusal: () =>
      new AppError('SERVICE_UNAVAILABLE', { message: 'Too many slow reads of this project at once. Try again shortly.', retryAfter: 1 }),
  })
  app.addHook('onRoute', (route) => {
    const isSlow = route.config?.slowRead
    if (!isSlow) return
    const { handler } = route
    route.handler = function (req, reply) {
      if (typeof isSlow === 'function' && !isSlow(req)) return handler.call(this, req, reply)
      return share(req.project.id, async () => {
        // The client may have disconnected while the request waited.
        if (req.socket.destroyed) fail('REQUEST_TIMEOUT')
        return handler.call(this, req, reply)
      })
    }
  })
}
