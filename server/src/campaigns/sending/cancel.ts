import { sql } from 'kysely'
import { many, type Tx } from '../../db/index.ts'
import { cancelStream, cancelStreamsOf } from '../../delivery/outbox/streams/streams.ts'
import { nextRevision } from '../../http/core/if-match.ts'
import { type Actor, recordAction } from '../draft/audit.ts'
import { type CampaignKey, type CampaignRow, failByStatus, getCampaign } from '../draft/campaign.ts'
import { lockCampaign } from '../draft/replace.ts'

/** Columns that every cancellation writes. A campaign that has not started has no recipients to settle. */
const CANCELLED = sql`status = 'CANCELLED', paused_at = null, paused_reason = null, resending = null,
  settled_at = case when status = 'SCHEDULED' then clock_timestamp() end, updated_at = ${nextRevision(sql.ref('updated_at'))}`

/**
 * Once committed, no email of the campaign is handed over any more, and no page of recipients is written. Emails that wait are cancelled by
 * the sender, page by page.
 */
export async function cancelCampaign(tx: Tx, key: CampaignKey, actor: Actor): Promise<CampaignRow> {
  const { status } = await lockCampaign(tx, key)
  if (status !== 'SCHEDULED' && status !== 'SENDING') failByStatus(status, 'cancelled')
  await sql`update campaigns set ${CANCELLED} where project_id = ${key.projectId} and id = ${key.id}`.execute(tx)
  await cancelStream(tx, { projectId: key.projectId, streamId: key.id })
  await recordAction(tx, key, { action: 'cancelled', actor })
  return getCampaign(tx, key)
}

/** Before the data of a project is wiped: a freeze under way ends, and nothing leaves afterwards. */
export async function cancelCampaignsOf(tx: Tx, projectId: string) {
  await many(tx)`
    select 1 from campaigns where project_id = ${projectId} and status in ('SCHEDULED', 'SENDING')
    order by id for update -- consistent lock order
  `
  await sql`update campaigns set ${CANCELLED} where project_id = ${projectId} and status in ('SCHEDULED', 'SENDING')`.execute(tx)
  await cancelStreamsOf(tx, projectId)
}
