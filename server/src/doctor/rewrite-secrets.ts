import { SEALED_ACCOUNT_EMAIL } from '../account-emails/account-email.ts'
import { type Pool, transact } from '../db/index.ts'
import { countOfFormerKeys, type KeyedColumn, rewriteSealed, type SealedColumn } from '../db/sealed-columns.ts'
import { SEALED_DKIM_KEY } from '../domains/sender-domains/add.ts'
import type { Secrets } from '../lib/secrets.ts'
import { forgetFormerSecrets } from '../nodes/instance.ts'
import { SEALED_KEY_HASHES } from '../projects/api-keys/api-key.ts'
import { SEALED_API_KEYS } from '../projects/api-keys/keys.ts'
import { SEALED_ENDPOINT_SECRETS } from '../webhook-endpoints/endpoint.ts'
import { SEALED_WEBHOOK_SECRETS } from '../workflows/webhooks/webhook-secret.ts'

/** Every column of sealed values. */
const SEALED: Record<string, SealedColumn[]> = {
  'API keys': [...SEALED_API_KEYS, SEALED_KEY_HASHES],
  'DKIM keys': [SEALED_DKIM_KEY],
  'webhook secrets': [...SEALED_WEBHOOK_SECRETS, ...SEALED_ENDPOINT_SECRETS],
  'account emails': [SEALED_ACCOUNT_EMAIL],
}

/** Hashes of tokens that only their holders know: they cannot be rewritten, and expire. */
const HASHED: Record<string, KeyedColumn> = {
  'sessions (end within 30 days)': { table: 'sessions', column: 'token_hash' },
  'links of account emails (end within an hour)': { table: 'user_tokens', column: 'token_hash' },
  'invitations (end within 7 days)': { table: 'invitations', column: 'token_hash' },
}

/** `left`: values that cannot be read without a former key. `expires`: they cannot be rewritten. */
export type SecretReport = { what: string; left: number; rewritten: number; expires: boolean }[]

/** Seals every stored value with the current key. Former keys are then needed only for what was handed out with them. */
export async function rewriteSecrets(db: Pool, secrets: Secrets): Promise<SecretReport> {
  const rewritten = new Map<string, number>()
  for (const [what, columns] of Object.entries(SEALED))
    for (const column of columns) rewritten.set(what, (rewritten.get(what) ?? 0) + (await rewriteSealed(db, secrets, column)))
  const report = (await reportSecrets(db, secrets)).map((line) => ({ ...line, rewritten: rewritten.get(line.what) ?? 0 }))
  if (!countSealedLeft(report)) await transact(db, (tx) => forgetFormerSecrets(tx, secrets))
  return report
}

export async function reportSecrets(db: Pool, secrets: Secrets): Promise<SecretReport> {
  const report: SecretReport = []
  const add = async (what: string, columns: KeyedColumn[], expires: boolean) => {
    let left = 0
    for (const column of columns) left += await countOfFormerKeys(db, secrets, column)
    report.push({ what, left, rewritten: 0, expires })
  }
  for (const [what, columns] of Object.entries(SEALED)) await add(what, columns, false)
  for (const [what, column] of Object.entries(HASHED)) await add(what, [column], true)
  return report
}

/** Values that would be lost with the former keys. */
export const countSealedLeft = (report: SecretReport) => report.reduce((sum, { left, expires }) => sum + (expires ? 0 : left), 0)
