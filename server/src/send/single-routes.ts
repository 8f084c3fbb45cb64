import { explainOversizedData } from '../contacts/contact.ts'
import { transact } from '../db/index.ts'
import { Email, findEmail } from '../delivery/emails/email.ts'
import { requireSenderDomain } from '../http/auth/scopes.ts'
import { routesOf } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { assertRenderable } from '../templates/content.ts'
import { acceptAlone } from './accept.ts'
import { sendBody } from './body.ts'
import { contentOfSend, readSendRequest, SEND_BODY_LIMIT } from './routes.ts'

/** The call of people: `/v1/send` accepts keys only. In a transaction of its own, as it is in the audit trail. */
export function singleEmailRoutes(app: App, { db, config }: Deps) {
  const route = routesOf(app, { tags: ['Emails'], caller: 'project', role: 'MEMBER', scope: 'send', senders: ['new'], stops: 'never' })

  route.post(
    '/emails',
    {
      summary: 'Send one email',
      description:
        'For people and their tools: accepts a session, and the body of `/v1/send` with one recipient. Follows the same rules, limits and ' +
        'usage, and is in the audit trail. Takes no `Idempotency-Key`: apps that retry use `/v1/send`.',
      body: sendBody({ ...config, maxRecipients: 1 }),
      bodyLimit: SEND_BODY_LIMIT,
      audit: 'email.send',
      response: { 201: Email },
      refusals: ['TEMPLATE_NOT_FOUND', 'BILLING_LIMIT_EXCEEDED'],
    },
    async (req, reply) => {
      const { project, body } = req
      if (body.subject !== undefined || body.body !== undefined) await assertRenderable(project.id, body)
      const content = await contentOfSend(db, project.id, body)
      requireSenderDomain(project, content.fromAddress)
      const sent = await transact(req.db, async (tx) => {
        const { emails } = await acceptAlone(tx, { ...readSendRequest(req, body), content })
        return (await findEmail(tx, project.id, emails[0]!.email))!
      }).catch(explainOversizedData)
      return reply.status(201).send(sent)
    },
  )
}
