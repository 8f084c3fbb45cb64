import { sql } from 'kysely'

/** Emails outlive contacts; a deleted contact reads as null. */
export const CONTACT = sql`(select p.id from contacts p where p.project_id = e.project_id and p.id = e.contact_id)`
