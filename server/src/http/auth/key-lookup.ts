import { sql } from 'kysely'
import { maybeOne, type Pool } from '../../db/index.ts'
import { prepared } from '../../db/prepared.ts'
import { ownerSql } from '../../ledger/owner-sql.ts'
import type { Scope } from './scopes.ts'

/** `owner`: the user who owns it. Pools are shared between owners. */
export type CallingProject = {
  id: string
  owner: string
  disabled: boolean
  /** The API key of the request; null for the pair of the project, and for a session. */
  keyId: string | null
  /** The version of the key, or of the pair. */
  keyVersion: number
  /** When the key ends, by its expiry or by the grace period after a rotation. */
  keyUntil: Date | null
  /** Null: everything. */
  scopes: Scope[] | null
  senderDomains: string[] | null
  networks: string[] | null
}

const PROJECT = sql`p.id, ${ownerSql(sql`p.id`)} as owner, p.disabled`

/** Columns for the pair, and for sessions. */
export const WITHOUT_LIMITS = sql`${PROJECT}, null::uuid as "keyId", p.key_version as "keyVersion", null::timestamptz as "keyUntil",
  null::text[] as scopes, null::text[] as "senderDomains", null::text[] as networks`

const byApiKey = (kind: 'public' | 'secret', hashes: Buffer[]) => sql`
  select ${PROJECT}, k.id as "keyId", k.version as "keyVersion", least(k.expires_at, h.valid_until) as "keyUntil",
    k.scopes, k.sender_domains as "senderDomains", k.networks
  from api_key_hashes h
  join api_keys k on k.project_id = h.project_id and k.id = h.key_id
  join projects p on p.id = h.project_id
  where h.hash = any(${hashes}) and k.kind = ${sql.lit(kind)} and p.deleted_at is null
    and coalesce(least(k.expires_at, h.valid_until), 'infinity') > now()`

const HASH_OF_PAIR = { public: sql.ref('p.public_key_hash'), secret: sql.ref('p.secret_key_hash') }

/** One statement for the key of the pair and the others: this runs on most requests. */
export function findByKey(db: Pool, prefix: 'pk' | 'sk', hashes: Buffer[]) {
  const kind = prefix === 'pk' ? 'public' : 'secret'
  return maybeOne(
    db,
    prepared<CallingProject>`
    select ${WITHOUT_LIMITS} from projects p where ${HASH_OF_PAIR[kind]} = any(${hashes}) and p.deleted_at is null
    union all ${byApiKey(kind, hashes)}
  `,
  )
}
