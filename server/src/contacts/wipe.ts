import { sql } from 'kysely'
import { many, type Tx } from '../db/index.ts'
import { type WipeScope, wipeSql } from '../db/wipe-rows.ts'
import { countRemoved, type RemovedContact } from './record/counts.ts'
import { forgetFormerAddresses } from './record/former-addresses.ts'

/** For a project reset or deletion: contacts with their consents and former addresses. */
export async function wipeContacts(tx: Tx, scope: WipeScope) {
  const { projectId } = scope
  const contacts = await many<RemovedContact>(tx)`
    ${wipeSql('contacts', scope)} returning id, subscribed, created_at as "createdAt", created_by as "createdBy"
  `
  if (!contacts.length) return 0
  await countRemoved(tx, { projectId, contacts, isReset: true })
  const ids = contacts.map(({ id }) => id)
  await sql`delete from consents where project_id = ${projectId} and contact_id = any(${ids}::uuid[])`.execute(tx)
  await forgetFormerAddresses(tx, projectId, ids)
  return contacts.length
}

/** Deletes fields once no contact is left; until then they are still correct. */
export async function wipeContactFields(tx: Tx, { projectId }: WipeScope) {
  const noContacts = sql`not exists (select from contacts where project_id = ${projectId})`
  await sql`delete from contact_fields where project_id = ${projectId} and ${noContacts}`.execute(tx)
  await sql`delete from deleted_contact_fields where project_id = ${projectId} and ${noContacts}`.execute(tx)
  return 0
}
