import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { type Db, many } from '../../db/index.ts'
import type { Schema } from '../../db/schema.ts'
import type { SealedColumn } from '../../db/sealed-columns.ts'
import { Timestamp } from '../../http/core/validate.ts'
import type { Secrets } from '../../lib/secrets.ts'

export type Keys = { public: string; secret: string }
type SealedKeys = Pick<Schema['projects'], 'public_key_sealed' | 'secret_key_sealed'>
export type StoredKeys = SealedKeys & Pick<Schema['projects'], 'public_key_hash' | 'secret_key_hash'>

export const newKeys = (): Keys => ({ public: `pk_${randomBytes(32).toString('hex')}`, secret: `sk_${randomBytes(32).toString('hex')}` })

/** A hash to find the project by, and an encrypted copy for the dashboard to show. */
export const storeKeys = (secrets: Secrets, keys: Keys): StoredKeys => ({
  public_key_hash: secrets.hash('api-key', keys.public),
  secret_key_hash: secrets.hash('api-key', keys.secret),
  public_key_sealed: secrets.seal('api-key', keys.public),
  secret_key_sealed: secrets.seal('api-key', keys.secret),
})

export const openKeys = (secrets: Secrets, { public_key_sealed, secret_key_sealed }: SealedKeys): Keys => ({
  public: secrets.open('api-key', public_key_sealed),
  secret: secrets.open('api-key', secret_key_sealed),
})

export const SEALED_API_KEYS: SealedColumn[] = [
  { table: 'projects', key: ['id'], purpose: 'api-key', column: 'public_key_sealed', hash: 'public_key_hash' },
  { table: 'projects', key: ['id'], purpose: 'api-key', column: 'secret_key_sealed', hash: 'secret_key_hash' },
]

const LastUsed = z.object({ lastUsedAt: Timestamp.nullable().describe('To the minute. Null: not since it was generated.') })
export const KeyUsage = z.object({ public: LastUsed, secret: LastUsed })

/** Uses of earlier keys do not count. */
export async function readKeyUsage(db: Db, { id, keyVersion }: { id: string; keyVersion: number }): Promise<z.output<typeof KeyUsage>> {
  const rows = await many<{ kind: string; usedAt: Date }>(db)`
    select kind, used_at as "usedAt" from key_usage where project_id = ${id} and key_version = ${keyVersion}
  `
  const lastUse = (kind: string) => ({ lastUsedAt: rows.find((row) => row.kind === kind)?.usedAt.toISOString() ?? null })
  return { public: lastUse('pk'), secret: lastUse('sk') }
}
