import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { AppError, fail } from '../lib/errors.ts'
import { createShares } from '../lib/shares.ts'
import type { App } from './server.ts'

/** Bytes from which an answer counts as large. */
const LARGE = 256 * 1024
/** For this long after a large answer, the same read of the same project is expected to be large again. */
const REMEMBERED_MS = 60_000
const MAX_REMEMBERED = 1_000
/** Large reads that run at once on this node, one for each project. */
const AT_ONCE = 4
const MAX_WAITING = 16
const MAX_WAIT_MS = 10_000

/**
 * Reads that recently had large answers run one at a time per project. Such an answer takes the database and this process tens of
 * milliseconds each; a few at once would delay the requests of all other projects.
 */
export function limitLargeAnswers(app: App) {
  const large = createMemory()
  const share = createShares({
    total: AT_ONCE,
    each: 1,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    refusal: () =>
      new AppError('SERVICE_UNAVAILABLE', {
        message: 'Too many reads with large answers at once. Ask for one page after the other, or for smaller ones.',
        retryAfter: 1,
      }),
  })
  const keyOf = (req: FastifyRequest) => `${req.project.id} ${req.routeOptions.url}`

  app.addHook('onRoute', (route) => {
    const { handler, method, config } = route
    if (method !== 'GET' || (config?.caller !== 'project' && config?.caller !== 'secret-key')) return
    route.handler = function (req, reply) {
      if (!large.has(keyOf(req))) return handler.call(this, req, reply)
      return share(req.project.id, async () => {
        // The client may have gone while the request waited; its answer would not be read.
        if (req.socket.destroyed) fail('REQUEST_TIMEOUT')
        return handler.call(this, req, reply)
      })
    }
    route.onSend = [route.onSend ?? []].flat()
    route.onSend.push((req, _reply, payload, done) => {
      const isLarge = typeof payload === 'string' ? payload.length >= LARGE : payload instanceof Readable
      if (isLarge && req.project) large.add(keyOf(req))
      done()
    })
  })
}

function createMemory() {
  const until = new Map<string, number>()
  return {
    has: (key: string) => until.size > 0 && (until.get(key) ?? 0) > performance.now(),
    add(key: string) {
      until.delete(key)
      until.set(key, performance.now() + REMEMBERED_MS)
      if (until.size > MAX_REMEMBERED) until.delete(until.keys().next().value!)
    },
  }
}
