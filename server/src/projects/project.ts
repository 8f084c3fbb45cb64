import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, many, maybeOne, one, type Tx } from '../db/index.ts'
import type { Schema } from '../db/schema.ts'
import type { Role } from '../http/auth/declaration.ts'
import { Timestamp } from '../http/core/validate.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { stopJobs } from '../jobs/job.ts'
import { isTimezone } from '../lib/calendar/timezone.ts'
import { newId } from '../lib/id.ts'
import type { Secrets } from '../lib/secrets.ts'
import { type Keys, newKeys, openKeys, storeKeys } from './api-keys/keys.ts'
import { Brand } from './brand.ts'
import { inheritSuspension } from './suspensions.ts'

const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'nl', 'pt', 'pl', 'ja', 'zh'] as const
const TRACKING = ['ENABLED', 'DISABLED', 'MARKETING_ONLY'] as const
export const ROLES = ['OWNER', 'ADMIN', 'MEMBER'] as const

const limit = z.int().nullable()

const NAME_FIELDS =
  'Fields that hold the name of a contact, the best first; several are joined by ` + `. Default: `name`, `firstName + lastName`.'

export const Project = z
  .object({
    id: z.uuid(),
    name: z.string(),
    public: z.string().nullable().describe('Public key; null for members who are neither owner nor admin.'),
    secret: z.string().nullable().describe('Secret key; null for members who are neither owner nor admin.'),
    role: z.enum(ROLES).describe('Your role in this project.'),
    disabled: z.boolean(),
    disabledReason: z.string().nullable(),
    tracking: z.enum(TRACKING),
    language: z.enum(LANGUAGES),
    timezone: z.string().describe('IANA name of the zone in which figures are shown.'),
    nameFields: z.array(z.string()).describe(NAME_FIELDS),
    brand: Brand,
    customer: z.string().nullable(),
    subscription: z.string().nullable(),
    billingLimitWorkflows: limit,
    billingLimitCampaigns: limit,
    billingLimitTransactional: limit,
    billingLimitInbound: limit,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Project' })

type Row = Schema['projects']
type ProjectJson = z.output<typeof Project>

const ONE_LINE = /^[^\p{Cc}\u2028\u2029]*$/u

/** One line, because it is used in the subjects of account emails. */
export const ProjectName = z.string().trim().min(1).max(100).regex(ONE_LINE, 'Must not contain line breaks or control characters.')
export const ProjectChanges = z.object({
  name: ProjectName.optional(),
  tracking: z.enum(TRACKING).optional(),
  language: z.enum(LANGUAGES).optional(),
  timezone: z
    .string()
    .max(64)
    .refine(isTimezone, 'Must be the IANA name of a time zone, such as Europe/Berlin.')
    .optional()
    .describe('IANA name of a time zone, such as Europe/Berlin.'),
  nameFields: z
    .array(z.string().trim().min(1).max(255).regex(ONE_LINE, 'Must not contain line breaks or control characters.'))
    .max(5)
    .optional()
    .describe(NAME_FIELDS),
  brand: Brand.optional().describe('Replaces the brand as a whole. Designs that are saved keep the HTML of their last save.'),
})

export function showProject(secrets: Secrets, row: Row, role: Role): ProjectJson {
  const keys = role === 'MEMBER' ? { public: null, secret: null } : openKeys(secrets, row)
  return {
    id: row.id,
    name: row.name,
    ...keys,
    role,
    disabled: row.disabled,
    disabledReason: row.disabled_reason,
    // Constrained by the table and by ProjectChanges; the generated row type has only `string`.
    tracking: row.tracking as ProjectJson['tracking'],
    language: row.language as ProjectJson['language'],
    timezone: row.timezone,
    nameFields: row.name_fields,
    brand: row.brand as Brand,
    customer: row.customer,
    subscription: row.subscription,
    billingLimitWorkflows: showLimit(row.billing_limit_workflows),
    billingLimitCampaigns: showLimit(row.billing_limit_campaigns),
    billingLimitTransactional: showLimit(row.billing_limit_transactional),
    billingLimitInbound: showLimit(row.billing_limit_inbound),
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

/** A bigint is read as text. */
const showLimit = (limit: string | null) => (limit === null ? null : Number(limit))

export async function listProjects(db: Db, secrets: Secrets, userId: string) {
  const rows = await many<Row & { role: Role }>(db)`
    select p.*, m.role from projects p join memberships m on m.project_id = p.id
    where m.user_id = ${userId} and p.deleted_at is null order by p.id limit 1000
  `
  return rows.map((row) => showProject(secrets, row, row.role))
}

type NewProject = { name: string; ownerId: string; id?: string; keys?: Keys }

/** `id`, `keys`: of a project that has moved here. */
export async function createProject(tx: Tx, secrets: Secrets, { name, ownerId, id = newId(), keys = newKeys() }: NewProject) {
  const values = { id, name, ...storeKeys(secrets, keys) }
  const row = await one<Row>(tx)`
    insert into projects (${sql.join(Object.keys(values).map((column) => sql.ref(column)))})
    values (${sql.join(Object.values(values))}) returning *
  `
  await sql`insert into memberships (project_id, user_id, role) values (${row.id}, ${ownerId}, 'OWNER')`.execute(tx)
  const inherited = await inheritSuspension(tx, row.id, ownerId)
  return showProject(secrets, { ...row, ...(inherited && { disabled: true, ...inherited }) }, 'OWNER')
}

const setProject = (tx: Tx, projectId: string, values: Partial<Row>, more = sql``) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined)
  return maybeOne<Row>(tx)`
    update projects set ${sql.join([...given.map(([column, value]) => sql`${sql.ref(column)} = ${value}`), sql`updated_at = now()`])} ${more}
    where id = ${projectId} and deleted_at is null returning *
  `
}

/** Replaces both keys in one statement: never one old and one new key. */
export const regenerateKeys = (tx: Tx, secrets: Secrets, projectId: string) =>
  setProject(tx, projectId, storeKeys(secrets, newKeys()), sql`, key_version = key_version + 1`)

export const changeProject = (tx: Tx, projectId: string, { nameFields, brand, ...changes }: z.output<typeof ProjectChanges>) =>
  // The other keys are columns.
  setProject(tx, projectId, {
    ...(changes as Partial<Row>),
    ...(nameFields && { name_fields: nameFields }),
    ...(brand && { brand: JSON.stringify(brand) }),
  })

/** From this commit on the project and its keys are unknown; jobs remove its rows and end its subscription. */
export async function deleteProject(tx: Tx, projectId: string) {
  const deleted = await maybeOne<{ subscription: string | null }>(tx)`
    update projects set deleted_at = now(), updated_at = now() where id = ${projectId} and deleted_at is null returning subscription
  `
  if (deleted?.subscription) await enqueue(tx, 'billing.cancel', { subscription: deleted.subscription, projectId })
  await requestWipe(tx, projectId)
}

/** The row holds the time up to which the job deletes. It is read after all jobs have stopped, so that it covers their last chunk. */
export async function requestWipe(tx: Tx, projectId: string) {
  await stopJobs(tx, projectId)
  await sql`
    insert into project_wipes (project_id, requested_at) values (${projectId}, clock_timestamp())
    on conflict (project_id) do update set requested_at = excluded.requested_at
  `.execute(tx)
  await sql`update projects set reset_at = clock_timestamp() where id = ${projectId}`.execute(tx)
  await enqueue(tx, 'projects.wipe', { projectId })
}
