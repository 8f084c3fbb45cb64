import { availableParallelism } from 'node:os'
import type { FastifyRequest as Request, RouteOptions } from 'fastify'
import { fail, tryLater } from '../../lib/errors/errors.ts'
import type { Rests } from '../../lib/fair/rests.ts'
import { createFairSemaphore, type FairSemaphore } from '../../lib/fair/semaphore.ts'
import type { App } from '../core/types.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Marks reads whose cost grows with the project's data: all of the route, or those of the predicate. A few run at a time per owner. */
    slowRead?: boolean | ((req: Request) => boolean)
  }
}

/**
 * Slow reads of one owner that run at once on this node. Each may occupy a processor of the database for seconds; half of the processors
 * stay free for the other owners when the database runs on this machine.
 */
export const SLOW_READS_PER_OWNER = Math.min(4, Math.max(1, Math.floor(availableParallelism() / 2)))
/** Slow reads that may wait; more are refused at once. */
const MAX_WAITING = 16
/** Longest wait. Clients usually wait for 30 s. */
const MAX_WAIT_MS = 20_000
/**
 * Runs the handlers of routes with `slowRead` under a semaphore per owner. All of them together get half of the pool; the other half
 * stays free for quick reads and writes of all owners.
 */
export function limitSlowReads(app: App, { poolSize, rests }: { poolSize: number; rests: Rests }) {
  const share = createFairSemaphore({
    slots: Math.max(1, Math.floor(poolSize / 2)),
    each: SLOW_READS_PER_OWNER,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    rests,
    refusal: () => tryLater('Too many slow reads of your projects at once. Try again shortly.'),
  })
  app.addHook('onRoute', (route) => {
    const isSlow = route.config?.slowRead
    if (isSlow) shareHandler(route, share, (req) => isSlow === true || isSlow(req))
  })
}

/** Runs the handler of a route in a slot of the owner, for the requests that need one. */
export function shareHandler(route: RouteOptions, share: FairSemaphore, needsSlot: (req: Request) => boolean) {
  const { handler } = route
  route.handler = function (req, reply) {
    if (!needsSlot(req)) return handler.call(this, req, reply)
    return share(req.project.owner, async () => {
      // The client may have disconnected while the request waited.
      if (req.socket.destroyed) fail('REQUEST_TIMEOUT')
      return handler.call(this, req, reply)
    })
  }
}
