import { scalars, type Tx } from '../../db/index.ts'
import { recordAction, SYSTEM } from '../draft/audit.ts'

/**
 * For a project that is imported: campaigns that were being sent are cancelled here, and settled in this transaction. Their recipients are the
 * emails that came with them; the others get theirs from the source.
 */
export async function recordStoppedByMove(tx: Tx, projectId: string) {
  const stopped = await scalars<string>(tx)`
    update campaigns c set frozen_at = coalesce(c.frozen_at, now()), total_recipients = (
      select count(*) from emails e where e.project_id = c.project_id and e.campaign_id = c.id and not e.test)
    where c.project_id = ${projectId} and c.status = 'CANCELLED' and c.settled_at = now() and c.started_at is not null
    returning c.id
  `
  const details = { reason: 'moved' }
  for (const id of stopped) await recordAction(tx, { projectId, id }, { action: 'cancelled', actor: SYSTEM, details })
}
