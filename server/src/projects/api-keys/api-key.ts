import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { z } from 'zod'
import { columns, type RowOf } from '../../db/columns.ts'
import { countAffected, countRows, type Db, many, maybeOne, maybeScalar, scalar, type Tx } from '../../db/index.ts'
import type { SealedColumn } from '../../db/sealed-columns.ts'
import { SCOPES } from '../../http/auth/scopes.ts'
import { Timestamp } from '../../http/core/validate.ts'
import { fail } from '../../lib/errors/errors.ts'
import { newId } from '../../lib/id.ts'
import type { Secrets } from '../../lib/secrets.ts'
import type { KeySettings, NewKey } from './key-settings.ts'

const KINDS = ['secret', 'public'] as const

export const ApiKey = z
  .object({
    id: z.string().describe('`public` and `secret` for the pair.'),
    name: z.string(),
    kind: z.enum(KINDS),
    isPair: z.boolean().describe('One of the two keys of the project, which only `regenerate-keys` changes.'),
    scopes: z.array(z.enum(SCOPES)).nullable().describe('Null for public keys.'),
    senderDomains: z.array(z.string()).nullable().describe('Null: every verified domain.'),
    networks: z.array(z.string()).nullable().describe('CIDRs. Null: from anywhere.'),
    expiresAt: Timestamp.nullable(),
    lastUsedAt: Timestamp.nullable().describe('To the minute.'),
    createdBy: z.uuid().nullable().describe('Id of a user.'),
    createdAt: Timestamp,
    prefix: z.string().describe('The beginning of the key.'),
    graceUntil: Timestamp.nullable().describe('Until then the key from before the last rotation works, too.'),
  })
  .meta({ id: 'ApiKey' })
export const ApiKeyWithSecret = ApiKey.extend({ key: z.string().describe('Shown only once.') }).meta({ id: 'ApiKeyWithSecret' })
type ApiKeyJson = z.output<typeof ApiKey>

const COLUMNS = columns('api_keys', 'k', [
  'id',
  'name',
  'kind',
  'scopes',
  'senderDomains',
  'networks',
  'expiresAt',
  'createdBy',
  'createdAt',
  'prefix',
])
type KeyRow = RowOf<typeof COLUMNS> & { lastUsedAt: Date | null; graceUntil: Date | null }

const SELECTED = sql`${COLUMNS},
  (select u.used_at from api_key_uses u where u.project_id = k.project_id and u.key_id = k.id) as "lastUsedAt", (
  select max(h.valid_until) from api_key_hashes h where h.project_id = k.project_id and h.key_id = k.id and h.valid_until > now()) as "graceUntil"`

const showKey = ({ kind, scopes, ...row }: KeyRow): ApiKeyJson => ({
  ...row,
  isPair: false,
  // Constrained by the table and by the schema of requests.
  kind: kind as ApiKeyJson['kind'],
  scopes: scopes as ApiKeyJson['scopes'],
})

const MAX_KEYS = 50
const PREFIX_LENGTH = 11

export const prefixOf = (key: string) => key.slice(0, PREFIX_LENGTH)

export const listApiKeys = async (db: Db, projectId: string) =>
  (await many<KeyRow>(db)`select ${SELECTED} from api_keys k where k.project_id = ${projectId} order by k.id desc limit ${MAX_KEYS}`).map(
    showKey,
  )

type KeyRef = { projectId: string; id: string }

export async function findApiKey(db: Db, { projectId, id }: KeyRef) {
  const row = await maybeOne<KeyRow>(db)`select ${SELECTED} from api_keys k where k.project_id = ${projectId} and k.id = ${id}`
  return row && showKey(row)
}

export async function createApiKey(tx: Tx, secrets: Secrets, projectId: string, given: NewKey & { createdBy: string }) {
  // Requests that create keys wait for each other, so that their number is exact.
  await sql`select 1 from projects where id = ${projectId} for update`.execute(tx)
  const count = await countRows(tx, sql`select 1 from api_keys where project_id = ${projectId} limit ${MAX_KEYS}`)
  if (count >= MAX_KEYS) fail('CONFLICT', { message: `A project has at most ${MAX_KEYS} API keys.` })
  const [id, key] = [newId(), newSecret(given.kind)]
  const { kind, name, scopes, senderDomains, networks, expiresAt, createdBy } = given
  await sql`
    insert into api_keys (project_id, id, kind, name, scopes, sender_domains, networks, expires_at, prefix, created_by)
    values (${projectId}, ${id}, ${kind}, ${name}, ${scopes}, ${senderDomains}, ${networks}, ${expiresAt}, ${prefixOf(key)}, ${createdBy})
  `.execute(tx)
  await insertHash(tx, secrets, { projectId, id }, key)
  return { ...(await findApiKey(tx, { projectId, id }))!, key }
}

const newSecret = (kind: 'secret' | 'public') => `${kind === 'secret' ? 'sk' : 'pk'}_${randomBytes(32).toString('hex')}`

const insertHash = (tx: Tx, secrets: Secrets, { projectId, id }: KeyRef, key: string) =>
  sql`
    insert into api_key_hashes (project_id, key_id, id, hash, sealed)
    values (${projectId}, ${id}, ${newId()}, ${secrets.hash('api-key', key)}, ${secrets.seal('api-key', key)})
  `.execute(tx)

/** The version moves: nodes that have cached the key look it up again. */
export async function changeApiKey(tx: Tx, { projectId, id }: KeyRef, changes: KeySettings) {
  const { name, scopes, senderDomains, networks, expiresAt } = changes
  const given = Object.entries({ name, scopes, sender_domains: senderDomains, networks, expires_at: expiresAt }).filter(
    ([, value]) => value !== undefined,
  )
  const values = [...given.map(([column, value]) => sql`${sql.ref(column)} = ${value}`), sql`version = version + 1`]
  await sql`update api_keys set ${sql.join(values)} where project_id = ${projectId} and id = ${id}`.execute(tx)
  return findApiKey(tx, { projectId, id })
}

/** A new secret for the same key. The one before works until the grace period ends; earlier ones stop at once. */
export async function rotateApiKey(tx: Tx, secrets: Secrets, { projectId, id }: KeyRef, graceHours: number) {
  const kind = await maybeScalar<'secret' | 'public'>(tx)`
    select kind from api_keys where project_id = ${projectId} and id = ${id} for update
  `
  if (!kind) return undefined
  const key = newSecret(kind)
  await sql`delete from api_key_hashes where project_id = ${projectId} and key_id = ${id} and (valid_until is not null or ${graceHours} = 0)`.execute(
    tx,
  )
  await sql`
    update api_key_hashes set valid_until = now() + make_interval(hours => ${graceHours}) where project_id = ${projectId} and key_id = ${id}
  `.execute(tx)
  await insertHash(tx, secrets, { projectId, id }, key)
  await sql`
    update api_keys set version = version + 1, prefix = ${prefixOf(key)} where project_id = ${projectId} and id = ${id}
  `.execute(tx)
  return { ...(await findApiKey(tx, { projectId, id }))!, key }
}

/** From this commit on no node accepts the key. */
export const deleteApiKey = async (tx: Tx, { projectId, id }: KeyRef) =>
  (await countAffected(tx)`delete from api_keys where project_id = ${projectId} and id = ${id}`) > 0

const WARN_DAYS = 14

/** For `doctor`: keys that are used and end soon. */
export const countExpiringKeys = (db: Db) =>
  scalar<number>(db)`
    select count(*)::int from api_keys k join projects p on p.id = k.project_id and p.deleted_at is null
    join api_key_uses u on u.project_id = k.project_id and u.key_id = k.id
    where k.expires_at between now() and now() + make_interval(days => ${WARN_DAYS}) and u.used_at > now() - interval '7 days'
  `

export const SEALED_KEY_HASHES: SealedColumn = {
  table: 'api_key_hashes',
  key: ['project_id', 'key_id', 'id'],
  purpose: 'api-key',
  column: 'sealed',
  hash: 'hash',
}

/** Deletes hashes whose grace period is over. */
export const dropOldKeyHashes = (tx: Tx) => sql`delete from api_key_hashes where valid_until < now() - interval '1 day'`.execute(tx)
