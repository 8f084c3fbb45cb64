import { sql } from 'kysely'
import { many, maybeOne, type Pool, scalar, type Tx, transact } from '../../db/index.ts'
import { nextRevision } from '../../http/if-match.ts'
import { inTurnSql } from '../../ledger/owner-sql.ts'
import { skipScanCte } from '../../ledger/skip-scan.ts'
import { AppError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { type Actor, recordAction, SYSTEM } from '../draft/audit.ts'
import { type CampaignKey, type CampaignRow, findCampaign } from '../draft/campaign.ts'
import { holdSender, lockSender } from '../draft/hold.ts'
import { assertFuture, recordSchedule } from '../draft/replace.ts'
import { pauseCampaign } from './pause.ts'
import { exceedsCap, lockToStart, startCampaign } from './start.ts'

/** Candidates of a project in one look: more than the slots of a worker. */
const MAX_OF_PROJECT = 4

/** `scheduledFor` as given, or in a number of seconds by the clock of the database. */
type When = { scheduledFor: string } | { delaySeconds: number }

/** Schedules a draft, or schedules it anew. */
export const scheduleCampaign = (db: Pool, key: CampaignKey, when: When, actor: Actor): Promise<CampaignRow> =>
  transact(db, async (tx) => {
    const campaign = await lockToStart(tx, key)
    await holdSender(tx, key.projectId, campaign)
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
    return (await findCampaign(tx, key))!
  })

type DueCampaign = CampaignKey & { key: string; owner: string }

/** Campaigns that are due by the clock of the database: `now()`, which an index can look up. Reads one row while none is due. */
export async function findDueCampaigns(db: Pool, except: string[]): Promise<DueCampaign[]> {
  if (!(await maybeOne(db, ANY_DUE))) return []
  return many(db, dueCampaignsSql(except))
}

const ANY_DUE = sql`select from campaigns where status = 'SCHEDULED' and scheduled_for <= now() order by scheduled_for limit 1`

/** By the first schedules of each project, however many it has. */
const dueCampaignsSql = (except: string[]) => sql<DueCampaign>`
  with recursive ${skipScanCte('scheduled', { table: 'campaigns', by: ['project_id'], where: sql`status = 'SCHEDULED'` })}, due as (
    select due.* from scheduled cross join lateral (
      select c.project_id, c.id, c.scheduled_for as due_at from campaigns c
      where c.project_id = scheduled.project_id and c.status = 'SCHEDULED' and c.scheduled_for <= now() and c.id <> all(${except}::uuid[])
      order by c.scheduled_for limit ${MAX_OF_PROJECT}
    ) as due
  )
  select project_id as "projectId", id, id as key, owner from (${inTurnSql(sql`select * from due`)}) as found
`

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
  const taken = await many(tx)`
    select 1 from campaigns
    where project_id = ${projectId} and id = ${id} and status = 'SCHEDULED' and scheduled_for <= clock_timestamp()
    for update skip locked
  `
  return taken.length ? findCampaign(tx, { projectId, id }) : undefined
}

/** An audience may have become invalid: a segment in it may have got too many filters. */
async function unschedule(tx: Tx, { projectId, id }: CampaignKey, reason: string) {
  await sql`
    update campaigns set status = 'DRAFT', scheduled_for = null, updated_at = ${nextRevision(sql.ref('updated_at'))}
    where project_id = ${projectId} and id = ${id} and status = 'SCHEDULED'
  `.execute(tx)
  await recordAction(tx, { projectId, id }, { action: 'unscheduled', actor: SYSTEM, details: { reason } })
}
