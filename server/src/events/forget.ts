import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'

const countRows = ({ numAffectedRows = 0n }: { numAffectedRows?: bigint }) => Number(numAffectedRows)

/** Removes some of the events of contacts that are gone; returns how many. Call again until there are none. */
export const forgetContacts = async (
  tx: Tx,
  { projectId, contactIds, limit }: { projectId: string; contactIds: string[]; limit: number },
) =>
  countRows(
    await sql`
      delete from events where project_id = ${projectId} and id in (
        select id from events where project_id = ${projectId} and contact_id = any(${contactIds}::uuid[]) limit ${limit})
    `.execute(tx),
  )

/** For a project reset or deletion. */
export const wipeEvents = async (tx: Tx, { projectId, before, limit }: { projectId: string; before: string; limit: number }) =>
  countRows(
    await sql`
      delete from events where project_id = ${projectId} and id in (
        select id from events where project_id = ${projectId} and created_at <= ${before}::timestamptz limit ${limit})
    `.execute(tx),
  )
