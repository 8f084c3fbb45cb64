import { z } from 'zod'
import { ANYONE } from '../../http/auth/declaration.ts'
import type { App, Deps } from '../../http/core/types.ts'
import { linkHostsOf } from '../../http/link-host-guard.ts'
import { routesOf } from '../../http/resource.ts'
import { notFound } from '../../lib/errors/errors.ts'
import { DomainName } from '../sender-domains/name.ts'
import { mayHaveCertificate, PROOF_PATH } from './link-host.ts'

const Host = z.object({ domain: z.string().max(1_000).optional() })

export function linkHostRoutes(app: App, { db, secrets }: Deps) {
  const route = routesOf(app, { tags: ['Domains'], ...ANYONE })

  route.get(
    '/link-hosts/allowed',
    {
      summary: 'Ask whether a host may get a certificate',
      description:
        'For web servers that get certificates on demand: 200 for the link host of a verified domain whose CNAME points here, 404 for any ' +
        'other name.',
      querystring: Host,
      response: z.object({ domain: z.string() }),
      refusals: ['RESOURCE_NOT_FOUND'],
    },
    async (req) => {
      const given = req.query.domain ?? ''
      const host = DomainName.safeParse(given).data
      return host && (await mayHaveCertificate(db, host)) ? { domain: host } : notFound('link host', given.slice(0, 253))
    },
  )

  /** The proof for the host named by the request. */
  app.get(PROOF_PATH, { config: ANYONE, schema: { hide: true } }, async (req, reply) => {
    const [host] = linkHostsOf(req) ?? notFound('route', PROOF_PATH)
    return reply.type('text/plain').send(secrets.sign('link-host', host!))
  })
}
