import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { workflowsUsingSql } from '../db/in-use.ts'
import { countAffected, countRows, type Db, many, maybeOne, maybeScalar, one, type Tx } from '../db/index.ts'
import { wipeRows } from '../db/wipe-rows.ts'
import { isRevision, nextRevision } from '../http/core/if-match.ts'
import { choiceParam, PageQuery, pageInfo } from '../http/core/paging.ts'
import { Timestamp } from '../http/core/validate.ts'
import { pagePortions } from '../http/limits/page-stream.ts'
import { fail } from '../lib/errors/errors.ts'
import { newId } from '../lib/id.ts'
import { likePattern } from '../lib/text/like-pattern.ts'
import type { Wiper } from '../projects/wipe.ts'
import { Design } from './design/schema.ts'
import { deleteVersions, keepVersion, VERSIONED, VERSIONED_COLUMNS } from './versions.ts'

export const TYPES = ['TRANSACTIONAL', 'MARKETING', 'HEADLESS'] as const

/** Lists leave out the design, which may be larger than the rest of a page. */
export const TemplateListItem = z
  .object({
    id: z.uuid(),
    name: z.string(),
    description: z.string().nullable(),
    subject: z.string(),
    previewText: z.string().nullable().describe('Shown by inboxes beside the subject; hidden in the email itself.'),
    body: z.string(),
    hasDesign: z.boolean().describe('Whether `body` was rendered from a design.'),
    from: z.string().nullable(),
    fromName: z.string().nullable(),
    replyTo: z.string().nullable(),
    type: z.enum(TYPES),
    workflowId: z.uuid().nullable().describe('The workflow that it was written in, and with which it is deleted.'),
    version: z.int().describe('Grows with every change of subject, previewText, body, from, fromName, replyTo or type.'),
    projectId: z.uuid(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'TemplateListItem' })

export const Template = TemplateListItem.extend({
  design: Design.nullable().describe('The blocks that `body` was rendered from. Null for an email written as HTML.'),
}).meta({ id: 'Template' })

type TemplateJson = z.output<typeof Template>
type ListItem = z.output<typeof TemplateListItem>
type Content = Pick<TemplateJson, 'name' | 'subject' | 'body' | 'type'> & { design?: Design | null | undefined } & {
  [Key in 'description' | 'previewText' | 'from' | 'fromName' | 'replyTo' | 'workflowId']?: string | null | undefined
}

const LISTED = sql`
  id, name, description, subject, preview_text as "previewText", body, design is not null as "hasDesign", from_address as "from", from_name as "fromName", reply_to as "replyTo", type, workflow_id as "workflowId", version,
  project_id as "projectId", created_at as "createdAt", updated_at as "updatedAt"`
const COLUMNS = sql`${LISTED}, design`

export const findTemplate = (db: Db, projectId: string, id: string) =>
  maybeOne<TemplateJson>(db)`select ${COLUMNS} from templates where project_id = ${projectId} and id = ${id}`

export const TemplatesQuery = PageQuery.extend({
  type: z.enum(TYPES).optional(),
  search: z.string().max(255).optional().describe('Case-insensitive search in name, description and subject.'),
  workflowId: z
    .union([z.uuid(), z.literal('none')])
    .optional()
    .describe('Templates that were written in this workflow; `none`: in no workflow.'),
  sort: choiceParam(['name', 'createdAt', 'updatedAt'], 'createdAt'),
  dir: choiceParam(['asc', 'desc'], 'desc'),
})

/** Ids ascend with time, so the primary key is the order of creation. */
const ORDERS = { name: sql`lower(name)`, createdAt: sql`id`, updatedAt: sql`updated_at` }

/** Returns the ids of a page in portions that fit into memory, and a function to read them: a template may have 2 MB. */
export async function listTemplates(db: Db, projectId: string, query: z.output<typeof TemplatesQuery>) {
  const { page, pageSize, sort = 'createdAt', dir = 'desc' } = query
  const where = matching(projectId, query)
  const direction = sql.raw(dir)
  const sizes = await many<{ id: string; bytes: number }>(db)`
    select id, octet_length(body) as bytes from templates where ${where}
    order by ${ORDERS[sort]} ${direction}, id ${direction}
    limit ${pageSize} offset ${(page - 1) * pageSize}
  `
  const total = await countRows(db, sql`select from templates where ${where}`)
  return { portions: pagePortions(sizes), read: (ids: string[]) => readTemplates(db, projectId, ids), rest: pageInfo(total, query) }
}

async function readTemplates(db: Db, projectId: string, ids: string[]): Promise<ListItem[]> {
  const rows = await many<ListItem>(db)`select ${LISTED} from templates where project_id = ${projectId} and id = any(${ids}::uuid[])`
  const byId = new Map(rows.map((row) => [row.id, row]))
  // Templates deleted meanwhile are left out.
  return ids.flatMap((id) => byId.get(id) ?? [])
}

function matching(projectId: string, { type, search, workflowId }: z.output<typeof TemplatesQuery>): RawBuilder<unknown> {
  const byType = type ? sql`and type = ${type}` : sql``
  const pattern = search && likePattern(search.trim())
  const bySearch = pattern ? sql`and (name ilike ${pattern} or description ilike ${pattern} or subject ilike ${pattern})` : sql``
  const byWorkflow = workflowId === 'none' ? sql`and workflow_id is null` : workflowId ? sql`and workflow_id = ${workflowId}` : sql``
  return sql`project_id = ${projectId} ${byType} ${bySearch} ${byWorkflow}`
}

type Author = { savedBy?: string | undefined }

const COLUMN_OF = {
  name: 'name',
  description: 'description',
  subject: 'subject',
  previewText: 'preview_text',
  body: 'body',
  design: 'design',
  from: 'from_address',
  fromName: 'from_name',
  replyTo: 'reply_to',
  type: 'type',
  workflowId: 'workflow_id',
} as const satisfies Record<keyof Content, string>
const FIELDS = Object.keys(COLUMN_OF) as (keyof Content)[]

export function createTemplate(tx: Tx, projectId: string, { design, ...template }: Content, { savedBy }: Author = {}) {
  const values = FIELDS.map((key) => (key === 'design' ? jsonb(design) : (template[key] ?? null)))
  return one<TemplateJson>(tx)`
    insert into templates (project_id, id, ${sql.join(FIELDS.map((key) => sql.ref(COLUMN_OF[key])))}, saved_by, saved_at)
    values (${projectId}, ${newId()}, ${sql.join(values)}, ${savedBy ?? null}, now())
    returning ${COLUMNS}
  `
}

type Changes = { [Key in keyof Content]?: Content[Key] | undefined }
type Edit = Author & { projectId: string; id: string; changes: Changes; revisions?: string[] | undefined }

/**
 * Updates the given fields only. A change of the content makes a version: the content before it is kept. Undefined when there is no such
 * template, or its revision is none of these.
 */
export async function changeTemplate(tx: Tx, { projectId, id, changes, revisions, savedBy }: Edit): Promise<TemplateJson | undefined> {
  // HTML that the design does not give drops it: the email is written as HTML from now on.
  const isCode = changes.body !== undefined && changes.design === undefined
  const given = FIELDS.filter((key) => changes[key] !== undefined || (isCode && key === 'design'))
  const newValue = (key: keyof Content) => {
    if (key === 'design') return isCode ? sql`case when body = ${changes.body}::text then design end` : jsonb(changes.design)
    return key === 'workflowId' ? sql`${changes.workflowId}::uuid` : sql`${changes[key]}::text`
  }
  const differs = given
    .filter((key) => (VERSIONED as readonly string[]).includes(COLUMN_OF[key]))
    .map((key) => sql`${sql.ref(COLUMN_OF[key])} is distinct from ${newValue(key)}`)
  const isVersion = differs.length > 0 && (await keepVersion(tx, { projectId, id, changes: sql.join(differs, sql` or `), revisions }))
  const sets = [
    ...given.map((key) => sql`${sql.ref(COLUMN_OF[key])} = ${newValue(key)}`),
    ...(isVersion ? [sql`version = version + 1`, sql`saved_by = ${savedBy ?? null}`, sql`saved_at = now()`] : []),
  ]
  return maybeOne<TemplateJson>(tx)`
    update templates set ${sql.join([...sets, sql`updated_at = ${nextRevision(sql.ref('updated_at'))}`])}
    where project_id = ${projectId} and id = ${id} and ${isRevision(sql.ref('updated_at'), revisions)}
    returning ${COLUMNS}
  `
}

/** Whether emails would change: not by its name, its description, and the workflow that it was written in. */
export const changesContent = (changes: Changes) =>
  FIELDS.some((key) => changes[key] !== undefined && (VERSIONED as readonly string[]).includes(COLUMN_OF[key]))

const jsonb = (value: unknown) => sql`${value === null || value === undefined ? null : JSON.stringify(value)}::jsonb`

type TemplateKey = { projectId: string; id: string }

const COPY = ' (Copy)'
export const MAX_NAME = 255
/** The name of a copy, from a row of the original. */
export const COPY_NAME = sql`left(name, ${MAX_NAME - COPY.length}) || ${COPY}`

/** A template of its own, also if the original was written in a workflow. */
export const duplicateTemplate = (tx: Tx, { projectId, id, savedBy }: Author & TemplateKey) =>
  maybeOne<TemplateJson>(tx)`
    insert into templates (project_id, id, name, description, ${VERSIONED_COLUMNS}, saved_by, saved_at)
    select project_id, ${newId()}, ${COPY_NAME}, description, ${VERSIONED_COLUMNS}, ${savedBy ?? null}, now()
    from templates where project_id = ${projectId} and id = ${id}
    returning ${COLUMNS}
  `

/** The sender of a template, which stays the same until the transaction ends. Undefined when there is no such template. */
export const lockTemplateSender = (tx: Tx, { projectId, id }: TemplateKey) =>
  maybeScalar<string | null>(tx)`
    select from_address from templates where project_id = ${projectId} and id = ${id} for no key update
  `

/** Refused while a scheduled or running campaign, or a workflow, uses it. False when there is no such template. */
export async function deleteTemplate(tx: Tx, { projectId, id }: TemplateKey) {
  const deleted = await countAffected(tx)`delete from templates where project_id = ${projectId} and id = ${id}`
  if (deleted) await refuseIfUsed(tx, { projectId, id })
  await deleteVersions(tx, { projectId, id })
  return deleted > 0
}

/** Campaigns and workflows that an error names. */
const MAX_NAMED = 20

/**
 * After the deletion: a campaign locks the row of its template when it starts, and a workflow when it is saved. So they are either seen here or
 * find no template.
 */
async function refuseIfUsed(tx: Tx, { projectId, id }: TemplateKey) {
  const campaigns = await many<{ id: string; name: string }>(tx)`
    select id, name from campaigns
    where project_id = ${projectId} and template_id = ${id} and status in ('SCHEDULED', 'SENDING') order by id limit ${MAX_NAMED}
  `
  const workflows = await many(tx, workflowsUsingSql({ projectId, kind: 'templates', id: id.toLowerCase(), limit: MAX_NAMED }))
  const usedBy = [
    ...campaigns.map((campaign) => ({ type: 'campaign', ...campaign })),
    ...workflows.map((workflow) => ({ type: 'workflow', ...workflow })),
  ]
  if (!usedBy.length) return
  fail('CONFLICT', {
    message: `The template is used by ${usedBy.map(({ type, name }) => `the ${type} "${name}"`).join(', ')}.`,
    details: { usedBy },
  })
}

/** For a project reset or deletion. */
export const TEMPLATE_WIPERS: Wiper[] = [
  (tx, scope) => wipeRows(tx, 'templates', scope),
  (tx, scope) => wipeRows(tx, 'template_versions', scope, { key: ['template_id', 'version'] }),
  (tx, scope) => wipeRows(tx, 'preview_pages', scope),
]
