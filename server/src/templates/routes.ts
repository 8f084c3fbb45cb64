import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { findContact } from '../contacts/contact.ts'
import { Data } from '../contacts/data.ts'
import { transact } from '../db/index.ts'
import { assertVerified } from '../domains/verified.ts'
import { etagOf, failStale, readIfMatch } from '../http/if-match.ts'
import { sendPage } from '../http/limits/page-stream.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { pageList } from '../http/paging.ts'
import { frameSchema, readFrameToken, sendFrame } from '../http/preview-frame.ts'
import type { App, Deps } from '../http/server.ts'
import { Address } from '../http/validate.ts'
import { AppError, fail, notFound } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'
import { showsOtherAddress } from '../lib/text/address.ts'
import { KB, MB } from '../lib/text/units.ts'
import { assertRenderable, Body, PreviewText, SenderName, Subject } from './content.ts'
import { MAX_PREVIEW_TEXT, MAX_SOURCE, MAX_SUBJECT } from './language/limits.ts'
import { LintIssue, lintTemplate } from './lint.ts'
import { Preview, previewTemplate, sampleRecipient } from './preview.ts'
import { findPreviewPage, savePreviewPage } from './preview-pages.ts'
import {
  changeTemplate,
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  findTemplate,
  listTemplates,
  MAX_NAME,
  Template,
  TemplatesQuery,
  TYPES,
} from './template.ts'
import { findVersion, listVersions, TemplateVersion, TemplateVersionContent } from './versions.ts'

const TemplateId = z.object({ id: z.string() })
const VersionId = TemplateId.extend({ version: z.string() })
const Name = z.string().trim().min(1).max(MAX_NAME)
const Optional = {
  description: z.string().max(1_000).nullish(),
  previewText: PreviewText.nullish(),
  from: Address.nullish().describe('Must be on a verified domain.'),
  fromName: SenderName.nullish(),
  replyTo: Address.nullish(),
}
const NewTemplate = z.object({ name: Name, subject: Subject, body: Body, type: z.enum(['TRANSACTIONAL', 'MARKETING']), ...Optional })
const Changes = z.object({
  name: Name.optional(),
  subject: Subject.optional(),
  body: Body.optional(),
  type: z.enum(TYPES).optional(),
  ...Optional,
})
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
const LintResult = z.object({ issues: z.array(LintIssue) })

type StoredTemplate = z.output<typeof Template>
type SampleBody = z.output<z.ZodObject<typeof Sample>>

/** 2 MB for the template, and room for the JSON around it. */
const BODY_LIMIT = 2 * MB + 64 * KB

export const templateNotFound = (id: string): never =>
  fail('TEMPLATE_NOT_FOUND', { details: { resource: 'template', id: id.slice(0, 100) } })

function assertOwnFromName({ from, fromName }: { from?: string | null | undefined; fromName?: string | null | undefined }) {
  if (!showsOtherAddress(fromName, from)) return
  throw new AppError('VALIDATION_ERROR', {
    errors: [{ field: 'fromName', message: 'Must not contain another email address.', code: 'custom' }],
  })
}

export function templateRoutes(app: App, { db, secrets, config: { publicUrl } }: Deps) {
  const tags = ['Templates']
  const config = { caller: 'project' as const }
  const reading = { ...config, onlyReads: true }
  const bodyLimit = BODY_LIMIT

  app.get(
    '/templates',
    {
      config: { ...config, slowRead: true },
      schema: { tags, summary: 'List templates', querystring: TemplatesQuery, response: { 200: pageList(Template) } },
    },
    async (req, reply) => sendPage(reply, await listTemplates(db, req.project.id, req.query)),
  )

  app.post(
    '/templates',
    { config, bodyLimit, schema: { tags, summary: 'Create a template', body: NewTemplate, response: { 201: Template } } },
    async (req, reply) => {
      await assertRenderable(req.project.id, req.body)
      assertOwnFromName(req.body)
      if (req.body.from) await assertVerified(db, req.project.id, req.body.from)
      return reply
        .status(201)
        .send(await transact(db, (tx) => createTemplate(tx, req.project.id, req.body, { savedBy: req.person?.userId })))
    },
  )

  app.post(
    '/templates/lint',
    {
      config: reading,
      bodyLimit,
      schema: {
        tags,
        summary: 'Lint a subject and body',
        body: z.object({
          subject: z.string().max(MAX_SUBJECT),
          previewText: z.string().max(MAX_PREVIEW_TEXT).nullish(),
          body: z.string().max(MAX_SOURCE),
          type: z.enum(TYPES).optional(),
        }),
        response: { 200: LintResult },
      },
    },
    async (req) => ({ issues: await lintTemplate(db, req.project.id, req.body) }),
  )

  app.get(
    '/templates/:id',
    { config, schema: { tags, summary: 'Get a template', params: TemplateId, response: { 200: Template } } },
    async (req, reply) => {
      const template = await find(req.project.id, req.params.id)
      return reply.header('etag', etagOf(template)).send(template)
    },
  )

  app.patch(
    '/templates/:id',
    {
      config: { ...config, takesHeaders: [IF_MATCH], refusals: ['CONFLICT'] },
      bodyLimit,
      schema: { tags, summary: 'Update a template', params: TemplateId, body: Changes, response: { 200: Template } },
    },
    async (req, reply) => {
      const changed = await change(req, await find(req.project.id, req.params.id), req.body)
      return reply.header('etag', etagOf(changed)).send(changed)
    },
  )

  async function change(req: FastifyRequest, stored: StoredTemplate, changes: z.output<typeof Changes>) {
    const [projectId, { id }] = [req.project.id, stored]
    await assertRenderable(projectId, changes)
    if (changes.from !== undefined || changes.fromName !== undefined) assertOwnFromName({ ...stored, ...changes })
    if (changes.from) await assertVerified(db, projectId, changes.from)
    const edit = { projectId, id, changes, revisions: readIfMatch(req), savedBy: req.person?.userId }
    return (await transact(db, (tx) => changeTemplate(tx, edit))) ?? failStale((await find(projectId, id)).updatedAt)
  }

  app.get(
    '/templates/:id/versions',
    {
      config,
      schema: {
        tags,
        summary: 'List the versions of a template, newest first',
        description: 'The newest 50 that came before the current one are kept, up to 20 MB.',
        params: TemplateId,
        response: { 200: z.object({ data: z.array(TemplateVersion) }) },
      },
    },
    async (req) => {
      const { id } = await find(req.project.id, req.params.id)
      return { data: await listVersions(db, { projectId: req.project.id, id }) }
    },
  )

  app.get(
    '/templates/:id/versions/:version',
    { config, schema: { tags, summary: 'Get a version of a template', params: VersionId, response: { 200: TemplateVersionContent } } },
    (req) => findStoredVersion(req.project.id, req.params),
  )

  app.post(
    '/templates/:id/versions/:version/restore',
    {
      config: { ...config, takesHeaders: [IF_MATCH], refusals: ['CONFLICT'] },
      schema: {
        tags,
        summary: 'Restore a version of a template',
        description: 'Saves the content of the version again, as a new version.',
        params: VersionId,
        response: { 200: Template },
      },
    },
    async (req, reply) => {
      const { subject, previewText, body, from, fromName, replyTo, type } = await findStoredVersion(req.project.id, req.params)
      const stored = await find(req.project.id, req.params.id)
      const changed = await change(req, stored, { subject, previewText, body, from, fromName, replyTo, type })
      return reply.header('etag', etagOf(changed)).send(changed)
    },
  )

  async function findStoredVersion(projectId: string, params: z.output<typeof VersionId>) {
    const { id } = await find(projectId, params.id)
    const version = /^[1-9]\d{0,8}$/.test(params.version) ? Number(params.version) : undefined
    const found = version === undefined ? undefined : await findVersion(db, { projectId, id }, version)
    return found ?? notFound('version', params.version)
  }

  app.delete(
    '/templates/:id',
    {
      config: { ...config, refusals: ['CONFLICT'] },
      schema: {
        tags,
        summary: 'Delete a template',
        description: 'Refused while a scheduled or running campaign uses it; `details.usedBy` names the campaigns.',
        params: TemplateId,
        response: { 204: z.null().describe('No content') },
      },
    },
    async (req, reply) => {
      const { id } = req.params
      const deleted = isId(id) && (await transact(db, (tx) => deleteTemplate(tx, { projectId: req.project.id, id })))
      return deleted ? reply.status(204).send(null) : templateNotFound(id)
    },
  )

  app.post(
    '/templates/:id/duplicate',
    { config, schema: { tags, summary: 'Duplicate a template', params: TemplateId, response: { 201: Template } } },
    async (req, reply) => {
      const { id } = req.params
      const copy =
        isId(id) && (await transact(db, (tx) => duplicateTemplate(tx, { projectId: req.project.id, id, savedBy: req.person?.userId })))
      return reply.status(201).send(copy || templateNotFound(id))
    },
  )

  app.post(
    '/templates/:id/preview',
    {
      config: { ...reading, bodyOptional: true },
      schema: {
        tags,
        summary: 'Preview a template',
        description: `Renders the template for a contact or a sample. ${PREVIEWED}`,
        params: TemplateId,
        body: z.object(Sample),
        response: { 200: Preview },
      },
    },
    async (req) => preview(req.project.id, await find(req.project.id, req.params.id), req.body),
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
    { config: reading, schema: { tags, summary: 'Lint a template', params: TemplateId, response: { 200: LintResult } } },
    async (req) => ({ issues: await lintTemplate(db, req.project.id, await find(req.project.id, req.params.id)) }),
  )

  async function preview(projectId: string, template: Parameters<typeof previewTemplate>[2], { contactId, frame, ...sample }: SampleBody) {
    const contact = contactId === undefined ? undefined : await findContact(db, projectId, contactId)
    if (contactId !== undefined && !contact) fail('CONTACT_NOT_FOUND', { details: { resource: 'contact', id: contactId } })
    const recipient = sampleRecipient({ publicUrl, secrets, projectId }, contact, sample)
    const shown = await previewTemplate(db, projectId, template, recipient)
    if (!frame) return shown
    return { ...shown, frameUrl: await transact(db, (tx) => savePreviewPage(tx, secrets, { projectId, html: shown.html })) }
  }

  const find = async (projectId: string, id: string) => (isId(id) && (await findTemplate(db, projectId, id))) || templateNotFound(id)
}
