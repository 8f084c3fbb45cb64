import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readClickToken, readOpenToken, TRAP } from '../delivery/message/links/tracking-token.ts'
import { ANYONE } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { notFound } from '../lib/errors/errors.ts'
import { networkOf } from '../lib/network/network.ts'
import { createCollector, type DelayRelease } from './collect.ts'
import { classifyRequest } from './rules.ts'

/** One transparent pixel. */
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
/** Not cached, so that every display is a request; and any webmail may embed it. */
const IMAGE = {
  'content-type': 'image/gif',
  'content-length': GIF.length,
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'cross-origin',
}

const schema = { params: z.object({ token: z.string() }), hide: true }
const config = ANYONE

/** The pixel and the links in emails. Both reply before anything is written. */
export function openClickRoutes(app: App, { db, secrets, log }: Deps, delayRelease?: DelayRelease) {
  const collector = createCollector({ db, log, delayRelease })
  app.addHook('onClose', () => collector.drain())

  /** Hashed per email, so that the database does not allow following a person from one email to the next. */
  const clientOf = (req: FastifyRequest, emailId: string) => {
    const network = networkOf(req.ip)
    const hashed = (text: string) => secrets.sign('hit-client', `${emailId} ${text}`)
    return {
      network: hashed(network),
      client: hashed(`${network} ${req.headers['user-agent'] ?? ''}`),
      classification: classifyRequest(req),
    }
  }

  for (const method of ['HEAD', 'GET'] as const) {
    app.route({
      method,
      url: '/t/o/:token',
      config,
      schema,
      handler: async (req, reply) => {
        const email = readOpenToken(secrets, req.params.token) ?? notFound('link', req.params.token)
        collector.add(email, { kind: 'open', link: TRAP, target: '', ...clientOf(req, email.emailId) })
        return reply.headers(IMAGE).send(method === 'GET' ? GIF : undefined)
      },
    })

    app.route({
      method,
      url: '/t/c/:token',
      config,
      schema,
      handler: async (req, reply) => {
        const { link, target, ...email } = readClickToken(secrets, req.params.token) ?? notFound('link', req.params.token)
        collector.add(email, { kind: link === TRAP ? 'trap' : 'click', link, target, ...clientOf(req, email.emailId) })
        reply.header('cache-control', 'no-store')
        if (link === TRAP) return reply.status(204).send()
        // Header values are bytes: this sends the UTF-8 bytes of the link unchanged.
        return reply.status(302).header('location', Buffer.from(target).toString('latin1')).send()
      },
    })
  }
}
