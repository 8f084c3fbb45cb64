import { sql } from 'kysely'
import { many, maybeScalar, type Pool, type Tx, transact } from '../../db/index.ts'
import { requeueFailed } from '../../delivery/outbox/requeue.ts'
import { openStream } from '../../delivery/outbox/streams/streams.ts'
import { nextRevision } from '../../http/core/if-match.ts'
import { fail } from '../../lib/errors/errors.ts'
import { type Actor, recordAction } from '../draft/audit.ts'
import { type CampaignKey, type CampaignRow, failByStatus, getCampaign } from '../draft/campaign.ts'
import { lockVerifiedSender } from '../draft/lock-sender.ts'
import { lockCampaign } from '../draft/replace.ts'

/** Emails queued again in one transaction. */
const PAGE = 5_000

type Resend = { includeUnknown: boolean; actor: Actor }

/** Queues the failed emails again for which that may help; the campaign is SENDING until they have ended. */
export async function resendCampaign(tx: Tx, key: CampaignKey, { includeUnknown, actor }: Resend): Promise<CampaignRow> {
  const { projectId, id } = key
  const { status } = await lockCampaign(tx, key)
  if (status !== 'SENT') failByStatus(status, 'resent')
  const campaign = await getCampaign(tx, key)
  if (campaign.countersClosedAt) fail('CONFLICT', { message: 'Emails of this campaign are removed by age. It cannot be resent any more.' })
  await lockVerifiedSender(tx, projectId, campaign)
  const queued = await requeueFailed(tx, { projectId, campaignId: id, includeUnknown, limit: PAGE })
  if (!queued) fail('BAD_REQUEST', { message: 'No email of this campaign failed in a way that a resend may overcome.' })
  const rest = queued < PAGE ? null : includeUnknown ? 'failed_or_unknown' : 'failed'
  await sql`
    update campaigns set status = 'SENDING', settled_at = null, recounted_at = clock_timestamp(), resending = ${rest},
      updated_at = ${nextRevision(sql.ref('updated_at'))}
    where project_id = ${projectId} and id = ${id}
  `.execute(tx)
  await openStream(tx, { projectId, streamId: id, fromDomain: campaign.from.split('@')[1]!, ratePerMinute: campaign.ratePerMinute })
  await recordAction(tx, key, { action: 'resent', actor, details: { includeUnknown } })
  return getCampaign(tx, key)
}

/** Campaigns looked at in one run. */
const MAX_RESENT = 50

/** Queues the emails of large resends, a page of each campaign at a time. */
export async function continueResends(db: Pool) {
  const waiting = await many<CampaignKey>(db)`
    select project_id as "projectId", id from campaigns
    where (status = 'SENDING' or status = 'CANCELLED' and settled_at is null or deleted_at is not null)
      and status = 'SENDING' and resending is not null limit ${MAX_RESENT}
  `
  for (const key of waiting) await transact(db, (tx) => resendPage(tx, key))
}

async function resendPage(tx: Tx, { projectId, id }: CampaignKey) {
  const resending = await maybeScalar<string>(tx)`
    select resending from campaigns where project_id = ${projectId} and id = ${id} and status = 'SENDING' and resending is not null
    for no key update skip locked
  `
  if (!resending) return
  const includeUnknown = resending === 'failed_or_unknown'
  const queued = await requeueFailed(tx, { projectId, campaignId: id, includeUnknown, limit: PAGE })
  if (queued < PAGE) await sql`update campaigns set resending = null where project_id = ${projectId} and id = ${id}`.execute(tx)
}
