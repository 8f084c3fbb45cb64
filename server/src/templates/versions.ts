import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { countAffected, type Db, many, maybeOne, type Tx } from '../db/index.ts'
import { keepNewest } from '../db/wipe-rows.ts'
import { isRevision } from '../http/core/if-match.ts'
import { Timestamp } from '../http/core/validate.ts'
import { MB } from '../lib/text/units.ts'
import { Design } from './design/schema.ts'

const TYPES = ['TRANSACTIONAL', 'MARKETING', 'HEADLESS'] as const

/** Older versions kept per template. */
const MAX_VERSIONS = 50
const MAX_BYTES = 20 * MB

export const TemplateVersion = z
  .object({
    version: z.int(),
    isCurrent: z.boolean(),
    subject: z.string(),
    previewText: z.string().nullable(),
    from: z.string().nullable(),
    fromName: z.string().nullable(),
    replyTo: z.string().nullable(),
    type: z.enum(TYPES),
    bytes: z.int().describe('Size of the body.'),
    hasDesign: z.boolean(),
    savedBy: z.string().nullable().describe('Address of the person who saved it. Null for an API key.'),
    savedAt: Timestamp,
  })
  .meta({ id: 'TemplateVersion' })
export const TemplateVersionContent = TemplateVersion.extend({ body: z.string(), design: Design.nullable() })

type TemplateRef = { projectId: string; id: string }

/** The columns that a version consists of. A change of any other column makes no version. */
export const VERSIONED = ['subject', 'preview_text', 'body', 'design', 'from_address', 'from_name', 'reply_to', 'type'] as const
export const VERSIONED_COLUMNS = sql.join(VERSIONED.map((column) => sql.ref(column)))

type Change = TemplateRef & {
  /** Condition on the row of the template: its content is about to change. */
  changes: RawBuilder<unknown>
  revisions?: string[] | undefined
}

/**
 * Keeps the current content of a template as an older version, if it is about to change, and locks the template. Returns whether it did.
 * A version that a node without versions has changed is overwritten.
 */
export async function keepVersion(tx: Tx, { projectId, id, changes, revisions }: Change): Promise<boolean> {
  const kept = await countAffected(tx)`
    insert into template_versions (project_id, template_id, version, ${VERSIONED_COLUMNS}, saved_by, saved_at)
    select project_id, id, version, ${VERSIONED_COLUMNS}, saved_by, saved_at from templates
    where project_id = ${projectId} and id = ${id} and ${isRevision(sql.ref('updated_at'), revisions)} and (${changes})
    for update
    on conflict (project_id, template_id, version) do update set ${sql.join(VERSIONED.map((column) => sql`${sql.ref(column)} = excluded.${sql.ref(column)}`))}
  `
  if (kept) {
    const of = sql`project_id = ${projectId} and template_id = ${id}`
    const bytes = sql`octet_length(body) + coalesce(octet_length(design::text), 0)`
    await keepNewest(tx, 'template_versions', { of, key: 'version', bytes, maxRows: MAX_VERSIONS, maxBytes: MAX_BYTES })
  }
  return kept > 0
}

const VERSION_COLUMNS = sql`
  v.version, v."isCurrent", v.subject, v.preview_text as "previewText", v.from_address as "from", v.from_name as "fromName", v.reply_to as "replyTo", v.type,
  octet_length(v.body) as bytes, v.design is not null as "hasDesign", v.saved_at as "savedAt", (select email from users where users.id = v.saved_by) as "savedBy"`

/** The template itself, and its older versions. */
const versionsOf = ({ projectId, id }: TemplateRef) => sql`(
  select version, ${VERSIONED_COLUMNS}, saved_by, saved_at, true as "isCurrent" from templates
  where project_id = ${projectId} and id = ${id}
  union all
  select version, ${VERSIONED_COLUMNS}, saved_by, saved_at, false from template_versions
  where project_id = ${projectId} and template_id = ${id}
    and version < (select version from templates where project_id = ${projectId} and id = ${id})
) as v`

/** Newest first. */
export const listVersions = (db: Db, template: TemplateRef) =>
  many<z.output<typeof TemplateVersion>>(db)`
    select ${VERSION_COLUMNS} from ${versionsOf(template)} order by v.version desc limit ${MAX_VERSIONS + 1}
  `

export const findVersion = (db: Db, template: TemplateRef, version: number) =>
  maybeOne<z.output<typeof TemplateVersionContent>>(db)`
    select ${VERSION_COLUMNS}, v.body, v.design from ${versionsOf(template)} where v.version = ${version}
  `

export const deleteVersions = (tx: Tx, { projectId, id }: TemplateRef) =>
  sql`delete from template_versions where project_id = ${projectId} and template_id = ${id}`.execute(tx)
