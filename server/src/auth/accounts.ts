import { sql } from 'kysely'
import { type AccountEmailDeps, enqueueAccountEmail, REPLACING_SUBJECTS } from '../account-emails/account-email.ts'
import { isDuplicate } from '../db/errors/sql-state.ts'
import { countAffected, maybeOne, type Tx } from '../db/index.ts'
import { fail } from '../lib/errors/errors.ts'
import { newId } from '../lib/id.ts'
import { hasAccounts } from '../nodes/instance.ts'
import { acceptAllInvitations, acceptInvitation } from '../projects/members.ts'
import { closeAllSessions } from './sessions.ts'
import { issueToken, redeemToken, type TokenPurpose } from './tokens.ts'

export type User = { id: string; email: string }

export async function createUser(
  tx: Tx,
  { email, passwordHash, verified = false }: { email: string; passwordHash: string; verified?: boolean },
): Promise<User> {
  const id = newId()
  // The first account of an installation belongs to its operator.
  const isOperator = await isFirst(tx)
  await sql`
    insert into users (id, email, password_hash, email_verified_at, operator)
    values (${id}, ${email}, ${passwordHash}, case when ${verified}::boolean then now() end, ${isOperator})
  `
    .execute(tx)
    .catch((err) =>
      isDuplicate(err) ? fail('CONFLICT', { message: 'An account with this address already exists.' }) : Promise.reject(err),
    )
  return { id, email }
}

/** Whether the account that this transaction creates is the first: of several that are created at the same time one is. */
async function isFirst(tx: Tx) {
  if (await hasAccounts(tx)) return false
  await sql`select from instance for update`.execute(tx)
  return !(await hasAccounts(tx))
}

/** False if no account has this address. */
export const setOperator = async (tx: Tx, email: string, isOperator: boolean) =>
  (await countAffected(tx)`update users set operator = ${isOperator}, updated_at = now() where email = ${email}`) > 0

/** Creates the account with its membership or its verification email, all in one transaction. */
export async function signUp(
  tx: Tx,
  port: AccountEmailDeps,
  { email, passwordHash, invitation }: { email: string; passwordHash: string; invitation?: string | undefined },
) {
  const user = await createUser(tx, { email, passwordHash })
  const joined = invitation === undefined ? undefined : await joinByInvitation(tx, port, { token: invitation, user })
  if (!joined?.isMailed) await sendVerification(tx, port, user)
  return user
}

/** The link in the email also verifies the address, because it was sent only there. A link that an admin copied does not. */
export async function joinByInvitation(tx: Tx, port: AccountEmailDeps, { token, user }: { token: string; user: User }) {
  const joined = (await acceptInvitation(tx, port, { token, userId: user.id, email: user.email })) ?? fail('INVALID_TOKEN')
  if (joined.isMailed) await markVerified(tx, user)
  return joined
}

type Link = { purpose: TokenPurpose; subject: string; reason: string; otherwise: string }

/** The purpose is also the path of the page. */
async function sendLink(tx: Tx, port: AccountEmailDeps, { id, email }: User, { purpose, subject, reason, otherwise }: Link) {
  const token = await issueToken(tx, port.secrets, { userId: id, purpose })
  const link = `${port.publicUrl}/${purpose}?token=${token}`
  const lines = [reason, '', link, '', `The link works once, for one hour. If it was not you, ${otherwise}`]
  await enqueueAccountEmail(tx, port, { to: email, subject, lines })
}

export const sendVerification = (tx: Tx, port: AccountEmailDeps, user: User) =>
  sendLink(tx, port, user, {
    purpose: 'verify-email',
    subject: REPLACING_SUBJECTS.verification,
    reason: 'An account on Sterna was created with this address. If you created it, confirm that the address is yours:',
    // An attacker who signs up with another person's address needs exactly this click.
    otherwise: 'do not open it: nothing will happen.',
  })

/** Sends nothing if no account has this address. The email goes to the stored spelling, never to the one in the request. */
export async function sendReset(tx: Tx, port: AccountEmailDeps, given: string) {
  const user = await maybeOne<User>(tx)`select id, email from users where email = ${given}`
  if (!user) return
  await sendLink(tx, port, user, {
    purpose: 'reset-password',
    subject: REPLACING_SUBJECTS.reset,
    reason: 'Someone, hopefully you, asked for a new password:',
    otherwise: 'ignore this email: nothing has changed.',
  })
}

export async function verifyEmail(tx: Tx, port: AccountEmailDeps, token: string) {
  await markVerified(tx, await redeemToken(tx, port.secrets, { token, purpose: 'verify-email' }))
}

export async function resetPassword(tx: Tx, port: AccountEmailDeps, { token, passwordHash }: { token: string; passwordHash: string }) {
  const user = await redeemToken(tx, port.secrets, { token, purpose: 'reset-password' })
  await setPassword(tx, user.id, passwordHash)
  await markVerified(tx, user)
}

/**
 * Locks the user, and fails if the password changed since it was checked: a check takes tens of milliseconds, and a reset may come in
 * between. A session opened in this transaction is therefore either ended by the reset or never opened.
 */
export async function lockPassword(tx: Tx, userId: string, passwordHash: string) {
  const unchanged = await maybeOne(tx)`select 1 from users where id = ${userId} and password_hash = ${passwordHash} for no key update`
  if (!unchanged) fail('INVALID_CREDENTIALS')
}

export async function setPassword(tx: Tx, userId: string, passwordHash: string) {
  await sql`update users set password_hash = ${passwordHash}, updated_at = now() where id = ${userId}`.execute(tx)
  await sql`delete from user_tokens where user_id = ${userId} and purpose = 'reset-password'`.execute(tx)
  await closeAllSessions(tx, userId)
}

/** Also accepts the pending invitations of the address. */
export async function markVerified(tx: Tx, { id, email }: User) {
  await sql`update users set email_verified_at = now(), updated_at = now() where id = ${id} and email_verified_at is null`.execute(tx)
  await acceptAllInvitations(tx, { userId: id, email })
}
