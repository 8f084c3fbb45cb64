import { sql } from 'kysely'
import { many, maybeScalar, type Pool, type Tx, transact } from '../../db/index.ts'
import { hasOpenEmails, removeStream } from '../../delivery/outbox/streams/streams.ts'
import { recordActivities } from '../../events/activities.ts'
import { nextRevision } from '../../http/core/if-match.ts'
import type { Log } from '../../lib/process/log.ts'
import { recordFacts } from '../../webhooks/facts.ts'
import { recordAction, SYSTEM } from '../draft/audit.ts'
import type { CampaignKey } from '../draft/campaign.ts'
import { type Recount, recountCampaign } from '../ledger/counters.ts'

/** Campaigns looked at in one run. */
const MAX_CHECKED = 50
/** A campaign is recounted after this time even if its counters say that it has open recipients. */
const DISTRUST_MINUTES = 5

/** Ends campaigns without open recipients: those being sent become SENT, cancelled ones are settled. */
export async function finishCampaigns(db: Pool, log: Log) {
  for (const key of await listFinishable(db)) {
    if (await hasOpenEmails(db, { projectId: key.projectId, streamId: key.id })) await noteOpen(db, key)
    else await transact(db, (tx) => finishCampaign(tx, key, log))
  }
}

/** Recipients are written completely, none is to be queued again, and the counters say that none is open. */
const listFinishable = (db: Pool) =>
  many<CampaignKey>(db)`
    select project_id as "projectId", id from campaigns
    where (status = 'SENDING' or status = 'CANCELLED' and settled_at is null or deleted_at is not null)
      and (status = 'SENDING' and frozen_at is not null and resending is null or status = 'CANCELLED' and settled_at is null)
      and (sent_count + failed_count + skipped_count >= total_recipients
        or coalesce(recounted_at, started_at) < now() - make_interval(mins => ${DISTRUST_MINUTES}))
    order by recounted_at nulls first limit ${MAX_CHECKED}
  `

/** Looked at again after the others. */
const noteOpen = (db: Pool, { projectId, id }: CampaignKey) =>
  transact(db, (tx) =>
    sql`update campaigns set recounted_at = clock_timestamp() where project_id = ${projectId} and id = ${id}`.execute(tx),
  )

async function finishCampaign(tx: Tx, key: CampaignKey, log: Log) {
  const recount = await recountCampaign(tx, key)
  const about = { projectId: key.projectId, campaignId: key.id }
  if (Object.keys(recount.wrong).length)
    log.error({ ...about, wrong: recount.wrong }, 'counters of a campaign were wrong and are corrected')
  // Added to the counters within a second: until then the campaign would not balance.
  if (recount.pending) return
  if (!isBalanced(recount))
    return log.error({ ...about, total: recount.total, counted: recount.counted }, 'a campaign does not balance: it stays as it is')
  const status = await maybeScalar<string>(tx)`
    update campaigns set settled_at = clock_timestamp(),
      sent_at = case when status = 'SENDING' then clock_timestamp() else sent_at end,
      updated_at = case when status = 'SENDING' then ${nextRevision(sql.ref('updated_at'))} else updated_at end,
      paused_at = null, paused_reason = null,
      status = case when status = 'SENDING' then 'SENT' else status end
    where project_id = ${key.projectId} and id = ${key.id} and settled_at is null and resending is null
      and (status = 'SENDING' and frozen_at is not null or status = 'CANCELLED')
      and total_recipients = sent_count + failed_count + skipped_count
    returning status
  `
  if (!status) return
  await removeStream(tx, { projectId: key.projectId, streamId: key.id })
  if (status !== 'SENT') return
  await recordAction(tx, key, { action: 'sent', actor: SYSTEM })
  const data = { campaignId: key.id, totalRecipients: recount.total, sentCount: recount.counted.sent }
  const sent = { projectId: key.projectId, type: 'campaign.sent', data } as const
  await recordActivities(tx, [sent])
  await recordFacts(tx, [sent])
}

/** Every recipient has an end, and none is missing. */
const isBalanced = ({ total, counted }: Recount) => counted.total === total && counted.sent + counted.failed + counted.skipped === total
