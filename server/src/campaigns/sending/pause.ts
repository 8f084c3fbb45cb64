import { sql } from 'kysely'
import { countAffected, maybeOne, type Pool, type Tx, transact } from '../../db/index.ts'
import { pauseStream, resumeStream, setStreamRate } from '../../delivery/outbox/streams/streams.ts'
import type { CallingProject } from '../../http/auth/key-lookup.ts'
import { requireToChange } from '../../http/auth/what-sends.ts'
import { nextRevision } from '../../http/core/if-match.ts'
import { AppError, fail } from '../../lib/errors/errors.ts'
import { assertSomeRoom } from '../../projects/caps.ts'
import { recordFacts } from '../../webhooks/facts.ts'
import { type Actor, recordAction, SYSTEM } from '../draft/audit.ts'
import { type CampaignKey, type CampaignRow, failByStatus, getCampaign } from '../draft/campaign.ts'
import { lockCampaign } from '../draft/replace.ts'

/** A pause that needs a resume. The last two also stop the writing of recipients. */
type StoredPause = 'person' | 'spike' | 'billing_limit' | 'audience_failed'
type Pause = { reason: StoredPause; actor: Actor }

const STOPS_FREEZE = sql.raw(`('billing_limit', 'audience_failed')`)

/** Recipients of the campaign are being written. As in the index `campaigns_unfrozen`. */
export const UNFROZEN = sql`(status = 'SENDING' and frozen_at is null and (paused_reason is null or paused_reason not in ${STOPS_FREEZE}))`

/** Once committed, no email of the campaign is handed over any more. A second pause changes nothing. */
export async function pauseCampaign(tx: Tx, key: CampaignKey, { reason, actor }: Pause): Promise<CampaignRow> {
  await lockSending(tx, key, 'paused')
  const paused = await countAffected(tx)`
    update campaigns set paused_at = clock_timestamp(), paused_reason = ${reason}, updated_at = ${nextRevision(sql.ref('updated_at'))},
      -- Emails that will not be written must not use up the cap.
      reserved = case when ${reason} not in ${STOPS_FREEZE} then reserved end,
      reserved_for = case when ${reason} not in ${STOPS_FREEZE} then reserved_for end
    where project_id = ${key.projectId} and id = ${key.id}
      -- A pause that also stops the writing of recipients replaces one that does not.
      and (paused_reason is null or ${reason} in ${STOPS_FREEZE} and paused_reason not in ${STOPS_FREEZE})
  `
  await pauseStream(tx, { projectId: key.projectId, streamId: key.id })
  if (paused) {
    await recordAction(tx, key, { action: 'paused', actor, details: { reason } })
    await recordFacts(tx, [{ projectId: key.projectId, type: 'campaign.paused', data: { campaignId: key.id, reason } }])
  }
  return getCampaign(tx, key)
}

/** It may have ended meanwhile. */
export const pauseBySystem = (db: Pool, key: CampaignKey, reason: StoredPause) =>
  transact(db, (tx) => pauseCampaign(tx, key, { reason, actor: SYSTEM })).catch((err) => {
    if (!(err instanceof AppError)) throw err
  })

export async function resumeCampaign(tx: Tx, key: CampaignKey, actor: Actor): Promise<CampaignRow> {
  await lockSending(tx, key, 'resumed')
  await assertRoom(tx, key)
  const resumed = await countAffected(tx)`
    update campaigns set paused_at = null, paused_reason = null, resumed_at = clock_timestamp(),
      freeze_attempts = 0, freeze_due_at = default, reserved = null, reserved_for = null, updated_at = ${nextRevision(sql.ref('updated_at'))}
    where project_id = ${key.projectId} and id = ${key.id} and paused_reason is not null
  `
  await resumeStream(tx, { projectId: key.projectId, streamId: key.id })
  if (resumed) await recordAction(tx, key, { action: 'resumed', actor })
  return getCampaign(tx, key)
}

/** A campaign that a cap has paused needs room for at least one recipient; the freeze checks the others. */
async function assertRoom(tx: Tx, { projectId, id }: CampaignKey) {
  const paused = await maybeOne(tx)`
    select 1 from campaigns where project_id = ${projectId} and id = ${id} and paused_reason = 'billing_limit' and frozen_at is null
  `
  if (paused) await assertSomeRoom(tx, projectId, 'campaigns')
}

async function lockSending(tx: Tx, key: CampaignKey, action: string) {
  const { status } = await lockCampaign(tx, key)
  if (status !== 'SENDING') failByStatus(status, action)
}

type Rate = { caller: CallingProject; ratePerMinute: number | null; actor: Actor }

/** Also while it is being sent. */
export async function changeRate(tx: Tx, key: CampaignKey, { caller, ratePerMinute, actor }: Rate): Promise<CampaignRow> {
  const { status, ratePerMinute: stored } = await lockCampaign(tx, key)
  if (status === 'SENT' || status === 'CANCELLED') fail('CONFLICT', { message: 'This campaign is not sent any more.', details: { status } })
  const isSlower = ratePerMinute !== null && ratePerMinute <= (stored ?? Number.POSITIVE_INFINITY)
  if (!isSlower) await requireToChange(tx, caller, { campaign: key.id })
  await sql`
    update campaigns set rate_per_minute = ${ratePerMinute}, updated_at = ${nextRevision(sql.ref('updated_at'))}
    where project_id = ${key.projectId} and id = ${key.id}
  `.execute(tx)
  if (status === 'SENDING') await setStreamRate(tx, { projectId: key.projectId, streamId: key.id }, ratePerMinute)
  await recordAction(tx, key, { action: 'rate_changed', actor, details: { ratePerMinute } })
  return getCampaign(tx, key)
}
