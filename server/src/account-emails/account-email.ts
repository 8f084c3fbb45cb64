import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { type Db, many, maybeOne, type Tx } from '../db/index.ts'
import { newId } from '../lib/id.ts'
import type { Log } from '../lib/log.ts'
import type { Secrets } from '../lib/secrets.ts'

/** Everything a feature needs to write to an account holder. */
export type AccountEmailDeps = {
  secrets: Secrets
  log: Log
  publicUrl: string
  /** Whether this node knows a sender for account mails. If not, they are kept until a worker has one, or to be read with the CLI. */
  isDelivered: boolean
}
/** Of each of these only the newest link works, so a later mail replaces an earlier one. Two invitations may be to two projects of one name. */
export const REPLACING_SUBJECTS = { verification: 'Confirm your email address', reset: 'Choose a new password' }

type AccountEmail = { to: string; subject: string; lines: string[]; linkHours?: number }

/**
 * Writes the mail in the caller's transaction: it exists exactly when its cause does. Its text holds a one-time link, so
 * it is sealed; the log names the mail, never the link.
 */
export async function enqueueAccountEmail(
  tx: Tx,
  { secrets, log, isDelivered }: AccountEmailDeps,
  { to, subject, lines, linkHours = 1 }: AccountEmail,
) {
  const id = newId()
  const sealed = secrets.seal('account-mail', lines.join('\n'))
  await sql`
    insert into account_mails (id, recipient, subject, sealed_text, state, message_token, link_expires_at)
    values (${id}, ${to}, ${subject}, ${sealed}, ${isDelivered ? 'queued' : 'kept'}, ${randomBytes(16).toString('hex')},
      now() + make_interval(hours => ${linkHours}))
  `.execute(tx)
  log.info({ mail: id, subject }, `account mail ${isDelivered ? 'queued' : 'kept'}: read it with \`npm run sterna -- mail show ${id}\``)
}

export const listAccountEmails = (db: Db, limit: number) =>
  many(
    db,
    sql<{ id: string; to: string; subject: string; state: string; createdAt: Date }>`
      select id, recipient as "to", subject, state, created_at as "createdAt" from account_mails order by id desc limit ${limit}
    `,
  )

export async function readAccountEmail(db: Db, secrets: Secrets, id: string) {
  const mail = await maybeOne(
    db,
    sql<{
      to: string
      subject: string
      sealed: Buffer
    }>`select recipient as "to", subject, sealed_text as sealed from account_mails where id = ${id}`,
  )
  return mail && { to: mail.to, subject: mail.subject, text: secrets.open('account-mail', mail.sealed) }
}

/** Kept for a month: long enough to help someone by hand, and every link in them is dead by then. */
export const dropOldAccountEmails = (tx: Tx) => sql`delete from account_mails where created_at < now() - interval '30 days'`.execute(tx)
