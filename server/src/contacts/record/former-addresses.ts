import { sql } from 'kysely'
import { type Db, maybeOne, type Tx } from '../../db/index.ts'

/** Contacts that had an address which are looked up. */
const MAX_FORMER = 100

/** The contact that has an address, and those that had it. Undefined if no contact has it. */
export const findContactsOfAddress = (db: Db, projectId: string, address: string) =>
  maybeOne<{ holder: string; former: string[] }>(db)`
    select c.id as holder, array(
      select contact_id from former_addresses f where f.project_id = c.project_id and f.address = c.email and f.contact_id <> c.id
      limit ${MAX_FORMER}) as former
    from contacts c where c.project_id = ${projectId} and c.email = ${address}
  `

export const noteFormerAddress = (tx: Tx, { projectId, contactId, address }: { projectId: string; contactId: string; address: string }) =>
  sql`
    insert into former_addresses (project_id, address, contact_id) values (${projectId}, ${address}, ${contactId}) on conflict do nothing
  `.execute(tx)

/** With the contacts that had them. */
export const forgetFormerAddresses = (tx: Tx, projectId: string, contactIds: string[]) =>
  sql`delete from former_addresses where project_id = ${projectId} and contact_id = any(${contactIds}::uuid[])`.execute(tx)
