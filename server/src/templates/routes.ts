import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { transact } from '../db/index.ts'
import { assertVerified } from '../domains/verified.ts'
import { failStale, readIfMatch } from '../http/if-match.ts'
import { sendPage } from '../http/limits/page-stream.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { pageList } from '../http/paging.ts'
import { NO_CONTENT, routesOf } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { Address } from '../http/validate.ts'
import { AppError, notFound } from '../lib/errors.ts'
import { isId } from '../lib/id.ts'
import { showsOtherAddress } from '../lib/text/address.ts'
import { assertRenderable, PreviewText, SenderName, Subject } from './content.ts'
import { DesignOrBody, missingBody, renderGiven, withRenderedBody } from './design/body.ts'
import { type Design, GivenDesign } from './design/schema.ts'
import { MAX_PREVIEW_TEXT, MAX_SOURCE, MAX_SUBJECT } from './language/limits.ts'
import { lintTemplate } from './lint.ts'
import { BODY_LIMIT, getTemplate, LintResult, TemplateId, templateNotFound, templatePreviewRoutes } from './preview-routes.ts'
import {
  changeTemplate,
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  listTemplates,
  MAX_NAME,
  Template,
  TemplateListItem,
  TemplatesQuery,
  TYPES,
} from './template.ts'
import { findVersion, listVersions, TemplateVersion, TemplateVersionContent } from './versions.ts'

const VersionId = TemplateId.extend({ version: z.string() })
const Name = z.string().trim().min(1).max(MAX_NAME)
const Optional = {
  description: z.string().max(1_000).nullish(),
  previewText: PreviewText.nullish(),
  from: Address.nullish().describe('Must be on a verified domain.'),
  fromName: SenderName.nullish(),
  replyTo: Address.nullish(),
}
const NewTemplate = z.object({ name: Name, subject: Subject, ...DesignOrBody, type: z.enum(['TRANSACTIONAL', 'MARKETING']), ...Optional })
const Changes = z.object({
  name: Name.optional(),
  subject: Subject.optional(),
  ...DesignOrBody,
  type: z.enum(TYPES).optional(),
  ...Optional,
})

type StoredTemplate = z.output<typeof Template>

function assertOwnFromName({ from, fromName }: { from?: string | null | undefined; fromName?: string | null | undefined }) {
  if (!showsOtherAddress(fromName, from)) return
  throw new AppError('VALIDATION_ERROR', {
    errors: [{ field: 'fromName', message: 'Must not contain another email address.', code: 'custom' }],
  })
}

export function templateRoutes(app: App, deps: Deps) {
  const { db } = deps
  const find = (projectId: string, id: string) => getTemplate(db, projectId, id)
  const route = routesOf(app, { tags: ['Templates'], caller: 'project' })
  const bodyLimit = BODY_LIMIT

  route.get(
    '/templates',
    { summary: 'List templates', querystring: TemplatesQuery, response: pageList(TemplateListItem), slowRead: true },
    async (req, reply) => sendPage(reply, await listTemplates(db, req.project.id, req.query)),
  )

  route.post(
    '/templates',
    { summary: 'Create a template', body: NewTemplate, response: { 201: Template }, bodyLimit },
    async (req, reply) => {
      const content = await withRenderedBody(db, req.project.id, req.body)
      const template = { ...content, body: content.body ?? missingBody() }
      await assertRenderable(req.project.id, template)
      assertOwnFromName(template)
      if (template.from) await assertVerified(db, req.project.id, template.from)
      const created = await transact(db, (tx) => createTemplate(tx, req.project.id, template, { savedBy: req.person?.userId }))
      return reply.status(201).send(created)
    },
  )

  route.post(
    '/templates/lint',
    {
      summary: 'Lint a subject and body',
      body: z.object({
        subject: z.string().max(MAX_SUBJECT),
        previewText: z.string().max(MAX_PREVIEW_TEXT).nullish(),
        body: z.string().max(MAX_SOURCE).optional(),
        design: GivenDesign.nullish().describe('Instead of `body`.'),
        type: z.enum(TYPES).optional(),
      }),
      response: LintResult,
      onlyReads: true,
      bodyLimit,
    },
    async (req) => {
      const { design, body = '', ...rest } = req.body
      const rendered = design ? await renderGiven(db, req.project.id, design) : { html: body }
      return { issues: await lintTemplate(db, req.project.id, { ...rest, body: rendered.html, ...rendered }) }
    },
  )

  route.get('/templates/:id', { summary: 'Get a template', params: TemplateId, response: Template, etag: true }, async (req) => {
    const template = await find(req.project.id, req.params.id)
    return template
  })

  route.patch(
    '/templates/:id',
    {
      summary: 'Update a template',
      params: TemplateId,
      body: Changes,
      response: Template,
      takesHeaders: [IF_MATCH],
      refusals: ['CONFLICT'],
      bodyLimit,
      etag: true,
    },
    async (req) => {
      const stored = await find(req.project.id, req.params.id)
      const changed = await change(req, stored, await withRenderedBody(db, req.project.id, req.body))
      return changed
    },
  )

  async function change(
    req: FastifyRequest,
    stored: StoredTemplate,
    changes: Omit<z.output<typeof Changes>, 'design'> & { design?: Design | null },
  ) {
    const [projectId, { id }] = [req.project.id, stored]
    await assertRenderable(projectId, changes)
    if (changes.from !== undefined || changes.fromName !== undefined) assertOwnFromName({ ...stored, ...changes })
    if (changes.from) await assertVerified(db, projectId, changes.from)
    const edit = { projectId, id, changes, revisions: readIfMatch(req), savedBy: req.person?.userId }
    return (await transact(db, (tx) => changeTemplate(tx, edit))) ?? failStale((await find(projectId, id)).updatedAt)
  }

  route.get(
    '/templates/:id/versions',
    {
      summary: 'List the versions of a template, newest first',
      description: 'The newest 50 that came before the current one are kept, up to 20 MB.',
      params: TemplateId,
      response: z.object({ data: z.array(TemplateVersion) }),
    },
    async (req) => {
      const { id } = await find(req.project.id, req.params.id)
      return { data: await listVersions(db, { projectId: req.project.id, id }) }
    },
  )

  route.get(
    '/templates/:id/versions/:version',
    { summary: 'Get a version of a template', params: VersionId, response: TemplateVersionContent },
    (req) => findStoredVersion(req.project.id, req.params),
  )

  route.post(
    '/templates/:id/versions/:version/restore',
    {
      summary: 'Restore a version of a template',
      description: 'Saves the content of the version again, as a new version.',
      params: VersionId,
      response: Template,
      takesHeaders: [IF_MATCH],
      refusals: ['CONFLICT'],
      etag: true,
    },
    async (req) => {
      const { subject, previewText, body, design, from, fromName, replyTo, type } = await findStoredVersion(req.project.id, req.params)
      const stored = await find(req.project.id, req.params.id)
      const changed = await change(req, stored, { subject, previewText, body, design, from, fromName, replyTo, type })
      return changed
    },
  )

  async function findStoredVersion(projectId: string, params: z.output<typeof VersionId>) {
    const { id } = await find(projectId, params.id)
    const version = /^[1-9]\d{0,8}$/.test(params.version) ? Number(params.version) : undefined
    const found = version === undefined ? undefined : await findVersion(db, { projectId, id }, version)
    return found ?? notFound('version', params.version)
  }

  route.delete(
    '/templates/:id',
    {
      summary: 'Delete a template',
      description: 'Refused while a scheduled or running campaign uses it; `details.usedBy` names the campaigns.',
      params: TemplateId,
      response: NO_CONTENT,
      refusals: ['CONFLICT'],
    },
    async (req, reply) => {
      const { id } = req.params
      const deleted = isId(id) && (await transact(db, (tx) => deleteTemplate(tx, { projectId: req.project.id, id })))
      return deleted ? reply.status(204).send(null) : templateNotFound(id)
    },
  )

  route.post(
    '/templates/:id/duplicate',
    { summary: 'Duplicate a template', params: TemplateId, response: { 201: Template } },
    async (req, reply) => {
      const { id } = req.params
      const copy =
        isId(id) && (await transact(db, (tx) => duplicateTemplate(tx, { projectId: req.project.id, id, savedBy: req.person?.userId })))
      return reply.status(201).send(copy || templateNotFound(id))
    },
  )

  templatePreviewRoutes(app, deps)
}
