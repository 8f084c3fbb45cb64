import { sql } from 'kysely'
import { maybeOne, type Pool, scalar, type Tx, transact } from '../../db/index.ts'
import { nextRevision } from '../../http/core/if-match.ts'
import { AppError } from '../../lib/errors/errors.ts'
import type { Log } from '../../lib/process/log.ts'
import { lockSegments } from '../../segments/definition/limits.ts'
import { audienceOf, usesOfAudience } from '../draft/audience.ts'
import { recordAction, SYSTEM } from '../draft/audit.ts'
import { type CampaignKey, type CampaignRow, findCampaign, getCampaign } from '../draft/campaign.ts'
import { lockSender, lockVerifiedSender } from '../draft/lock-sender.ts'
import { assertFuture, recordSchedule } from '../draft/replace.ts'
import { findDue } from './due.ts'
import { pauseCampaign } from './pause.ts'
import { exceedsCap, lockToStart, type Starter, startCampaign } from './start.ts'

/** `scheduledFor` as given, or in a number of seconds by the clock of the database. */
type When = { scheduledFor: string } | { delaySeconds: number }

/** Schedules a draft, or changes its time. */
export const scheduleCampaign = (db: Pool, key: CampaignKey, when: When, { caller, actor }: Starter): Promise<CampaignRow> =>
  transact(db, async (tx) => {
    // Until it is scheduled, nobody changes a segment of its audience.
    const { segments } = usesOfAudience(audienceOf(await getCampaign(tx, key)))
    if (segments.length) await lockSegments(tx, key.projectId)
    const campaign = await lockToStart(tx, key, caller)
    await lockVerifiedSender(tx, key.projectId, campaign)
    if ('scheduledFor' in when) await assertFuture(tx, when.scheduledFor)
    const at =
      'scheduledFor' in when ? sql`${when.scheduledFor}::timestamptz` : sql`clock_timestamp() + make_interval(secs => ${when.delaySeconds})`
    const scheduledFor = await scalar<Date>(tx)`
      update campaigns set status = 'SCHEDULED', scheduled_for = ${at}, started_by = ${JSON.stringify(actor)}::jsonb,
        updated_at = ${nextRevision(sql.ref('updated_at'))}
      where project_id = ${key.projectId} and id = ${key.id} and status in ('DRAFT', 'SCHEDULED')
      returning scheduled_for
    `
    await recordSchedule(tx, key, { scheduledFor: scheduledFor.toISOString(), actor })
    return getCampaign(tx, key)
  })

/** Reads one row while none is due. */
export async function findDueCampaigns(db: Pool, except: string[]) {
  if (!(await maybeOne(db, ANY_DUE))) return []
  return findDue(db, { which: sql`status = 'SCHEDULED'`, dueAt: sql.ref('scheduled_for'), except })
}

const ANY_DUE = sql`select from campaigns where status = 'SCHEDULED' and scheduled_for <= now() order by scheduled_for limit 1`

/** Starts a campaign that is due, unless another worker does: the lock of the row decides. One that fails for now is tried again later. */
export const startDueCampaign = (db: Pool, key: CampaignKey, log: Log) =>
  startWithinCap(db, key).catch(async (err) => {
    if (!(err instanceof AppError)) throw err
    log.error({ err, campaignId: key.id, projectId: key.projectId }, 'a scheduled campaign cannot start and is a draft again')
    await transact(db, (tx) => unschedule(tx, key, err.message))
  })

/** A campaign with more recipients than the cap allows starts paused: all of its recipients wait for a larger cap, instead of some. */
async function startWithinCap(db: Pool, key: CampaignKey) {
  const scheduled = await findCampaign(db, key)
  const isOver = scheduled !== undefined && (await exceedsCap(db, scheduled))
  await transact(db, async (tx) => {
    const campaign = await takeDue(tx, key)
    // Another worker has started it, or has it now.
    if (!campaign) return
    await lockSender(tx, key.projectId, campaign)
    await startCampaign(tx, campaign, { actor: SYSTEM, startedBy: campaign.startedBy ?? { by: 'key', userId: null } })
    if (isOver) await pauseCampaign(tx, key, { reason: 'billing_limit', actor: SYSTEM })
  })
}

async function takeDue(tx: Tx, { projectId, id }: CampaignKey): Promise<CampaignRow | undefined> {
  const taken = await maybeOne(tx)`
    select 1 from campaigns
    where project_id = ${projectId} and id = ${id} and status = 'SCHEDULED' and scheduled_for <= clock_timestamp()
    for update skip locked
  `
  return taken ? findCampaign(tx, { projectId, id }) : undefined
}

/** An audience may have become invalid: a segment in it may have got too many filters. */
async function unschedule(tx: Tx, { projectId, id }: CampaignKey, reason: string) {
  await sql`
    update campaigns set status = 'DRAFT', scheduled_for = null, updated_at = ${nextRevision(sql.ref('updated_at'))}
    where project_id = ${projectId} and id = ${id} and status = 'SCHEDULED'
  `.execute(tx)
  await recordAction(tx, { projectId, id }, { action: 'unscheduled', actor: SYSTEM, details: { reason } })
}
