import { sql } from 'kysely'
import { countAffected, maybeOne, scalar, type Tx } from '../../db/index.ts'
import type { CallingProject } from '../../http/auth/key-lookup.ts'
import { changeAs } from '../../http/auth/what-sends.ts'
import { failStale, isRevision, nextRevision } from '../../http/core/if-match.ts'
import { invalid } from '../../lib/errors/errors.ts'
import { type Actor, recordAction } from './audit.ts'
import type { CampaignContent } from './body.ts'
import { type CampaignKey, type CampaignRow, campaignNotFound, failByStatus, getCampaign } from './campaign.ts'
import { columnsOf, lockAudience } from './create.ts'
import { lockVerifiedSender } from './lock-sender.ts'

type Replacement = CampaignKey & {
  caller: CallingProject
  content: CampaignContent
  /** Undefined keeps the time of a scheduled campaign; null makes it a draft again. */
  scheduledFor?: string | null | undefined
  revisions?: string[] | undefined
  actor: Actor
}

/** Replaces content and audience of a draft or scheduled campaign. */
export async function replaceCampaign(tx: Tx, replacement: Replacement): Promise<CampaignRow> {
  const { projectId, id, caller, content, scheduledFor, revisions, actor } = replacement
  await lockAudience(tx, projectId, content.audience)
  const stored = await lockCampaign(tx, { projectId, id })
  if (stored.status !== 'DRAFT' && stored.status !== 'SCHEDULED') failByStatus(stored.status, 'changed')
  const isScheduled = stored.status === 'SCHEDULED'
  if (isScheduled) await lockVerifiedSender(tx, projectId, { from: content.from, templateId: content.templateId ?? null })
  if (isScheduled && scheduledFor) await assertFuture(tx, scheduledFor)
  const schedule = isScheduled && scheduledFor !== undefined ? [scheduleSql(scheduledFor)] : []
  const columns = Object.entries(columnsOf(content)).map(([name, value]) => sql`${sql.ref(name)} = ${value}`)
  // HTML that the design does not give drops it: the email is written as HTML from now on.
  const isCode = content.design === undefined
  const sets = isCode ? [...columns, sql`design = case when body = ${content.body} then design end`] : columns
  const update = () => countAffected(tx)`
    update campaigns set ${sql.join([...sets, ...schedule, sql`updated_at = ${nextRevision(sql.ref('updated_at'))}`])}
    where project_id = ${projectId} and id = ${id} and ${isRevision(sql.ref('updated_at'), revisions)}
  `
  const isMore = schedule.length > 0 || (await changesEmails(tx, { projectId, id }, content))
  const changed = isMore ? await changeAs(tx, caller, { campaign: id }, update) : await update()
  if (!changed) return failStale(stored.updatedAt)
  if (schedule.length) await recordSchedule(tx, { projectId, id }, { scheduledFor: scheduledFor ?? null, actor })
  return getCampaign(tx, { projectId, id })
}

/** A change of more than name and description. */
function changesEmails(tx: Tx, { projectId, id }: CampaignKey, content: CampaignContent) {
  const { name: _name, description: _description, ...columns } = columnsOf(content)
  const differs = Object.entries(columns).map(([column, value]) => sql`${sql.ref(column)} is distinct from ${value}`)
  return scalar<boolean>(tx)`select ${sql.join(differs, sql` or `)} from campaigns where project_id = ${projectId} and id = ${id}`
}

const scheduleSql = (scheduledFor: string | null) =>
  scheduledFor === null ? sql`status = 'DRAFT', scheduled_for = null, started_by = null` : sql`scheduled_for = ${scheduledFor}::timestamptz`

export const recordSchedule = (tx: Tx, key: CampaignKey, { scheduledFor, actor }: { scheduledFor: string | null; actor: Actor }) =>
  scheduledFor === null
    ? recordAction(tx, key, { action: 'unscheduled', actor })
    : recordAction(tx, key, { action: 'scheduled', actor, details: { scheduledFor: new Date(scheduledFor).toISOString() } })

type Locked = Pick<CampaignRow, 'status' | 'ratePerMinute' | 'from'> & { updatedAt: Date; deletedAt: Date | null }

/** Holds the row until the end of the transaction: one change of a campaign at a time. Fails unless the project has it. */
export async function lockCampaign(tx: Tx, { projectId, id }: CampaignKey) {
  const campaign = await maybeOne<Locked>(tx)`
    select status, from_address as "from", rate_per_minute as "ratePerMinute", updated_at as "updatedAt", deleted_at as "deletedAt" from campaigns where project_id = ${projectId} and id = ${id} for update
  `
  return campaign && !campaign.deletedAt ? campaign : campaignNotFound(id)
}

/** By the clock of the database, which also decides when a schedule is due. */
export async function assertFuture(tx: Tx, scheduledFor: string) {
  const isFuture = await scalar<boolean>(tx)`select ${scheduledFor}::timestamptz > clock_timestamp()`
  if (!isFuture) invalid('scheduledFor', 'Must be in the future.')
}
