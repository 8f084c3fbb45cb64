import { sql } from 'kysely'
import { maybeOne, type Tx } from '../db/index.ts'
import { fail } from '../lib/errors/errors.ts'
import { randomToken, type Secrets } from '../lib/secrets.ts'

export type TokenPurpose = 'verify-email' | 'reset-password'

/** Issues the secret of a link, valid for one hour, one use and one purpose. Revokes the previous one of that purpose. */
export async function issueToken(tx: Tx, secrets: Secrets, { userId, purpose }: { userId: string; purpose: TokenPurpose }) {
  const token = randomToken()
  await sql`
    insert into user_tokens (token_hash, user_id, purpose, expires_at)
    values (${secrets.hash(purpose, token)}, ${userId}, ${purpose}, now() + interval '1 hour')
    on conflict (user_id, purpose) do update set token_hash = excluded.token_hash, created_at = now(), expires_at = excluded.expires_at
  `.execute(tx)
  return token
}

/** Deletes the token to check it: of two concurrent requests with the same token only one succeeds. */
export async function redeemToken(tx: Tx, secrets: Secrets, { token, purpose }: { token: string; purpose: TokenPurpose }) {
  const redeemed = await maybeOne<{ id: string; email: string }>(tx)`
    delete from user_tokens t using users u
    where t.token_hash = any(${secrets.hashes(purpose, token)}) and t.purpose = ${purpose} and t.expires_at > now() and u.id = t.user_id
    returning u.id, u.email
  `
  return redeemed ?? fail('INVALID_TOKEN')
}

export const dropExpiredTokens = (tx: Tx) => sql`delete from user_tokens where expires_at < now()`.execute(tx)
