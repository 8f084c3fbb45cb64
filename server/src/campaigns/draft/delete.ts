import { sql } from 'kysely'
import type { Tx } from '../../db/index.ts'
import { type CampaignKey, failByStatus } from './campaign.ts'
import { lockCampaign } from './replace.ts'

/** Hides the campaign; a worker deletes its rows. The emails stay. False when there is no such campaign. */
export async function deleteCampaign(tx: Tx, { projectId, id }: CampaignKey): Promise<boolean> {
  const stored = await lockCampaign(tx, { projectId, id })
  if (!stored) return false
  if (stored.status === 'SCHEDULED' || stored.status === 'SENDING') failByStatus(stored.status, 'deleted')
  await sql`update campaigns set deleted_at = clock_timestamp() where project_id = ${projectId} and id = ${id}`.execute(tx)
  return true
}
