import { sql } from 'kysely'
import type { Tx } from '../../db/index.ts'
import { type CampaignKey, failByStatus } from './campaign.ts'
import { lockCampaign } from './replace.ts'

/** Hides the campaign; a worker deletes its rows. The emails stay. */
export async function deleteCampaign(tx: Tx, { projectId, id }: CampaignKey) {
  const { status } = await lockCampaign(tx, { projectId, id })
  if (status === 'SCHEDULED' || status === 'SENDING') failByStatus(status, 'deleted')
  await sql`update campaigns set deleted_at = clock_timestamp() where project_id = ${projectId} and id = ${id}`.execute(tx)
}
