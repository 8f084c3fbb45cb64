import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { createCache } from '../../lib/collections/cache.ts'
import { tryLater } from '../../lib/errors/errors.ts'
import { createFairSemaphore } from '../../lib/fair/semaphore.ts'
import { KB, MINUTE } from '../../lib/text/units.ts'
import type { App } from '../core/types.ts'
import { shareHandler } from './slow-reads.ts'

/** Bytes from which a response counts as large. */
const LARGE = 256 * KB
/** For this long after a large response, the same read of the same project is expected to be large again. */
const REMEMBERED_MS = MINUTE
const MAX_REMEMBERED = 1_000
/** Large reads that run at once on this node, one for each owner. */
const AT_ONCE = 4
const MAX_WAITING = 16
const MAX_WAIT_MS = 10_000

/**
 * Reads that recently had large responses run one at a time per owner. Such a response takes the database and this process tens of
 * milliseconds each; a few at once would delay the requests of all other owners.
 */
export function limitLargeAnswers(app: App) {
  /** Until when the reads of a key are expected to be large. */
  const until = createCache<string, number>({ maxEntries: MAX_REMEMBERED })
  const share = createFairSemaphore({
    slots: AT_ONCE,
    each: 1,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    refusal: () => tryLater('Too many reads with large answers at once. Ask for one page after the other, or for smaller ones.'),
  })
  const keyOf = (req: FastifyRequest) => `${req.project.id} ${req.routeOptions.url}`

  app.addHook('onRoute', (route) => {
    const { method, config } = route
    if (method !== 'GET' || (config?.caller !== 'project' && config?.caller !== 'secret-key')) return
    shareHandler(route, share, (req) => until.size > 0 && (until.get(keyOf(req)) ?? 0) > performance.now())
    route.onSend = [route.onSend ?? []].flat()
    route.onSend.push((req, _reply, payload, done) => {
      const isLarge = typeof payload === 'string' ? payload.length >= LARGE : payload instanceof Readable
      if (isLarge && req.project) until.set(keyOf(req), performance.now() + REMEMBERED_MS)
      done()
    })
  })
}
