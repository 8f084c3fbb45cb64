import { sql } from 'kysely'
import { z } from 'zod'
import { type Db, maybeOne, type Tx } from '../db/index.ts'
import { fail } from '../lib/errors/errors.ts'
import type { Secrets } from '../lib/secrets.ts'
import type { Keys } from './api-keys/keys.ts'
import { createProject, ProjectChanges, ProjectName } from './project.ts'

/**
 * Columns of a project that move with it to another installation. Not: its keys, which are sealed, and what only Stripe knows. A suspension
 * moves.
 */
const COLUMNS = [
  'name',
  'tracking',
  'language',
  'timezone',
  'name_fields',
  'brand',
  'disabled',
  'disabled_reason',
  'billing_limit_workflows',
  'billing_limit_campaigns',
  'billing_limit_transactional',
  'billing_limit_inbound',
  'reset_at',
  'emails_removed_at',
  'created_at',
] as const
const SET_BY_HAND = ['name', 'disabled', 'disabled_reason']

type MovedProject = { name: string; owner: string | null; row: string }

/** Undefined while the project is deleted, or a reset of it is under way. `row`: JSON. */
export const readMovedProject = (db: Db, projectId: string) =>
  maybeOne<MovedProject>(db)`
    select name, (select u.email from memberships m join users u on u.id = m.user_id where m.project_id = p.id and m.role = 'OWNER') as owner,
      (select row_to_json(r)::text from (select ${sql.join(COLUMNS.map((column) => sql.ref(`p.${column}`)))}) as r) as row
    from projects p
    where p.id = ${projectId} and p.deleted_at is null and not exists (select from project_wipes w where w.project_id = p.id)
  `

const { tracking, language, timezone, nameFields, brand } = ProjectChanges.shape
/** By the names of columns. */
const MovedRow = z.object({ name: ProjectName, tracking, language, timezone, name_fields: nameFields, brand })

type Arrival = { id: string; ownerId: string; row: string; keys: Keys | undefined }

/** Creates a project with the id and settings that it had elsewhere. An owner with a suspended project here has it disabled. */
export async function createMovedProject(tx: Tx, secrets: Secrets, { id, ownerId, row, keys }: Arrival) {
  if (await maybeOne(tx)`select 1 from projects where id = ${id}`)
    fail('CONFLICT', { message: `This installation has the project ${id} already, or is still deleting it.` })
  const given = MovedRow.safeParse(JSON.parse(row))
  if (!given.success)
    return fail('BAD_REQUEST', { message: `The settings of the project are not valid: ${given.error.issues[0]!.message}` })
  const created = await createProject(tx, secrets, { id, name: given.data.name, ownerId, ...(keys && { keys }) })
  const sets = COLUMNS.filter((column) => !SET_BY_HAND.includes(column)).map((column) => sql`${sql.ref(column)} = r.${sql.ref(column)}`)
  await sql`
    update projects p set ${sql.join(sets)}, disabled = p.disabled or r.disabled, disabled_reason = coalesce(p.disabled_reason, r.disabled_reason)
    from json_populate_record(null::projects, ${row}::json) as r where p.id = ${id}
  `.execute(tx)
  return created
}
