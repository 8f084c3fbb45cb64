import { tryLater } from '../../lib/errors/errors.ts'
import type { Rests } from '../../lib/fair/rests.ts'
import { createFairSemaphore } from '../../lib/fair/semaphore.ts'
import { KB, SECOND } from '../../lib/text/units.ts'
import type { App } from '../core/types.ts'
import { SLOW_READS_PER_OWNER } from './slow-reads.ts'

/** Body bytes from which a request takes the database and this process noticeable time. */
const LARGE = 16 * KB
/** From this size on the owner rests for as long as the request took; after a smaller one for the same share of it. */
const FULL_REST = 128 * KB
/** Of one owner, for each processor that one owner may occupy. Several, because requests that are written together take less time. */
const AT_ONCE = 4
/** More than the budget of body bytes lets in. */
const MAX_WAITING = 2_000
const MAX_WAIT_MS = 10 * SECOND
const METHODS = new Set(['POST', 'PUT', 'PATCH'])

/** Runs requests with large bodies a few at a time per owner, with rests, unless no other owner makes requests. */
export function limitLargeRequests(app: App, { rests, isAlone }: { rests: Rests; isAlone: (owner: string) => boolean }) {
  const share = createFairSemaphore({
    slots: Number.POSITIVE_INFINITY,
    each: AT_ONCE * SLOW_READS_PER_OWNER,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    rests,
    refusal: () => tryLater('Too many large requests at once. Try again shortly.'),
  })
  app.addHook('onRoute', (route) => {
    const { handler, method, config } = route
    if (config?.slowRead || ![method].flat().some((each) => METHODS.has(each))) return
    route.handler = function (req, reply) {
      const { bodySize, project } = req
      if (bodySize < LARGE || !project || isAlone(project.owner)) return handler.call(this, req, reply)
      const restShare = Math.min(1, bodySize / FULL_REST) / SLOW_READS_PER_OWNER
      return share(project.owner, async () => handler.call(this, req, reply), { restShare })
    }
  })
}
