import { sql } from 'kysely'
import { many, type Tx } from '../../db/index.ts'
import { cancelWorkflowStream } from '../../delivery/outbox/streams/streams.ts'
import { lock, lockSharedSql } from '../../ledger/locks.ts'

/** Held while executions of a project are advanced. Advisory locks are granted in order: a reset waits for batches under way, not for later ones. */
export const shareAdvance = (tx: Tx, projectId: string) => sql`select ${lockSharedSql('advance', sql`${projectId}`)}`.execute(tx)

/**
 * Before the data of a project is wiped: no execution starts or goes on any more, and no email of one leaves. Executions are not cancelled
 * one by one, as there may be a million: they are deleted.
 */
export async function stopWorkflowsOf(tx: Tx, projectId: string) {
  await lock(tx, 'advance', projectId)
  // Waits for starts under way; consistent lock order.
  await many(tx)`select 1 from workflows where project_id = ${projectId} order by id for update`
  await sql`update workflows set enabled = false, next_firing_at = null where project_id = ${projectId}`.execute(tx)
  await cancelWorkflowStream(tx, projectId)
}
