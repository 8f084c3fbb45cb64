import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { explainOversizedData } from '../contacts/record/contact.ts'
import { NO_DATA } from '../contacts/record/data.ts'
import { sourceOf } from '../contacts/record/source.ts'
import { type Pool, transact } from '../db/index.ts'
import { Email, findEmail } from '../delivery/emails/email.ts'
import { readSendAt } from '../delivery/emails/send-at.ts'
import { contentFrom } from '../delivery/outbox/contents/content.ts'
import { requireSenderDomain } from '../http/auth/scopes.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Timestamp } from '../http/core/validate.ts'
import { type Original, readIdempotencyKey, replay } from '../http/idempotency.ts'
import { IDEMPOTENCY_KEY, IDEMPOTENCY_REPLAY } from '../http/openapi/openapi.ts'
import { routesOf } from '../http/resource.ts'
import { invalid } from '../lib/errors/errors.ts'
import { isTracing, recordAccepted } from '../lib/process/tracing.ts'
import { KB, MB } from '../lib/text/units.ts'
import { templateNotFound } from '../templates/preview-routes.ts'
import { assertRenderable } from '../templates/rendering/content.ts'
import { findTemplate } from '../templates/template.ts'
import { type AcceptedSend, acceptAlone, createAcceptor, refuseUnlessRepeat, type SendRequest } from './acceptance/accept.ts'
import { recipientSize, type SendBody, sendBody } from './acceptance/body.ts'

const BODY_LIMIT = 42 * MB + 64 * KB

const Answer = z.object({
  success: z.literal(true),
  data: z.object({
    emails: z.array(z.object({ contact: z.object({ id: z.uuid(), email: z.string() }), email: z.uuid() })),
    timestamp: Timestamp,
  }),
})

export function sendRoutes(app: App, { db, config }: Deps) {
  const acceptor = createAcceptor(db, config)
  app.addHook('onClose', () => acceptor.drain())

  app.post(
    '/v1/send',
    {
      config: {
        caller: 'secret-key',
        role: null,
        scope: 'send',
        senders: ['new'],
        stops: 'never',
        audit: null,
        keyCheckedLater: true,
        takesHeaders: [IDEMPOTENCY_KEY, IDEMPOTENCY_REPLAY],
        refusals: ['TEMPLATE_NOT_FOUND', 'IDEMPOTENCY_KEY_REUSED', 'BILLING_LIMIT_EXCEEDED'],
      },
      bodyLimit: BODY_LIMIT,
      // The compiler checks the response against its schema; checking each one at run time would cost more than serialising it.
      serializerCompiler: () => JSON.stringify,
      schema: {
        tags: ['Emails'],
        summary: 'Send an email',
        description:
          'Sends one email to each recipient, at once or at the time `sendAt`. Responds when all of them are durably queued. Send an ' +
          '`Idempotency-Key` header to make retries safe.',
        body: sendBody(config),
        response: { 200: Answer },
      },
    },
    async (req, reply) => {
      const key = readIdempotencyKey(req)
      if (req.body.subject !== undefined || req.body.body !== undefined) await assertRenderable(req.project.id, req.body)
      const accepted = req.withCheckedKey(async () => {
        const content = await contentOf(db, req.project.id, req.body).catch((reason) =>
          refuseUnlessRepeat(db, { project: req.project, key, bodyHash: req.bodyHash }, config.idempotencyTtlHours, reason),
        )
        requireSenderDomain(req.project, content.fromAddress)
        return acceptor.submit({ ...readRequest(req, req.body), content, key })
      })
      if (isTracing()) void accepted.then(traceAccepted(req), () => {})
      return accepted.then(answer, explainOversizedData).catch(replay(req, reply, replayedAnswer))
    },
  )
}

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
      bodyLimit: BODY_LIMIT,
      audit: 'email.send',
      response: { 201: Email },
      refusals: ['TEMPLATE_NOT_FOUND', 'BILLING_LIMIT_EXCEEDED'],
    },
    async (req, reply) => {
      const { project, body } = req
      if (body.subject !== undefined || body.body !== undefined) await assertRenderable(project.id, body)
      const content = await contentOf(db, project.id, body)
      requireSenderDomain(project, content.fromAddress)
      const sent = await transact(req.db, async (tx) => {
        const { emails } = await acceptAlone(tx, { ...readRequest(req, body), content })
        return (await findEmail(tx, project.id, emails[0]!.email))!
      }).catch(explainOversizedData)
      return reply.status(201).send(sent)
    },
  )
}

const traceAccepted =
  (req: FastifyRequest) =>
  ({ emails }: AcceptedSend) =>
    recordAccepted(
      emails.map(({ email }) => email),
      { request: req.span ?? undefined, attributes: { 'sterna.project_id': req.project.id }, startedAt: Date.now() },
    )

const readRequest = (req: FastifyRequest, body: SendBody): Omit<SendRequest, 'content' | 'key'> => ({
  project: req.project,
  recipients: body.to,
  attachments: (body.attachments ?? []).map(({ filename, contentType, contentId, disposition, content }, position) => ({
    position,
    filename,
    contentType,
    cid: contentId ?? null,
    inline: disposition === 'inline',
    bytes: Buffer.from(content, 'base64'),
  })),
  subscribed: body.subscribed,
  patch: body.data ?? NO_DATA,
  sendAt: readSendAt(body.sendAt),
  bodyHash: req.bodyHash,
  source: sourceOf(req),
  requestId: req.id,
  size: req.bodySize,
  dataSize: recipientSize(body.data),
})

/** Fields of the request take precedence over those of the template. */
async function contentOf(db: Pool, projectId: string, body: SendBody): Promise<SendRequest['content']> {
  const template = body.template === undefined ? undefined : await findTemplate(db, projectId, body.template)
  if (body.template !== undefined && !template) templateNotFound(body.template)
  const fromAddress = body.from?.email ?? template?.from ?? invalid('from', 'Required: the template has no "from" address.', 'required')
  const fromName = body.from?.name || (body.from?.isText && body.name) || null
  return contentFrom(template, { ...body, fromAddress, fromName, replyTo: body.reply })
}

const answer = ({ emails, at }: Pick<AcceptedSend, 'emails' | 'at'>): z.output<typeof Answer> => ({
  success: true,
  data: { emails, timestamp: at.toISOString() },
})

/** In the form of the first answer. */
function replayedAnswer({ emails, createdAt }: Original): z.output<typeof Answer> | undefined {
  if (!emails) return undefined
  const accepted = (emails as AcceptedSend['emails']).map(({ contact: { id, email: address }, email }) => ({
    contact: { id, email: address },
    email,
  }))
  return answer({ emails: accepted, at: createdAt })
}
