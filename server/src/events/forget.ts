import { sql } from 'kysely'
import { type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'

const countRows = ({ numAffectedRows = 0n }: { numAffectedRows?: bigint }) => Number(numAffectedRows)

const CHUNK = 5_000

/** Removes the events of contacts that are gone, a chunk at a time; what is left after each is a job of its own. */
export const continueForgetting = (db: Pool, { projectId, contactIds }: { projectId: string; contactIds: string[] }) =>
  transact(db, async (tx) => {
    const removed = countRows(
      await sql`
        delete from events where project_id = ${projectId} and id in (
          select id from events where project_id = ${projectId} and contact_id = any(${contactIds}::uuid[]) limit ${CHUNK})
      `.execute(tx),
    )
    if (removed === CHUNK) await enqueue(tx, 'events.forget-contacts', { projectId, contactIds })
  })

/** For a project reset or deletion. */
export const wipeEvents = async (tx: Tx, { projectId, before, limit }: { projectId: string; before: string; limit: number }) =>
  countRows(
    await sql`
      delete from events where project_id = ${projectId} and id in (
        select id from events where project_id = ${projectId} and created_at <= ${before}::timestamptz limit ${limit})
    `.execute(tx),
  )
