import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Pool, transact } from '../db/index.ts'
import { assertVerified } from '../domains/verified.ts'
import { failStale, readIfMatch } from '../http/if-match.ts'
import { sendPage } from '../http/limits/page-stream.ts'
import { pageList } from '../http/paging.ts'
import { EDITING, NoContent, type ResourceRequest, resource, tagged } from '../http/resource.ts'
import type { App, Deps } from '../http/server.ts'
import { Address } from '../http/validate.ts'
import { AppError, notFound } from '../lib/errors.ts'
import { showsOtherAddress } from '../lib/text/address.ts'
import { KB, MB } from '../lib/text/units.ts'
import { assertRenderable, Body, PreviewText, SenderName, Subject } from './content.ts'
import { MAX_PREVIEW_TEXT, MAX_SOURCE, MAX_SUBJECT } from './language/limits.ts'
import { LintIssue, lintTemplate } from './lint.ts'
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
export const LintResult = z.object({ issues: z.array(LintIssue) })

type StoredTemplate = z.output<typeof Template>

/** 2 MB for the template, and room for the JSON around it. */
export const TEMPLATE_BODY_LIMIT = 2 * MB + 64 * KB

/** Of the routes below `/templates/:id`. */
export const templateResource = (db: Pool) => resource('template', ({ projectId, id }) => findTemplate(db, projectId, id))

function assertOwnFromName({ from, fromName }: { from?: string | null | undefined; fromName?: string | null | undefined }) {
  if (!showsOtherAddress(fromName, from)) return
  throw new AppError('VALIDATION_ERROR', {
    errors: [{ field: 'fromName', message: 'Must not contain another email address.', code: 'custom' }],
  })
}

const tags = ['Templates']
const config = { caller: 'project' as const }
const bodyLimit = TEMPLATE_BODY_LIMIT

export function templateRoutes(app: App, deps: Deps) {
  collectionRoutes(app, deps)
  itemRoutes(app, deps)
  copyRoutes(app, deps)
}

function collectionRoutes(app: App, { db }: Deps) {
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
      config: { ...config, onlyReads: true },
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
}

function itemRoutes(app: App, { db }: Deps) {
  const { params, find, on } = templateResource(db)

  app.get(
    '/templates/:id',
    { config, schema: { tags, summary: 'Get a template', params, response: { 200: Template } } },
    async (req, reply) => {
      return tagged(reply, await find(req))
    },
  )

  app.patch(
    '/templates/:id',
    {
      config: { ...config, ...EDITING },
      bodyLimit,
      schema: { tags, summary: 'Update a template', params, body: Changes, response: { 200: Template } },
    },
    async (req, reply) => {
      return tagged(reply, await change(db, req, await find(req), req.body))
    },
  )

  app.delete(
    '/templates/:id',
    {
      config: { ...config, refusals: ['CONFLICT'] },
      schema: {
        tags,
        summary: 'Delete a template',
        description: 'Refused while a scheduled or running campaign uses it; `details.usedBy` names the campaigns.',
        params,
        response: { 204: NoContent },
      },
    },
    async (req, reply) => {
      await on(req, (key) => transact(db, (tx) => deleteTemplate(tx, key)))
      return reply.status(204).send(null)
    },
  )
}

/** Earlier versions, and copies. */
function copyRoutes(app: App, { db }: Deps) {
  const { params, find, on } = templateResource(db)
  const VersionId = params.extend({ version: z.string() })

  app.get(
    '/templates/:id/versions',
    {
      config,
      schema: {
        tags,
        summary: 'List the versions of a template, newest first',
        description: 'The newest 50 that came before the current one are kept, up to 20 MB.',
        params,
        response: { 200: z.object({ data: z.array(TemplateVersion) }) },
      },
    },
    async (req) => {
      const { id } = await find(req)
      return { data: await listVersions(db, { projectId: req.project.id, id }) }
    },
  )

  app.get(
    '/templates/:id/versions/:version',
    { config, schema: { tags, summary: 'Get a version of a template', params: VersionId, response: { 200: TemplateVersionContent } } },
    (req) => findStoredVersion(req),
  )

  app.post(
    '/templates/:id/versions/:version/restore',
    {
      config: { ...config, ...EDITING },
      schema: {
        tags,
        summary: 'Restore a version of a template',
        description: 'Saves the content of the version again, as a new version.',
        params: VersionId,
        response: { 200: Template },
      },
    },
    async (req, reply) => {
      const { subject, previewText, body, from, fromName, replyTo, type } = await findStoredVersion(req)
      return tagged(reply, await change(db, req, await find(req), { subject, previewText, body, from, fromName, replyTo, type }))
    },
  )

  async function findStoredVersion(req: ResourceRequest & { params: { version: string } }) {
    const { id, projectId } = await find(req)
    const { version } = req.params
    const found = /^[1-9]\d{0,8}$/.test(version) ? await findVersion(db, { projectId, id }, Number(version)) : undefined
    return found ?? notFound('version', version)
  }

  app.post(
    '/templates/:id/duplicate',
    { config, schema: { tags, summary: 'Duplicate a template', params, response: { 201: Template } } },
    async (req, reply) => {
      const savedBy = req.person?.userId
      return reply.status(201).send(await on(req, (key) => transact(db, (tx) => duplicateTemplate(tx, { ...key, savedBy }))))
    },
  )
}

async function change(db: Pool, req: FastifyRequest, stored: StoredTemplate, changes: z.output<typeof Changes>) {
  const [projectId, { id }] = [req.project.id, stored]
  await assertRenderable(projectId, changes)
  if (changes.from !== undefined || changes.fromName !== undefined) assertOwnFromName({ ...stored, ...changes })
  if (changes.from) await assertVerified(db, projectId, changes.from)
  const edit = { projectId, id, changes, revisions: readIfMatch(req), savedBy: req.person?.userId }
  return (
    (await transact(db, (tx) => changeTemplate(tx, edit))) ??
    failStale(((await findTemplate(db, projectId, id)) ?? notFound('template', id)).updatedAt)
  )
}
