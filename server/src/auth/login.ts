import { maybeOne, type Pool } from '../db/index.ts'
import type { createQuotaCounter, Quota } from '../http/limits/quotas.ts'
import { fail } from '../lib/errors/errors.ts'
import type { User } from './accounts.ts'
import type { Passwords } from './passwords.ts'

/**
 * Attempts are limited per network, per network and account, and per account. The limit per account would let a stranger lock the owner
 * out, so it does not apply to networks from which the account is already signed in.
 */
export async function logIn(
  { db, attempts, passwords }: { db: Pool; attempts: ReturnType<typeof createQuotaCounter>; passwords: Passwords },
  { email, password, network }: { email: string; password: string; network: string },
): Promise<User & { hash: string }> {
  const user = await maybeOne<User & { hash: string }>(db)`select id, email, password_hash as hash from users where email = ${email}`
  const quotas: Quota[] = [
    { scope: 'login-ip', subject: network },
    { scope: 'login-pair', subject: `${network} ${email}` },
  ]
  if (!(user && (await isKnownNetwork(db, user.id, network)))) quotas.push({ scope: 'login-account', subject: email })

  for (const quota of quotas) await attempts.take(quota)
  const matches = await passwords.isPassword(user?.hash, password)
  if (!matches || !user) return fail('INVALID_CREDENTIALS')
  for (const quota of quotas) await attempts.refund(quota)
  return user
}

const isKnownNetwork = (db: Pool, userId: string, network: string) =>
  maybeOne(db)`select 1 from sessions where user_id = ${userId} and network = ${network} and expires_at > now() limit 1`
