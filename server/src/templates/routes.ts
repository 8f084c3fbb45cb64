import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Db, transact } from '../db/index.ts'
import { assertVerified } from '../domains/verified.ts'
import { SENDS_NOTHING } from '../http/auth/declaration.ts'
import { requireSenderDomain } from '../http/auth/scopes.ts'
import { changeAs } from '../http/auth/what-sends.ts'
import { failStale, readIfMatch } from '../http/core/if-match.ts'
import { pageList } from '../http/core/paging.ts'
import type { App, Deps } from '../http/core/types.ts'
import { Address } from '../http/core/validate.ts'
import { sendPage } from '../http/limits/page-stream.ts'
import { IF_MATCH } from '../http/openapi/openapi.ts'
import { NO_CONTENT, resource, routesOf } from '../http/resource.ts'
import { notFound } from '../lib/errors/errors.ts'
import { DesignOrBody, findBrand, missingBody, withRenderedBody } from './design/body.ts'
import { renderDesign } from './design/render.ts'
import { type Design, GivenDesign, readDesign } from './design/schema.ts'
import { MAX_PREVIEW_TEXT, MAX_SOURCE, MAX_SUBJECT } from './language/limits.ts'
import { lintDesign, lintTemplate } from './lint.ts'
import { BODY_LIMIT, getTemplate, LintResult, TemplateId, templateNotFound, templatePreviewRoutes } from './preview-routes.ts'
import { assertRenderable, assertSenderName, PreviewText, SenderName, Subject } from './rendering/content.ts'
import {
  changesContent,
  changeTemplate,
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  listTemplates,
  lockTemplateSender,
  MAX_NAME,
  Template,
  TemplateListItem,
  TemplatesQuery,
  TYPES,
} from './template.ts'
import { findVersion, listVersions, TemplateVersion, TemplateVersionContent } from './versions.ts'
import { assertWorkflow } from './workflow-templates.ts'

const VersionId = TemplateId.extend({ version: z.string() })
const Name = z.string().trim().min(1).max(MAX_NAME)
const Optional = {
  description: z.string().max(1_000).nullish(),
  previewText: PreviewText.nullish(),
  from: Address.nullish().describe('Must be on a verified domain.'),
  fromName: SenderName.nullish(),
  replyTo: Address.nullish(),
  workflowId: z.uuid().nullish().describe('The workflow that it is written in. It is deleted with it, unless something else uses it.'),
}
const NewTemplate = z.object({ name: Name, subject: Subject, ...DesignOrBody, type: z.enum(['TRANSACTIONAL', 'MARKETING']), ...Optional })
const Changes = NewTemplate.extend({ type: z.enum(TYPES) }).partial()

type StoredTemplate = z.output<typeof Template>
type StoredChanges = Omit<z.output<typeof Changes>, 'design'> & { design?: Design | null }

const COMMON = { tags: ['Templates'], caller: 'project', role: 'MEMBER', scope: 'templates', read: true } as const

/** Routes below `/templates/:id`. */
const templateResource = (app: App, db: Db) =>
  resource(app, { ...COMMON, params: TemplateId, find: (req, { id }) => getTemplate(db, req.project.id, id) })

export function templateRoutes(app: App, deps: Deps) {
  const { db } = deps
  const route = routesOf(app, COMMON)
  const template = templateResource(app, db)
  const bodyLimit = BODY_LIMIT

  route.get(
    '/templates',
    { summary: 'List templates', querystring: TemplatesQuery, response: pageList(TemplateListItem), slowRead: true },
    async (req, reply) => sendPage(reply, await listTemplates(db, req.project.id, req.query)),
  )

  route.post(
    '/templates',
    {
      summary: 'Create a template',
      body: NewTemplate,
      audit: 'template.create',
      senders: ['new'],
      stops: 'never',
      response: { 201: Template },
      bodyLimit,
    },
    async (req, reply) => {
      const content = await withRenderedBody(db, req.project.id, req.body)
      const template = { ...content, body: content.body ?? missingBody() }
      await assertRenderable(req.project.id, template)
      assertSenderName(template)
      requireSenderDomain(req.project, template.from)
      if (template.from) await assertVerified(db, req.project.id, template.from)
      const created = await transact(req.db, async (tx) => {
        await assertWorkflow(tx, req.project.id, template.workflowId)
        return createTemplate(tx, req.project.id, template, { savedBy: req.person?.userId })
      })
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
      ...SENDS_NOTHING,
      audit: null,
      onlyReads: true,
      bodyLimit,
    },
    async (req) => {
      const { design: given, body = '', ...rest } = req.body
      const design = given ? readDesign(given) : undefined
      const rendered = design ? renderDesign(design, await findBrand(db, req.project.id)) : { html: body }
      const issues = await lintTemplate(db, req.project.id, { ...rest, body: rendered.html, ...rendered })
      return { issues: [...(design ? lintDesign(design) : []), ...issues] }
    },
  )

  template.get('/templates/:id', { summary: 'Get a template', response: Template, etag: true }, (_req, found) => found)

  template.patch(
    '/templates/:id',
    {
      summary: 'Update a template',
      body: Changes,
      audit: 'template.update',
      senders: ['stored', 'new', 'live'],
      stops: 'never',
      response: Template,
      takesHeaders: [IF_MATCH],
      refusals: ['CONFLICT'],
      bodyLimit,
      etag: true,
    },
    async (req, found) => change(req, found, await withRenderedBody(db, req.project.id, req.body)),
  )

  async function change(req: FastifyRequest, stored: StoredTemplate, changes: StoredChanges) {
    const [projectId, { id }] = [req.project.id, stored]
    await assertRenderable(projectId, changes)
    if (changes.from !== undefined || changes.fromName !== undefined) assertSenderName({ ...stored, ...changes })
    requireSenderDomain(req.project, changes.from)
    if (changes.from) await assertVerified(db, projectId, changes.from)
    const edit = { projectId, id, changes, revisions: readIfMatch(req), savedBy: req.person?.userId }
    return transact(req.db, async (tx) => {
      await assertWorkflow(tx, projectId, changes.workflowId)
      requireSenderDomain(req.project, await lockTemplateSender(tx, { projectId, id }))
      const apply = async () => (await changeTemplate(tx, edit)) ?? failStale((await getTemplate(tx, projectId, id)).updatedAt)
      return changesContent(changes) ? changeAs(tx, req.project, { template: id }, apply) : apply()
    })
  }

  versionRoutes(template, db, change)

  copyAndDeleteRoutes(template)

  templatePreviewRoutes(app, deps)
}

type Change = (req: FastifyRequest, stored: StoredTemplate, changes: StoredChanges) => Promise<StoredTemplate>

function versionRoutes(template: ReturnType<typeof templateResource>, db: Db, change: Change) {
  template.get(
    '/templates/:id/versions',
    {
      summary: 'List the versions of a template, newest first',
      description: 'The newest 50 that came before the current one are kept, up to 20 MB.',
      response: z.object({ data: z.array(TemplateVersion) }),
    },
    async (_req, { projectId, id }) => ({ data: await listVersions(db, { projectId, id }) }),
  )

  template.get(
    '/templates/:id/versions/:version',
    { summary: 'Get a version of a template', params: VersionId, response: TemplateVersionContent },
    (req, found) => findStoredVersion(found, req.params.version),
  )

  template.post(
    '/templates/:id/versions/:version/restore',
    {
      summary: 'Restore a version of a template',
      description: 'Saves the content of the version again, as a new version.',
      params: VersionId,
      audit: 'template.restore',
      senders: ['stored', 'new', 'live'],
      stops: 'never',
      response: Template,
      takesHeaders: [IF_MATCH],
      refusals: ['CONFLICT'],
      etag: true,
    },
    async (req, found) => {
      const { subject, previewText, body, design, from, fromName, replyTo, type } = await findStoredVersion(found, req.params.version)
      return change(req, found, { subject, previewText, body, design, from, fromName, replyTo, type })
    },
  )

  async function findStoredVersion({ projectId, id }: StoredTemplate, given: string) {
    const found = /^[1-9]\d{0,8}$/.test(given) ? await findVersion(db, { projectId, id }, Number(given)) : undefined
    return found ?? notFound('version', given)
  }
}

function copyAndDeleteRoutes(template: ReturnType<typeof templateResource>) {
  template.delete(
    '/templates/:id',
    {
      summary: 'Delete a template',
      description: 'Refused while a scheduled or running campaign uses it; `details.usedBy` names the campaigns.',
      audit: 'template.delete',
      senders: ['stored'],
      stops: 'never',
      response: NO_CONTENT,
      refusals: ['CONFLICT'],
    },
    async (req, { id }, reply) => {
      const deleted = await transact(req.db, async (tx) => {
        requireSenderDomain(req.project, await lockTemplateSender(tx, { projectId: req.project.id, id }))
        return deleteTemplate(tx, { projectId: req.project.id, id })
      })
      return deleted ? reply.status(204).send(null) : templateNotFound(id)
    },
  )

  template.post(
    '/templates/:id/duplicate',
    { summary: 'Duplicate a template', audit: 'template.duplicate', senders: ['stored'], stops: 'never', response: { 201: Template } },
    async (req, { id }, reply) => {
      const copy = await transact(req.db, async (tx) => {
        const copied = await duplicateTemplate(tx, { projectId: req.project.id, id, savedBy: req.person?.userId })
        requireSenderDomain(req.project, copied?.from)
        return copied
      })
      return reply.status(201).send(copy ?? templateNotFound(id))
    },
  )
}
