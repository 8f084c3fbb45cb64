import { type RawBuilder, sql } from 'kysely'
import { z } from 'zod'
import { countAffected, type Db, many, one, type Pool, scalar, scalars, type Tx, transact } from '../../db/index.ts'
import { recordset } from '../../db/rows.ts'
import { insertReactionsSql, reactToProject } from '../../events/listen.ts'
import { enqueue } from '../../jobs/enqueue.ts'
import { lockSharedSql, tryLock } from '../../ledger/locks.ts'
import { NIL_ID } from '../../lib/id.ts'
import { countContacts } from '../record/counts.ts'
import { type FieldType, inferType } from '../record/data.ts'

const STANDARD = { createdAt: 'date', email: 'string', subscribed: 'boolean', updatedAt: 'date' } as const
/** Up to this many contacts counting takes milliseconds; above, a job counts and the list shows its latest result. */
const MAX_COUNTED_NOW = 20_000
const RECOUNT_MINUTES = 5
const PAGE = 10_000
/** Values are sampled from the newest contacts, page by page: until a page has no further value, the limit is reached, or all of these are read. */
const SCANNED_CONTACTS = 100_000
const VALUES_PAGE = 10_000
const MAX_VALUE_LENGTH = 1_024

export const Field = z.object({
  field: z.string(),
  type: z.enum(['number', 'boolean', 'date', 'string']),
  isCustom: z.boolean(),
  coverage: z.number().describe('Share of contacts that have the field, 0 to 1.'),
})

/** A field as named in a URL: `plan` and `data.plan` are the same custom field, `email` is the standard one. */
export type FieldName = { standard: keyof typeof STANDARD } | { custom: string }

export function readFieldName(text: string): FieldName {
  if (text.startsWith('data.')) return { custom: text.slice('data.'.length) }
  return Object.hasOwn(STANDARD, text) ? { standard: text as keyof typeof STANDARD } : { custom: text }
}

type FieldPatch = { projectId: string; set: Record<string, unknown> }

/** Registers new keys with the type of their first value. */
export const registerFields = (tx: Tx, patches: FieldPatch[]) =>
  sql`with seen as (${registerFieldsSql(patches)}), reacted as (${insertReactionsSql(sql`(${REVIVED_FIELDS})`)}) select`.execute(tx)

/** Returns rows of (project_id, key, revived) for the keys that are new; revived: it had been deleted, and is back. */
export function registerFieldsSql(patches: FieldPatch[]): RawBuilder<unknown> {
  const seen = new Map<string, Map<string, FieldType>>()
  for (const { projectId, set } of patches) {
    const keys = seen.get(projectId) ?? new Map<string, FieldType>()
    seen.set(projectId, keys)
    for (const key of Object.keys(set)) if (!keys.has(key)) keys.set(key, inferType(set[key]))
  }
  const rows = [...seen].flatMap(([projectId, keys]) => [...keys].map(([key, type]) => ({ projectId, key, type })))
  return sql`
    insert into contact_fields (project_id, key, type)
    select "projectId", key, type
    from ${sharedFieldLock([...seen.keys()])},
      ${recordset('contact_fields', rows, ['projectId', 'key', 'type'])} as f
    order by 1, 2 -- consistent lock order
    on conflict do nothing
    returning project_id, key, revive_contact_field(project_id, key) as revived`
}

/** Reactions to the fields that are back, from a relation `seen` with the rows of `registerFieldsSql`. */
export const REVIVED_FIELDS = sql`
  select project_id, null::uuid as contact_id, array['field:' || key] as topics from seen where revived`

/** Which of these keys were deleted and not set again since. Every filter on such a field is false. */
export async function readDeletedFields(db: Db, projectId: string, keys: string[]): Promise<ReadonlySet<string>> {
  return new Set(
    await scalars<string>(db)`select key from deleted_contact_fields where project_id = ${projectId} and key = any(${keys}::text[])`,
  )
}

export async function listFields(db: Pool, projectId: string): Promise<z.output<typeof Field>[]> {
  const { total } = await countContacts(db, projectId)
  const custom = total <= MAX_COUNTED_NOW ? await countFieldsNow(db, projectId) : await readFieldCounts(db, projectId)
  const fields = [
    ...Object.entries(STANDARD).map(([field, type]) => ({ field, type, isCustom: false, coverage: 1 })),
    ...custom.map(({ key, type, contacts }) => ({ field: `data.${key}`, type, isCustom: true, coverage: coverageOf(contacts, total) })),
  ]
  return fields.sort((a, b) => (a.field < b.field ? -1 : 1))
}

/** Rounded to four digits: a share, not a way to read the exact count. */
const coverageOf = (part: number, whole: number) => (whole ? Math.min(1, Math.round((part / whole) * 10_000) / 10_000) : 0)

type Counted = { key: string; type: FieldType; contacts: number }

const countFieldsNow = (db: Db, projectId: string) =>
  many<Counted>(db)`
    select f.key, f.type, coalesce(n.contacts, 0)::int as contacts
    from contact_fields f
    left join (
      select key, count(*) as contacts from contacts, jsonb_object_keys(data) as key
      where project_id = ${projectId} group by key
    ) n using (key)
    where f.project_id = ${projectId}
    order by f.key limit 5000
  `

async function readFieldCounts(db: Pool, projectId: string) {
  const fields = await many<Counted & { stale: boolean }>(db)`
    select key, type, contacts, coalesce(counted_at < now() - make_interval(mins => ${RECOUNT_MINUTES}), true) as stale
    from contact_fields where project_id = ${projectId}
    order by key limit 5000
  `
  if (fields.some(({ stale }) => stale)) {
    await transact(db, (tx) => enqueue(tx, 'contacts.count-fields', { projectId }, { key: `contacts.count-fields:${projectId}` }))
  }
  return fields
}

/** Counts the contacts that have each field, page by page, so that no statement is long. */
export async function countFields(db: Pool, projectId: string) {
  const counts = new Map<string, number>()
  for (let after: string | null = NIL_ID; after; ) {
    const page: CountPage = await one(db, countPage(projectId, after))
    for (const [key, contacts] of Object.entries(page.counts ?? {})) counts.set(key, (counts.get(key) ?? 0) + contacts)
    after = page.last
  }
  const rows = [...counts].map(([key, contacts]) => ({ key, contacts }))
  await transact(db, (tx) =>
    sql`
      update contact_fields f set counted_at = now(), contacts = coalesce(n.contacts, 0)
      from contact_fields g
      left join ${recordset('contact_fields', rows, ['key', 'contacts'])} as n using (key)
      where f.project_id = ${projectId} and g.project_id = f.project_id and g.key = f.key
    `.execute(tx),
  )
}

type CountPage = { counts: Record<string, number> | null; last: string | null }

const countPage = (projectId: string, after: string): RawBuilder<CountPage> => sql<CountPage>`
  with page as (
    select id, data from contacts where project_id = ${projectId} and id > ${after} order by id limit ${PAGE}
  ), counted as (
    select key, count(*) as contacts from page, jsonb_object_keys(data) as key group by key
  )
  select (select jsonb_object_agg(key, contacts) from counted) as counts, (select id from page order by id desc limit 1) as last
`

/** Returns at most `limit` distinct values that are short enough to be shown. */
export const listValues = (db: Db, { projectId, field, limit }: { projectId: string; field: FieldName; limit: number }) =>
  'custom' in field
    ? listCustomValues(db, { projectId, key: field.custom, limit })
    : scalars<unknown>(db)`${standardValues(projectId, field.standard, limit)}`

async function listCustomValues(db: Db, { projectId, key, limit }: { projectId: string; key: string; limit: number }) {
  const found = new Set<string>()
  let before: string | null = null
  for (let scanned = 0; scanned < SCANNED_CONTACTS; scanned += VALUES_PAGE) {
    const page: ValuesPage = await one(db, valuesPage({ projectId, key, before, limit }))
    const known = found.size
    for (const value of page.values) found.add(value)
    before = page.last
    if (!before || found.size >= limit || (known > 0 && found.size === known)) break
  }
  return scalars<unknown>(db)`
    select distinct value::jsonb as value from unnest(${[...found]}::text[]) as text(value) order by value limit ${limit}`
}

/** `values`: as JSON text. `last`: of the contacts read; null at the end. */
type ValuesPage = { values: string[]; last: string | null }

const valuesPage = ({ projectId, key, before, limit }: { projectId: string; key: string; before: string | null; limit: number }) =>
  sql<ValuesPage>`
  with page as materialized (
    select id, data -> ${key}::text as value from contacts
    where project_id = ${projectId} ${before ? sql`and id < ${before}` : sql``} order by id desc limit ${VALUES_PAGE}
  )
  select array(
      select distinct value::text from page
      where jsonb_typeof(value) in ('string', 'number', 'boolean') and length(value #>> '{}') <= ${MAX_VALUE_LENGTH}
      limit ${limit}
    ) as values,
    (select case when count(*) = ${VALUES_PAGE} then min(id::text) end from page) as last
`

function standardValues(projectId: string, field: keyof typeof STANDARD, limit: number): RawBuilder<unknown> {
  if (field === 'email') return sql`select email as value from contacts where project_id = ${projectId} order by email limit ${limit}`
  if (field === 'subscribed') {
    return sql`select value from unnest(array[false, true]) as value
      where exists (select from contacts where project_id = ${projectId} and subscribed = value) limit ${limit}`
  }
  const column = sql.ref(field === 'createdAt' ? 'created_at' : 'updated_at')
  return sql`
    select distinct to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as value
    from (select ${column} from contacts where project_id = ${projectId} order by id desc limit ${SCANNED_CONTACTS}) newest
    order by value limit ${limit}
  `
}

/** Contacts that have a field: exact for a small project, else as last counted by the job. */
export async function countWithField(db: Db, projectId: string, key: string) {
  const { total } = await countContacts(db, projectId)
  return total <= MAX_COUNTED_NOW
    ? scalar<number>(db)`select count(*)::int from contacts where project_id = ${projectId} and data ? ${key}`
    : scalar<number>(db)`select coalesce(max(contacts), 0) from contact_fields where project_id = ${projectId} and key = ${key}`
}

/**
 * Removes a field from the list until a contact gets it again. Until then it counts as deleted, if it was listed at all. Returns false while writers hold the lock: a writer that found the field
 * registered and commits later would leave a contact with an unlisted field.
 */
export async function unregisterField(tx: Tx, projectId: string, key: string): Promise<boolean> {
  // Does not wait: a waiter for the exclusive lock would block all later writers.
  if (!(await tryLock(tx, 'contact fields', projectId))) return false
  const deleted = await countAffected(tx)`
    with unlisted as (delete from contact_fields where project_id = ${projectId} and key = ${key} returning project_id, key)
    insert into deleted_contact_fields (project_id, key) select project_id, key from unlisted
    on conflict (project_id, key) do update set deleted_at = now()
  `
  if (deleted) await reactToProject(tx, projectId, [`field:${key}`])
  return true
}

/** Shared by writers. An advisory lock lives in memory only; a row lock on `contact_fields` would write to the row each time. */
const sharedFieldLock = (projectIds: string[]) =>
  sql`(select count(${lockSharedSql('contact fields', sql`id`)}) from unnest(${projectIds}::text[]) as id) as locked`
