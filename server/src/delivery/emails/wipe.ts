import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../db/index.ts'

type WipeScope = { projectId: string; before: string; limit: number }

/** For a project reset or deletion: mails with all that they are made of. What is queued is not sent any more. */
export async function wipeEmails(tx: Tx, { projectId, before, limit }: WipeScope) {
  const { numAffectedRows = 0n } = await sql`
    delete from emails where project_id = ${projectId} and id in (
      select id from emails where project_id = ${projectId} and created_at <= ${before}::timestamptz limit ${limit})
  `.execute(tx)
  return Number(numAffectedRows)
}

/** After the mails: what none of them is made of any more. */
export async function wipeContents(tx: Tx, { projectId, before, limit }: WipeScope) {
  const { rows } = await sql<{ id: string }>`
    delete from contents c where c.project_id = ${projectId} and c.id in (
      select id from contents o where o.project_id = ${projectId} and o.created_at <= ${before}::timestamptz
        and not exists (select from emails e where e.project_id = o.project_id and e.content_id = o.id)
      limit ${limit})
    returning c.id
  `.execute(tx)
  const ids = rows.map(({ id }) => id)
  await sql`delete from attachments where project_id = ${projectId} and content_id = any(${ids}::uuid[])`.execute(tx)
  return ids.length
}

/** What was written about an email after the request, while it was leaving, goes with it. */
const isGone = (projectId: RawBuilder<unknown>, emailId: RawBuilder<unknown>) =>
  sql`not exists (select from emails e where e.project_id = ${projectId} and e.id = ${emailId})`

export async function wipePauses(tx: Tx, { projectId, limit }: WipeScope) {
  const { numAffectedRows = 0n } = await sql`
    delete from sending_pauses where project_id = ${projectId} and domain in (
      select domain from sending_pauses where project_id = ${projectId} limit ${limit})
  `.execute(tx)
  return Number(numAffectedRows)
}

export async function wipeSandbox(tx: Tx, { projectId, before, limit }: WipeScope) {
  const { numAffectedRows = 0n } = await sql`
    delete from sandbox_messages where project_id = ${projectId} and id in (
      select m.id from sandbox_messages m where m.project_id = ${projectId} and (m.created_at <= ${before}::timestamptz
        or ${isGone(sql`m.project_id`, sql`m.email_id`)}) limit ${limit})
  `.execute(tx)
  return Number(numAffectedRows)
}

/** What the provider told of its mails. What came before it was known whose it is goes by its age. */
export async function wipeNotifications(tx: Tx, { projectId, before, limit }: WipeScope) {
  const { numAffectedRows = 0n } = await sql`
    delete from provider_notifications where id in (
      select n.id from provider_notifications n where n.project_id = ${projectId} and (n.received_at <= ${before}::timestamptz
        or n.email_id is not null and ${isGone(sql`n.project_id`, sql`n.email_id`)}) limit ${limit})
  `.execute(tx)
  return Number(numAffectedRows)
}

/** Whom nobody may write to stays so after a reset; of a deleted project nothing is left. */
export async function wipeSuppressions(tx: Tx, { projectId, limit }: WipeScope) {
  const { numAffectedRows = 0n } = await sql`
    delete from suppressions where project_id = ${projectId} and address in (
      select s.address from suppressions s join projects p on p.id = s.project_id
      where s.project_id = ${projectId} and p.deleted_at is not null limit ${limit})
  `.execute(tx)
  return Number(numAffectedRows)
}

export async function wipeSoftBounces(tx: Tx, { projectId, before, limit }: WipeScope) {
  const { numAffectedRows = 0n } = await sql`
    delete from soft_bounces where project_id = ${projectId} and (address, email_id) in (
      select b.address, b.email_id from soft_bounces b where b.project_id = ${projectId} and (b.created_at <= ${before}::timestamptz
        or ${isGone(sql`b.project_id`, sql`b.email_id`)}) limit ${limit})
  `.execute(tx)
  return Number(numAffectedRows)
}
