import { sql } from 'kysely'
import { many, type Tx } from '../db/index.ts'
import { type WipeScope, wipeSql } from '../db/wipe-rows.ts'
import { lockContactCounts } from './counts.ts'
import { forgetFormerAddresses } from './former-addresses.ts'

/** For a project reset or deletion: contacts with their consents and former addresses. */
export async function wipeContacts(tx: Tx, scope: WipeScope) {
  const { projectId } = scope
  const rows = await many(tx, sql<{ id: string; subscribed: boolean }>`${wipeSql('contacts', scope)} returning id, subscribed`)
  const ids = rows.map(({ id }) => id)
  await sql`delete from consents where project_id = ${projectId} and contact_id = any(${ids}::uuid[])`.execute(tx)
  await forgetFormerAddresses(tx, projectId, ids)
  await sql`
    insert into contact_counts (project_id, total, subscribed)
    select ${projectId}, ${-rows.length}, ${-rows.filter(({ subscribed }) => subscribed).length} where ${rows.length} > 0
  `.execute(tx)
  return rows.length
}

/** Deletes fields and counts once no contact is left; until then they are still correct. */
export async function wipeContactFacts(tx: Tx, { projectId }: WipeScope) {
  await lockContactCounts(tx)
  const noContacts = sql`not exists (select from contacts where project_id = ${projectId})`
  await sql`delete from contact_fields where project_id = ${projectId} and ${noContacts}`.execute(tx)
  await sql`delete from deleted_contact_fields where project_id = ${projectId} and ${noContacts}`.execute(tx)
  await sql`delete from contact_counts where project_id = ${projectId} and ${noContacts}`.execute(tx)
  return 0
}
