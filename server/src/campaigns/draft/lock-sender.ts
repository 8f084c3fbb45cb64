import { sql } from 'kysely'
import type { Tx } from '../../db/index.ts'
import { assertSender } from './body.ts'

type Sender = { from: string; templateId: string | null }

/**
 * Locks the domain and the template of a campaign against deletion, in the transaction that makes or keeps the campaign active. A deletion
 * under way ends first.
 */
export async function lockSender(tx: Tx, projectId: string, { from, templateId }: Sender) {
  const domain = from.slice(from.lastIndexOf('@') + 1)
  if (templateId) await sql`select from templates where project_id = ${projectId} and id = ${templateId} for key share`.execute(tx)
  await sql`select from domains where project_id = ${projectId} and domain = ${domain} for key share`.execute(tx)
}

/** The same, and fails unless the domain is verified. */
export async function lockVerifiedSender(tx: Tx, projectId: string, sender: Sender) {
  await lockSender(tx, projectId, sender)
  await assertSender(tx, projectId, sender.from)
}
