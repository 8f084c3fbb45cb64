import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { maybeOne, type Pool } from '../db/index.ts'
import { createCache } from '../lib/cache.ts'
import { AppError } from '../lib/errors.ts'
import { MINUTE, SECOND } from '../lib/text/units.ts'
import { isHealthPath } from './health.ts'
import type { App, Deps } from './server.ts'

/** What a link host serves: what emails link to, and the proof that it leads here. Patterns of routes. */
const SERVED = /^\/(?:t|unsubscribe|subscribe|manage|confirm|f|uploads)\/|^\/\.well-known\/sterna-link-host$/
/** For how long it is remembered what a host is. A new link host is found by its first check, minutes before emails use it. */
const KNOWN_FOR_MS = { true: MINUTE, false: 5 * SECOND }
const MAX_REMEMBERED = 10_000
const NAME = /^(?=.{4,253}$)[a-z0-9-]+(?:\.[a-z0-9-]+)+$/

declare module 'fastify' {
  interface FastifyRequest {
    linkHosts: string[] | null
  }
}

/** The link hosts that the request names; undefined for other requests. */
export const linkHostsOf = (req: FastifyRequest) => req.linkHosts ?? undefined

/**
 * On a link host of a customer nothing answers but what emails link to: no dashboard, no API, no cookie. Requests by the name of the
 * installation pay a comparison.
 */
export function guardLinkHosts(app: App, { db, config }: Deps) {
  const { hostname, host } = new URL(config.publicUrl)
  const own = hostname.toLowerCase()
  const isLinkHost = createLookup(db)
  app.decorateRequest('linkHosts', null)

  app.addHook('onRequest', (req, _reply, done) => {
    const { host: given, 'x-forwarded-host': forwarded } = req.headers
    if (forwarded === undefined && (given === host || given === undefined)) return done()
    // Both, whether the proxy is trusted or not: neither name may open more than the other.
    const names = [given, forwarded].flat().flatMap((name) => (name ?? '').split(',').map(readName))
    const foreign = [...new Set(names)].filter((name) => name !== own && NAME.test(name) && !isIP(name))
    if (!foreign.length) return done()
    void Promise.all(foreign.map(isLinkHost)).then(
      (found) => {
        const hosts = foreign.filter((_, index) => found[index])
        done(hosts.length ? restrict(req, hosts) : undefined)
      },
      // Health is answered whatever the database says: a load balancer may name the node as it likes.
      () => done(isHealthPath(req.routeOptions.url) ? undefined : restrict(req, [])),
    )
  })
}

/** Without port and final dot. */
const readName = (name: string) => name.trim().toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')

/** Returns why the request is refused. */
function restrict(req: FastifyRequest, hosts: string[]) {
  delete req.headers.cookie
  req.linkHosts = hosts
  const { url = '', config } = req.routeOptions
  if (SERVED.test(url) && config.caller === 'anyone') return undefined
  return new AppError('RESOURCE_NOT_FOUND', {
    message: 'No such route.',
    details: { resource: 'route', id: req.url.split('?')[0]!.slice(0, 200) },
  })
}

function createLookup(db: Pool) {
  const known = createCache<string, { is: boolean; until: number }>({ maxEntries: MAX_REMEMBERED })
  return async (host: string) => {
    const found = known.get(host)
    if (found && found.until > performance.now()) return found.is
    const is = (await maybeOne(db)`select 1 from domains where link_host = ${host}`) !== undefined
    known.set(host, { is, until: performance.now() + KNOWN_FOR_MS[`${is}`] })
    return is
  }
}
