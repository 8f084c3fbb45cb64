import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { type Db, many, maybeOne, type Tx } from '../db/index.ts'
import type { SealedColumn } from '../db/sealed-columns.ts'
import { type Config, sendsAccountEmails } from '../lib/config.ts'
import { newId } from '../lib/id.ts'
import { STERNA } from '../lib/process/command.ts'
import type { Log } from '../lib/process/log.ts'
import type { Secrets } from '../lib/secrets.ts'

/** Dependencies of a feature that sends emails to users of the installation. */
export type AccountEmailDeps = {
  secrets: Secrets
  log: Log
  publicUrl: string
  /** Whether this node can send account emails. Otherwise they are kept until a worker can, or an operator reads them with the CLI. */
  isDelivered: boolean
}

type Node = { secrets: Secrets; log: Log; config: Config }

export const accountEmailDeps = ({ secrets, log, config }: Node): AccountEmailDeps => ({
  secrets,
  log,
  publicUrl: config.publicUrl,
  isDelivered: sendsAccountEmails(config),
})

/** Only the newest link of these works, so a later email replaces an earlier one. Invitations are not among them: they may be to two projects. */
export const REPLACING_SUBJECTS = { verification: 'Confirm your email address', reset: 'Choose a new password' }

type AccountEmail = { to: string; subject: string; lines: string[]; linkHours?: number }

/** Enqueues in the caller's transaction. The text has a one-time link, so it is stored encrypted and never logged. */
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
  log.info({ accountEmailId: id, subject }, `account email ${isDelivered ? 'queued' : 'kept'}: read it with \`${STERNA} mail show ${id}\``)
}

export const SEALED_ACCOUNT_EMAIL: SealedColumn = { table: 'account_mails', key: ['id'], purpose: 'account-mail', column: 'sealed_text' }

export const listAccountEmails = (db: Db, limit: number) =>
  many<{ id: string; to: string; subject: string; state: string; createdAt: Date }>(db)`
    select id, recipient as "to", subject, state, created_at as "createdAt" from account_mails order by id desc limit ${limit}
  `

export async function readAccountEmail(db: Db, secrets: Secrets, id: string) {
  const row = await maybeOne<{ to: string; subject: string; sealed: Buffer }>(db)`
    select recipient as "to", subject, sealed_text as sealed from account_mails where id = ${id}
  `
  return row && { to: row.to, subject: row.subject, text: secrets.open('account-mail', row.sealed) }
}

/** Kept for a month: long enough for support, and all their links have expired by then. */
export const dropOldAccountEmails = (tx: Tx) => sql`delete from account_mails where created_at < now() - interval '30 days'`.execute(tx)
