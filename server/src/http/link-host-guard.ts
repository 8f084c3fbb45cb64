import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { maybeScalar, type Pool } from '../db/index.ts'
import { createCache } from '../lib/collections/cache.ts'
import { ownNamesOf } from '../lib/config.ts'
import { AppError } from '../lib/errors/errors.ts'
import { MINUTE, SECOND } from '../lib/text/units.ts'
import { isHealthPath } from './core/health-path.ts'
import type { App, Deps } from './core/types.ts'

/** Paths that a link host serves: targets of links in emails, and the proof that it leads here. Patterns of routes. */
const SERVED = /^\/(?:t|unsubscribe|subscribe|manage|confirm|f|uploads)\/|^\/\.well-known\/sterna-link-host$/
/** How long the kind of a host is remembered. A pending one is not: its check is about to verify it. */
const KNOWN_FOR_MS = { verified: MINUTE, pending: 0, none: 5 * SECOND }
const MAX_REMEMBERED = 10_000
const NAME = /^(?=.{4,253}$)[a-z0-9-]+(?:\.[a-z0-9-]+)+$/
/** Longest look-up: connections whose packets are lost fail after many seconds only. A probe of the health waits less than most probers. */
const LOOK_UP_MS = { health: 500, other: 1_500 }

declare module 'fastify' {
  interface FastifyRequest {
    linkHosts: string[] | null
  }
}

/** The link hosts that the request names; undefined for other requests. */
export const linkHostsOf = (req: FastifyRequest) => req.linkHosts ?? undefined

/** `verified`: now, or earlier and it is still set. Only such a name is restricted: without proof, customers could take those of others. */
type Kind = keyof typeof KNOWN_FOR_MS

/**
 * On a verified link host of a customer nothing answers but what emails link to: no dashboard, no API, no cookie. Requests by the names of the
 * installation need no look-up.
 */
export function guardLinkHosts(app: App, { db, config }: Deps) {
  const { host } = new URL(config.publicUrl)
  const own = new Set(ownNamesOf(config))
  const hosts = createHosts(db)
  app.decorateRequest('linkHosts', null)

  app.addHook('onRequest', (req, _reply, done) => {
    const { host: given, 'x-forwarded-host': forwarded } = req.headers
    if (forwarded === undefined && (given === host || given === undefined)) return done()
    // Both, whether the proxy is trusted or not: neither name may open more than the other.
    const names = [given, forwarded].flat().flatMap((name) => (name ?? '').split(',').map(readName))
    const foreign = [...new Set(names)].filter((name) => !own.has(name) && NAME.test(name) && !isIP(name))
    if (!foreign.length) return done()
    const known = foreign.map(hosts.recall)
    if (known.every((kind) => kind !== undefined)) return done(restrict(req, foreign, known))
    const isHealth = isHealthPath(req.routeOptions.url)
    void inTime(Promise.all(foreign.map(hosts.lookUp)), LOOK_UP_MS[isHealth ? 'health' : 'other']).then(
      (kinds) => done(restrict(req, foreign, kinds)),
      // Health is answered whatever the database says: a load balancer may name the node as it likes.
      (cause) => done(isHealth ? undefined : new AppError('SERVICE_UNAVAILABLE', { retryAfter: 1, cause })),
    )
  })
}

/** Without port and final dot. */
const readName = (name: string) => name.trim().toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')

/** Returns why the request is refused. */
function restrict(req: FastifyRequest, names: string[], kinds: Kind[]) {
  const linkHosts = names.filter((_, index) => kinds[index] !== 'none')
  if (linkHosts.length) req.linkHosts = linkHosts
  if (!kinds.includes('verified')) return undefined
  delete req.headers.cookie
  const { url = '', config } = req.routeOptions
  if (SERVED.test(url) && config.caller === 'anyone') return undefined
  return new AppError('RESOURCE_NOT_FOUND', {
    message: 'No such route.',
    details: { resource: 'route', id: req.url.split('?')[0]!.slice(0, 200) },
  })
}

function createHosts(db: Pool) {
  const known = createCache<string, { kind: Kind; until: number }>({ maxEntries: MAX_REMEMBERED })

  function recall(host: string) {
    const found = known.get(host)
    return found && found.until > performance.now() ? found.kind : undefined
  }

  async function lookUp(host: string): Promise<Kind> {
    const remembered = recall(host)
    if (remembered) return remembered
    const isVerified = await maybeScalar<boolean>(
      db,
    )`select link_host_verified is not distinct from link_host from domains where link_host = ${host}`
    const kind = isVerified === undefined ? 'none' : isVerified ? 'verified' : 'pending'
    known.set(host, { kind, until: performance.now() + KNOWN_FOR_MS[kind] })
    return kind
  }

  return { recall, lookUp }
}

/** Fails when the work takes longer. Replies that arrived while this process stalled are read first: hence the second step. */
function inTime<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => reject(new Error(`the database did not say within ${ms} ms what a host is`))), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
