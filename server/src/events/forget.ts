import { sql } from 'kysely'
import { type Pool, type Tx, transact } from '../db/index.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { oneAtATime } from './counts.ts'
import { removeEvents } from './remove.ts'

const CHUNK = 5_000

/** Removes the events of contacts that are gone, a chunk at a time; what is left after each is a job of its own. */
export const continueForgetting = (db: Pool, { projectId, contactIds }: { projectId: string; contactIds: string[] }) =>
  transact(db, async (tx) => {
    const removed = await removeEvents(tx, { projectId, which: sql`contact_id = any(${contactIds}::uuid[])`, limit: CHUNK })
    if (removed) await enqueue(tx, 'events.forget-contacts', { projectId, contactIds })
  })

type What = { projectId: string; before: string; limit: number }

/** For a project reset or deletion. */
export const wipeEvents = (tx: Tx, { projectId, before, limit }: What) =>
  removeEvents(tx, { projectId, which: sql`created_at <= ${before}::timestamptz`, limit })

export async function wipeReactions(tx: Tx, { projectId, before, limit }: What) {
  const { numAffectedRows = 0n } = await sql`
    delete from reactions where project_id = ${projectId} and id in (
      select id from reactions where project_id = ${projectId} and created_at <= ${before}::timestamptz limit ${limit})
  `.execute(tx)
  return Number(numAffectedRows)
}

/** Counts of a project without events; with events left, they are still true. Both halves at one moment, or one would be wrong. */
export async function wipeEventCounts(tx: Tx, { projectId }: What) {
  await oneAtATime(tx)
  const none = sql`not exists (select from events where project_id = ${projectId})`
  await sql`
    with deltas as (delete from event_count_deltas where project_id = ${projectId} and ${none})
    delete from event_counts where project_id = ${projectId} and ${none}
  `.execute(tx)
  return 0
}

/** Of a deleted project; after a reset, whoever listens is still there or has taken its leave. */
export async function wipeListeners(tx: Tx, { projectId, before }: What) {
  await sql`delete from listeners where project_id = ${projectId} and ${before}::timestamptz = 'infinity'`.execute(tx)
  return 0
}
