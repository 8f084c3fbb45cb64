import type { FastifyRequest as Request } from 'fastify'
import { AppError, fail } from '../lib/errors.ts'
import { createSharedSemaphore } from '../lib/shares.ts'
import type { App } from './server.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A read whose cost grows with the project's data; or which requests of a route are. A few run at a time per project. */
    slowRead?: boolean | ((req: Request) => boolean)
  }
}

/** Running at once for one project on this node. */
const PER_PROJECT = 4
/** Waiting for their turn; beyond, they are refused at once. */
const MAX_WAITING = 16
/** Longer than a slow read usually takes, shorter than a client waits. */
const MAX_WAIT_MS = 2_000

/**
 * Runs the handlers of routes with `slowRead` under a semaphore per project. All of them together get half of the pool: the other half
 * stays free for reads and writes that are quick, whoever asks.
 */
export function limitSlowReads(app: App, { poolSize }: { poolSize: number }) {
  const share = createSharedSemaphore({
    total: Math.max(1, Math.floor(poolSize / 2)),
    each: PER_PROJECT,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
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
        // The client may have gone while the request waited; its answer would not be read.
        if (req.socket.destroyed) fail('REQUEST_TIMEOUT')
        return handler.call(this, req, reply)
      })
    }
  })
}
