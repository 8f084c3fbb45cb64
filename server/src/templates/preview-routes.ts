import { z } from 'zod'
import { findContact } from '../contacts/contact.ts'
import { Data } from '../contacts/data.ts'
import { transact } from '../db/index.ts'
import { frameSchema, readFrameToken, sendFrame } from '../http/preview-frame.ts'
import type { App, Deps } from '../http/server.ts'
import { Address } from '../http/validate.ts'
import { notFound } from '../lib/errors.ts'
import { assertRenderable, Body, PreviewText, SenderName, Subject } from './content.ts'
import { lintTemplate } from './lint.ts'
import { Preview, previewTemplate, sampleRecipient } from './preview.ts'
import { findPreviewPage, savePreviewPage } from './preview-pages.ts'
import { LintResult, TEMPLATE_BODY_LIMIT, templateResource } from './routes.ts'
import { TYPES } from './template.ts'

/** The recipient of a preview: a contact, made-up values, or both. */
const Sample = {
  contactId: z.uuid().optional(),
  email: Address.optional(),
  subscribed: z.boolean().optional(),
  locale: z.string().max(100).optional(),
  data: Data.optional(),
  frame: z.boolean().optional().describe('Also return `frameUrl`, where a frame can show the HTML for 15 minutes.'),
}
const PREVIEWED =
  'Returns the email as it would be sent, with footer and unsubscribe links, but without open and click tracking. Sends nothing and changes ' +
  'nothing. `data`, `email`, `locale` and `subscribed` override the values of the contact.'

type SampleBody = z.output<z.ZodObject<typeof Sample>>

/** What a template looks like, and what is wrong with it. */
export function templatePreviewRoutes(app: App, { db, secrets, config: { publicUrl } }: Deps) {
  const tags = ['Templates']
  const reading = { caller: 'project' as const, onlyReads: true }
  const bodyLimit = TEMPLATE_BODY_LIMIT
  const { params, find } = templateResource(db)

  app.post(
    '/templates/:id/preview',
    {
      config: { ...reading, bodyOptional: true },
      schema: {
        tags,
        summary: 'Preview a template',
        description: `Renders the template for a contact or a sample. ${PREVIEWED}`,
        params,
        body: z.object(Sample),
        response: { 200: Preview },
      },
    },
    async (req) => preview(req.project.id, await find(req), req.body),
  )

  app.post(
    '/templates/preview',
    {
      config: { ...reading, refusals: ['CONTACT_NOT_FOUND'] },
      bodyLimit,
      schema: {
        tags,
        summary: 'Preview unsaved content',
        description: `Renders a subject and body for a contact or a sample. ${PREVIEWED}`,
        body: z.object({
          subject: Subject,
          previewText: PreviewText.nullish(),
          body: Body,
          type: z.enum(TYPES).default('TRANSACTIONAL'),
          from: Address.nullish(),
          fromName: SenderName.nullish(),
          ...Sample,
        }),
        response: { 200: Preview },
      },
    },
    async (req) => {
      const { subject, previewText = null, body, type, from = null, fromName = null, ...sample } = req.body
      await assertRenderable(req.project.id, { subject, previewText, body })
      return preview(req.project.id, { subject, previewText, body, type, from, fromName }, sample)
    },
  )

  app.get('/preview/page/:token', { config: { caller: 'anyone' }, schema: frameSchema }, async (req, reply) => {
    const page = await findPreviewPage(db, readFrameToken(secrets, 'page', req.params.token))
    return sendFrame(reply, page?.html ?? notFound('preview', req.params.token), req.query)
  })

  app.post(
    '/templates/:id/lint',
    { config: reading, schema: { tags, summary: 'Lint a template', params, response: { 200: LintResult } } },
    async (req) => ({ issues: await lintTemplate(db, req.project.id, await find(req)) }),
  )

  async function preview(projectId: string, template: Parameters<typeof previewTemplate>[2], { contactId, frame, ...sample }: SampleBody) {
    const contact = contactId === undefined ? undefined : await findContact(db, projectId, contactId)
    if (contactId !== undefined && !contact) notFound('contact', contactId)
    const recipient = sampleRecipient({ publicUrl, secrets, projectId }, contact, sample)
    const shown = await previewTemplate(db, projectId, template, recipient)
    if (!frame) return shown
    return { ...shown, frameUrl: await transact(db, (tx) => savePreviewPage(tx, secrets, { projectId, html: shown.html })) }
  }
}
