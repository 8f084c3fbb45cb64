import { sql } from 'kysely'
import { many, type Pool, type Tx, transact } from '../../db/index.ts'
import type { Log } from '../../lib/process/log.ts'
import { type CampaignKey, findCampaign } from '../draft/campaign.ts'
import { readClickedLinks } from '../draft/links.ts'
import { recountCampaign } from './counters.ts'
import { countRefused } from './stats.ts'

/** Campaigns closed in one run. */
const MAX_CLOSED = 500
/** As long as a recount may take. */
const READ_MS = 14_000

/**
 * Closes the counters of campaigns that started before a time and have ended, so that their emails may be removed. A campaign that fails keeps
 * its emails, and is tried again by the next run.
 */
export async function closeOldCampaigns(db: Pool, log: Log, before: Date) {
  const old = await many<CampaignKey>(db)`
    select project_id as "projectId", id from campaigns
    where counters_closed_at is null and settled_at is not null and status in ('SENT', 'CANCELLED') and started_at < ${before}
      and deleted_at is null
    order by started_at limit ${MAX_CLOSED}
  `
  for (const key of old)
    await transact(db, (tx) => closeCampaign(tx, key)).catch((err) =>
      log.warn({ err, projectId: key.projectId, campaignId: key.id }, 'counters of a campaign are not closed; retrying'),
    )
}

/** Reads first, then locks: counters of other campaigns are added up in the same transactions as those of this one. */
async function closeCampaign(tx: Tx, key: CampaignKey) {
  const campaign = await findCampaign(tx, key)
  if (!campaign) return
  await sql`set local statement_timeout = ${sql.lit(READ_MS)}`.execute(tx)
  const links = await readClickedLinks(tx, campaign)
  const refused = await countRefused(tx, campaign)
  await recountCampaign(tx, key)
  await sql`
    update campaigns set counters_closed_at = clock_timestamp(), closed_refused_count = ${refused}, closed_links = ${JSON.stringify(links)}::jsonb
    where project_id = ${key.projectId} and id = ${key.id} and counters_closed_at is null and settled_at is not null
      and status in ('SENT', 'CANCELLED')
  `.execute(tx)
}
