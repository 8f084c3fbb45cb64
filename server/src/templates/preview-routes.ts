import { z } from 'zod'
import { findContact } from '../contacts/record/contact.ts'
import { Data } from '../contacts/record/data.ts'
import { type Db, transact } from '../db/index.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Address } from '../http/core/validate.ts'
import { FRAME_ROUTE, readFrameToken, sendFrame } from '../http/preview-frame.ts'
import { routesOf } from '../http/resource.ts'
import { contactNotFound, fail, notFound } from '../lib/errors/errors.ts'
import { isId } from '../lib/id.ts'
import { KB, MB } from '../lib/text/units.ts'
import { DesignOrBody, missingBody, renderGiven } from './design/body.ts'
import { LintIssue, lintTemplate } from './lint.ts'
import { Preview, previewTemplate, sampleRecipient } from './preview.ts'
import { findPreviewPage, savePreviewPage } from './preview-pages.ts'
import { assertRenderable, PreviewText, SenderName, Subject } from './rendering/content.ts'
import { findTemplate, TYPES } from './template.ts'

export const TemplateId = z.object({ id: z.string() })
export const LintResult = z.object({ issues: z.array(LintIssue) })
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

/** 2 MB for the template, and room for the JSON around it. */
export const BODY_LIMIT = 2 * MB + 64 * KB

export const templateNotFound = (id: string): never =>
  fail('TEMPLATE_NOT_FOUND', { details: { resource: 'template', id: id.slice(0, 100) } })

export const getTemplate = async (db: Db, projectId: string, id: string) =>
  (isId(id) && (await findTemplate(db, projectId, id))) || templateNotFound(id)

/** Previews of templates as a recipient sees them, and lint. */
export function templatePreviewRoutes(app: App, { db, secrets, config: { publicUrl } }: Deps) {
  const route = routesOf(app, {
    tags: ['Templates'],
    caller: 'project',
    role: 'MEMBER',
    scope: 'templates',
    read: true,
    ...SENDS_NOTHING,
    audit: null,
  })

  route.post(
    '/templates/:id/preview',
    {
      summary: 'Preview a template',
      description: `Renders the template for a contact or a sample. ${PREVIEWED}`,
      params: TemplateId,
      body: z.object(Sample),
      response: Preview,
      onlyReads: true,
      bodyOptional: true,
    },
    async (req) => preview(req.project.id, await getTemplate(db, req.project.id, req.params.id), req.body),
  )

  route.post(
    '/templates/preview',
    {
      summary: 'Preview unsaved content',
      description: `Renders a subject and a body or design for a contact or a sample. ${PREVIEWED}`,
      body: z.object({
        subject: Subject,
        previewText: PreviewText.nullish(),
        ...DesignOrBody,
        type: z.enum(TYPES).default('TRANSACTIONAL'),
        from: Address.nullish(),
        fromName: SenderName.nullish(),
        ...Sample,
      }),
      response: Preview,
      onlyReads: true,
      refusals: ['CONTACT_NOT_FOUND'],
      bodyLimit: BODY_LIMIT,
    },
    async (req) => {
      const { subject, previewText = null, design, type, from = null, fromName = null, ...sample } = req.body
      const body = design ? (await renderGiven(db, req.project.id, design)).html : (sample.body ?? missingBody())
      await assertRenderable(req.project.id, { subject, previewText, body })
      return preview(req.project.id, { subject, previewText, body, type, from, fromName }, sample)
    },
  )

  app.get('/preview/page/:token', FRAME_ROUTE, async (req, reply) => {
    const page = await findPreviewPage(db, readFrameToken(secrets, 'page', req.params.token))
    return sendFrame(reply, page?.html ?? notFound('preview', req.params.token), req.query)
  })

  route.post(
    '/templates/:id/lint',
    { summary: 'Lint a template', params: TemplateId, response: LintResult, onlyReads: true },
    async (req) => ({ issues: await lintTemplate(db, req.project.id, await getTemplate(db, req.project.id, req.params.id)) }),
  )

  async function preview(projectId: string, template: Parameters<typeof previewTemplate>[2], { contactId, frame, ...sample }: SampleBody) {
    const contact = contactId === undefined ? undefined : await findContact(db, projectId, contactId)
    if (contactId !== undefined && !contact) contactNotFound(contactId)
    const recipient = sampleRecipient({ publicUrl, secrets, projectId }, contact, sample)
    const shown = await previewTemplate(db, projectId, template, recipient)
    if (!frame) return shown
    return { ...shown, frameUrl: await transact(db, (tx) => savePreviewPage(tx, secrets, { projectId, html: shown.html })) }
  }
}
