import { sql } from 'kysely'
import type { Tx } from '../db/index.ts'

/** After the mails: what is remembered of those that are gone. */
export async function wipeHits(tx: Tx, { projectId, limit }: { projectId: string; limit: number }) {
  const { numAffectedRows = 0n } = await sql`
    delete from email_hits where project_id = ${projectId} and email_id in (
      select h.email_id from email_hits h
      where h.project_id = ${projectId} and not exists (select from emails e where e.project_id = h.project_id and e.id = h.email_id)
      limit ${limit})
  `.execute(tx)
  return Number(numAffectedRows)
}
