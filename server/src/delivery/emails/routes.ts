import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Pool, type Tx, transact } from '../../db/index.ts'
import { maskEvent, seesOneTimeValues } from '../../events/masked-event.ts'
import { requireSenderDomain } from '../../http/auth/scopes.ts'
import { cursorList } from '../../http/core/paging.ts'
import type { App, Deps } from '../../http/core/types.ts'
import { Id } from '../../http/core/validate.ts'
import { prolongKeyOfEmail } from '../../http/idempotency.ts'
import { FRAME_ROUTE, readFrameToken, sendFrame } from '../../http/preview-frame.ts'
import { routesOf } from '../../http/resource.ts'
import { fail, notFound } from '../../lib/errors/errors.ts'
import { csvExportRoutes, queueExportRoute } from '../../projects/csv/csv-export-routes.ts'
import { cancelScheduled, moveScheduled } from '../outbox/scheduled.ts'
import { Email, findEmail, listEmails } from './email.ts'
import { EmailExportBody, emailExport, queueEmailExport } from './export.ts'
import { EmailsQuery, isSearch } from './filter.ts'
import { EmailPreview, previewEmail } from './preview.ts'
import { resendEmail } from './resend.ts'
import { readSendAt, SendAt } from './send-at.ts'
import { TimelineEntry, timelineOf } from './timeline.ts'

/** A rare status, one campaign of many, or a text is searched row by row. */
const isFiltered = ({ query }: FastifyRequest) => {
  const { limit: _limit, cursor: _cursor, ...filter } = query as z.output<typeof EmailsQuery>
  return isSearch(filter)
}

type Entry = z.output<typeof TimelineEntry>

const maskEntry = ({ at, what, details }: Entry): Entry => ({ at, what, details: maskEvent({ name: what, data: details }).data })

type EmailId = { projectId: string; id: string }

export function emailRoutes(app: App, { db, secrets, config: { publicUrl } }: Deps) {
  const tags = ['Emails']
  const route = routesOf(app, { tags, caller: 'project', role: 'MEMBER', scope: 'send', read: true })
  const previews = { db, secrets, publicUrl }
  previewFrames(app, previews)

  route.get(
    '/emails',
    {
      summary: 'List emails, newest first',
      description: 'A search that takes longer than 3 s is a 503: narrow it by time, status or recipient.',
      querystring: EmailsQuery,
      response: cursorList(Email),
      slowRead: isFiltered,
    },
    (req) => listEmails(db, secrets, req.project.id, { ...req.query, isMasked: !seesOneTimeValues(req.project) }),
  )

  queueExportRoute(app, { path: '/emails', tags, body: EmailExportBody, audit: 'email_export.create', queue: queueEmailExport })
  csvExportRoutes(app, { db }, { path: '/emails', tags, type: emailExport.type, noun: 'emails', file: 'emails' })

  route.get(
    '/emails/:id',
    {
      summary: 'Get an email with its timeline',
      params: z.object({ id: Id('email') }),
      response: Email.extend({ timeline: z.array(TimelineEntry) }),
    },
    async (req) => {
      const isMasked = !seesOneTimeValues(req.project)
      const email = (await findEmail(db, req.project.id, req.params.id, { isMasked })) ?? notFound('email', req.params.id)
      const timeline = await timelineOf(db, req.project.id, email)
      return { ...email, timeline: isMasked ? timeline.map(maskEntry) : timeline }
    },
  )

  route.get(
    '/emails/:id/preview',
    {
      summary: 'Preview an email',
      description:
        'Renders the email again, from its content and the current data of the contact. Rendered emails are not stored. To a key without the ' +
        'scope `send`, values of the request that the contact does not have read `•••`.',
      params: z.object({ id: Id('email') }),
      response: EmailPreview,
      slowRead: true,
    },
    async (req) => {
      const email = { projectId: req.project.id, id: req.params.id, isMasked: !seesOneTimeValues(req.project) }
      return (await previewEmail(previews, email)) ?? notFound('email', req.params.id)
    },
  )

  route.post(
    '/emails/:id/cancel',
    {
      summary: 'Cancel a scheduled email',
      description: 'Refused with 409 once a worker has taken it. Its usage is returned. A second time responds the same.',
      params: z.object({ id: Id('email') }),
      audit: 'email.cancel',
      senders: ['stored'],
      stops: 'always',
      response: Email,
      refusals: ['CONFLICT'],
    },
    (req) => changeScheduled(db, req, req.params.id, cancelScheduled),
  )

  route.patch(
    '/emails/:id',
    {
      summary: 'Move a scheduled email',
      description: 'Refused with 409 once a worker has taken it.',
      params: z.object({ id: Id('email') }),
      body: z.object({ sendAt: SendAt.nullable().describe('At most 30 days ahead. Null: now.') }),
      audit: 'email.move',
      senders: ['stored'],
      stops: 'never',
      response: Email,
      refusals: ['CONFLICT'],
    },
    (req) => {
      const sendAt = readSendAt(req.body.sendAt)
      return changeScheduled(db, req, req.params.id, async (tx, email) => {
        if (sendAt) await prolongKeyOfEmail(tx, email, sendAt)
        return moveScheduled(tx, email, sendAt)
      })
    },
  )

  route.post(
    '/emails/:id/resend',
    {
      summary: 'Resend a failed transactional email',
      description: 'Creates a new email with `resentFrom`. Possible for 7 days after the failure, while the data of the request is kept.',
      params: z.object({ id: Id('email') }),
      audit: 'email.resend',
      senders: ['stored'],
      stops: 'never',
      response: { 201: Email },
      refusals: ['CONFLICT', 'BILLING_LIMIT_EXCEEDED'],
    },
    async (req, reply) => {
      const projectId = req.project.id
      const email = await transact(req.db, async (tx) => {
        const resent = await resendEmail(tx, { projectId, id: req.params.id })
        const found = resent ? await findEmail(tx, projectId, resent) : undefined
        requireSenderDomain(req.project, found?.from)
        return found
      })
      return reply.status(201).send(email ?? notFound('email', req.params.id))
    },
  )
}

/** The kind of a token says whether its holder sees values that are used once. */
function previewFrames(app: App, previews: Parameters<typeof previewEmail>[0]) {
  for (const kind of ['email', 'masked-email'] as const)
    app.get(`/preview/${kind}/:token`, FRAME_ROUTE, async (req, reply) => {
      const email = { ...readFrameToken(previews.secrets, kind, req.params.token), isMasked: kind === 'masked-email' }
      const shown = await previewEmail(previews, email)
      return sendFrame(reply, shown?.html ?? notFound('preview', req.params.token), req.query)
    })
}

async function changeScheduled(db: Pool, req: FastifyRequest, id: string, change: (tx: Tx, email: EmailId) => Promise<boolean>) {
  const projectId = req.project.id
  const found = (await findEmail(db, projectId, id)) ?? notFound('email', id)
  requireSenderDomain(req.project, found.from)
  if (found.sendAt === null) fail('CONFLICT', { message: 'This email is not scheduled.' })
  return transact(req.db, async (tx) => {
    if (!(await change(tx, { projectId, id }))) fail('CONFLICT', { message: 'This email is being sent, or has ended.' })
    return (await findEmail(tx, projectId, id)) ?? notFound('email', id)
  })
}
