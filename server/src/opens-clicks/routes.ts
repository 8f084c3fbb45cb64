import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { readClickToken, readOpenToken, TRAP } from '../delivery/message/tracking-token.ts'
import type { App, Deps } from '../http/server.ts'
import { notFound } from '../lib/errors.ts'
import { networkOf } from '../lib/network.ts'
import { createCollector } from './collect.ts'
import { judgeRequest } from './rules.ts'

/** One transparent point. */
const GIF = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
/** Each time it is shown it should be asked for, and any mail reader on the web may show it. */
const IMAGE = {
  'content-type': 'image/gif',
  'content-length': GIF.length,
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'cross-origin',
}

const schema = { params: z.object({ token: z.string() }), hide: true }
const config = { caller: 'anyone' as const }

/** What mails lead to. Both answer before anything is written. */
export function hitRoutes(app: App, { db, secrets, log }: Deps) {
  const collector = createCollector({ db, log })
  app.addHook('onClose', () => collector.drain())

  /** Of one mail only: whoever reads the database cannot follow anybody from mail to mail. */
  const whoFrom = (req: FastifyRequest, emailId: string) => {
    const network = networkOf(req.ip)
    const hashed = (text: string) => secrets.sign('hit-client', `${emailId} ${text}`)
    return {
      network: hashed(network),
      client: hashed(`${network} ${req.headers['user-agent'] ?? ''}`),
      opinion: judgeRequest(req),
    }
  }

  for (const method of ['HEAD', 'GET'] as const) {
    app.route({
      method,
      url: '/t/o/:token',
      config,
      schema,
      handler: async (req, reply) => {
        const mail = readOpenToken(secrets, req.params.token) ?? notFound('link', req.params.token)
        collector.add(mail, { kind: 'open', link: TRAP, target: '', ...whoFrom(req, mail.emailId) })
        return reply.headers(IMAGE).send(method === 'GET' ? GIF : undefined)
      },
    })

    app.route({
      method,
      url: '/t/c/:token',
      config,
      schema,
      handler: async (req, reply) => {
        const { link, target, ...mail } = readClickToken(secrets, req.params.token) ?? notFound('link', req.params.token)
        collector.add(mail, { kind: link === TRAP ? 'trap' : 'click', link, target, ...whoFrom(req, mail.emailId) })
        reply.header('cache-control', 'no-store')
        if (link === TRAP) return reply.status(204).send()
        // Headers are bytes; these are those of the link, whatever letters it has.
        return reply.status(302).header('location', Buffer.from(target).toString('latin1')).send()
      },
    })
  }
}
