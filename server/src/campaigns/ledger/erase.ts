import { sql } from 'kysely'
import { countAffected, many, type Pool, type Tx, transact } from '../../db/index.ts'
import { wipeRows } from '../../db/wipe-rows.ts'
import type { Wiper } from '../../projects/wipe.ts'
import type { CampaignKey } from '../draft/campaign.ts'

/** Rows deleted in one transaction. */
const CHUNK = 5_000
/** Campaigns looked at in one run. */
const MAX_ERASED = 20

/** Deletes the rows of deleted campaigns. One that was cancelled is settled first. The emails stay. */
export async function eraseDeletedCampaigns(db: Pool) {
  const deleted = await many<CampaignKey>(db)`
    select project_id as "projectId", id from campaigns
    where deleted_at is not null and (started_at is null or settled_at is not null) limit ${MAX_ERASED}
  `
  for (const key of deleted) while (await transact(db, (tx) => eraseSome(tx, key)));
}

/** The campaign itself last. Returns whether there may be more. */
async function eraseSome(tx: Tx, { projectId, id }: CampaignKey): Promise<boolean> {
  const excluded = await countAffected(tx)`
    delete from campaign_excluded where project_id = ${projectId} and campaign_id = ${id} and contact_id in (
      select contact_id from campaign_excluded where project_id = ${projectId} and campaign_id = ${id} limit ${CHUNK})
  `
  if (excluded === CHUNK) return true
  await sql`delete from campaign_audit where project_id = ${projectId} and campaign_id = ${id}`.execute(tx)
  await sql`delete from campaign_minutes where project_id = ${projectId} and campaign_id = ${id}`.execute(tx)
  await sql`delete from campaigns where project_id = ${projectId} and id = ${id} and deleted_at is not null`.execute(tx)
  return false
}

/** Rows that were written after the wipe was requested go with their campaign. */
const isOrphan = sql`not exists (select from campaigns c where c.project_id = t.project_id and c.id = t.campaign_id)`

/** For a project reset or deletion, in this order. */
export const CAMPAIGN_WIPERS: Wiper[] = [
  (tx, scope) => wipeRows(tx, 'campaigns', scope),
  (tx, scope) => wipeRows(tx, 'campaign_excluded', scope, { key: ['campaign_id', 'contact_id'], which: isOrphan }),
  (tx, scope) => wipeRows(tx, 'campaign_audit', scope, { key: ['campaign_id', 'id'], which: isOrphan }),
  (tx, scope) => wipeRows(tx, 'campaign_minutes', scope, { key: ['campaign_id', 'minute'], which: isOrphan }),
]
