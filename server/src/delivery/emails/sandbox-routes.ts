import { z } from 'zod'
import { seesOneTimeValues } from '../../events/masked-event.ts'
import { SENDS_NOTHING } from '../../http/auth/declaration.ts'
import { cursorList } from '../../http/core/paging.ts'
import type { App, Deps } from '../../http/core/types.ts'
import { Id } from '../../http/core/validate.ts'
import { FRAME_ROUTE, readFrameToken, sendFrame } from '../../http/preview-frame.ts'
import { routesOf } from '../../http/resource.ts'
import { notFound } from '../../lib/errors/errors.ts'
import { previewSandboxMessage, SandboxPreview } from './preview.ts'
import { findSandboxMessage, listSandboxMessages, SandboxMessage, SandboxMessageSource, SandboxQuery } from './sandbox.ts'

export function sandboxRoutes(app: App, { db, secrets, config: { publicUrl } }: Deps) {
  const route = routesOf(app, { tags: ['Sandbox'], caller: 'project', role: 'MEMBER', scope: 'full', read: true, ...SENDS_NOTHING })
  const previews = { db, secrets, publicUrl }

  route.get(
    '/sandbox/messages',
    { summary: 'List sandbox messages, newest first', querystring: SandboxQuery, response: cursorList(SandboxMessage) },
    (req) => listSandboxMessages(db, secrets, req.project.id, { ...req.query, isMasked: !seesOneTimeValues(req.project) }),
  )

  route.get(
    '/sandbox/messages/:id',
    {
      summary: 'Get a sandbox message with its source',
      params: z.object({ id: Id('message') }),
      read: false,
      response: SandboxMessageSource,
      // A source may have 40 MB.
      slowRead: true,
    },
    async (req) => (await findSandboxMessage(db, req.project.id, req.params.id)) ?? notFound('message', req.params.id),
  )

  route.get(
    '/sandbox/messages/:id/preview',
    {
      summary: 'Get the parts of a sandbox message',
      description: 'The HTML is that of the message, without its open pixel and with the original links.',
      params: z.object({ id: Id('message') }),
      // It has values that are used once, such as codes to sign in.
      read: false,
      response: SandboxPreview,
      slowRead: true,
    },
    async (req) =>
      (await previewSandboxMessage(previews, { projectId: req.project.id, id: req.params.id })) ?? notFound('message', req.params.id),
  )

  app.get('/preview/sandbox/:token', FRAME_ROUTE, async (req, reply) => {
    const shown = await previewSandboxMessage(previews, readFrameToken(secrets, 'sandbox', req.params.token))
    return sendFrame(reply, shown?.html ?? notFound('preview', req.params.token), req.query)
  })
}
